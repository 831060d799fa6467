"""The control socket: whoever may enter the data folder may ask the running profile for a sign-in link."""

from __future__ import annotations

import json
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memoranda.errors import Busy, Misconfigured
from memoranda_up.place import LONGEST_SOCKET, Place

LONGEST_LINE: Final = 64 * 1024
SECONDS: Final = 10.0

Answers = Mapping[str, Callable[[], dict[str, Any]]]
"""What can be asked, by name."""


class Control:
    """Answers requests until stopped: one JSON line in, one JSON line out, then the connection ends."""

    def __init__(self, place: Place, answers: Answers) -> None:
        self._own_folder = None if _fits(place.control) else tempfile.TemporaryDirectory(prefix="memoranda-", dir="/tmp")
        self.path = place.control if self._own_folder is None else Path(self._own_folder.name) / "control.sock"
        self.path.unlink(missing_ok=True)
        self._server = socketserver.ThreadingUnixStreamServer(str(self.path), _handler(answers))
        self._server.daemon_threads = True
        self.path.chmod(0o600)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.5}, name="control", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Ends, and removes the socket."""
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)
        if self._own_folder is not None:
            self._own_folder.cleanup()


def ask(path: Path, question: str) -> dict[str, Any]:
    """Asks the profile that listens at ``path``. Raises Busy where none does."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(SECONDS)
        try:
            asking.connect(str(path))
            asking.sendall(json.dumps({"ask": question}).encode() + b"\n")
            with asking.makefile("rb") as lines:
                answer: dict[str, Any] = json.loads(lines.readline(LONGEST_LINE) or b"{}")
        except (OSError, ValueError) as exc:
            raise Busy("no embedded profile is running on this data folder", mend="start it with 'memoranda up'") from exc
    if "error" in answer:
        raise Misconfigured(str(answer["error"]))
    return answer


def _fits(path: Path) -> bool:
    return len(str(path).encode()) <= LONGEST_SOCKET


def _handler(answers: Answers) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        timeout = SECONDS

        def handle(self) -> None:
            with suppress(OSError):
                self.wfile.write(json.dumps(_answer(answers, self.rfile.readline(LONGEST_LINE))).encode() + b"\n")

    return Handler


def _answer(answers: Answers, line: bytes) -> dict[str, Any]:
    try:
        answer = answers[json.loads(line)["ask"]]
    except (ValueError, KeyError, TypeError):
        return {"error": f"this can be asked: {', '.join(answers)}"}
    try:
        return answer()
    except Exception as exc:  # noqa: BLE001  the outermost loop of a request: the asker is told, and the profile goes on
        return {"error": type(exc).__name__}
