"""Liveness and readiness of a worker over HTTP: GET /live and GET /ready, answered from what the process knows of itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from memoranda.errors import Misconfigured

Ask = Callable[[], dict[str, str]]
"""The troubles by name; an empty text is none."""


class Health:
    """A small server in threads of its own. Nothing of a request is read but its path."""

    def __init__(self, host: str, port: int, *, live: Ask, ready: Ask) -> None:
        """Listens at once. Port 0 takes any free one. Raises Misconfigured where the port is taken."""
        asks = {"/live": live, "/ready": ready}

        class Answer(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                ask = asks.get(self.path)
                if ask is None:
                    self._say(404, {"status": "not found"})
                    return
                checks = {name: trouble or "ok" for name, trouble in ask().items()}
                good = all(check == "ok" for check in checks.values())
                self._say(200 if good else 503, {"status": self.path[1:] if good else f"not {self.path[1:]}", "checks": checks})

            def _say(self, status: int, body: dict[str, object]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
                """A probe every few seconds is not worth a line."""

        try:
            self._server = ThreadingHTTPServer((host, port), Answer)
        except OSError as error:
            raise Misconfigured(
                f"the health port {port} on {host} is taken: {error.strerror}", mend="set MEMORANDA_HEALTH_PORT to a free one"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """Ends."""
        self._server.shutdown()
        self._server.server_close()
