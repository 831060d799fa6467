"""The outermost layer: who may come in, from where, and with how much. Nothing of a body is kept before that is clear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from memoranda_api import failures
from memoranda_api.auth import COOKIE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/v1/health/"
OPEN_PATHS = (HEALTH, "/v1/sign-in", "/sign-in", "/openapi.json", "/favicon.ico")
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY),
)


class TooLarge(Exception):
    """Raised to the application when a body goes past the limit. Whatever it makes of that, the answer is 413."""


class Edge:
    """Checks Host and Origin, asks for a credential before it reads a body, and counts the body as it comes."""

    def __init__(self, app: App, *, body_limit: int, hosts: frozenset[str]) -> None:
        """``hosts`` are the names, with or without a port, under which browsers and MCP clients may reach this process."""
        self._app = app
        self._limit = body_limit
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, _secured(send))  # pyright: ignore[reportArgumentType]
            return
        await self._limited(scope, receive, _secured(send))

    def _refused(self, scope: Scope, headers: Headers) -> Any | None:
        path = scope["path"]
        # a probe knows the address of a pod and not its name; health says nothing that a page could want
        if not path.startswith(HEALTH) and not self._is_known(headers.get("host", "")):
            mend = "add it to MEMORANDA_ALLOWED_HOSTS"
            return failures.problem(421, "unknown_host", "this server does not answer under that name", mend=mend)
        origin = headers.get("origin")
        if origin is not None and not self._is_known(_netloc(origin)):
            mend = "add its host to MEMORANDA_ALLOWED_HOSTS"
            return failures.problem(403, "foreign_origin", "requests from that origin are not taken", mend=mend)
        if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            return failures.problem(415, "unsupported_media_type", "compressed bodies are not taken", mend="send the body as it is")
        open_path = any(path.startswith(prefix) for prefix in OPEN_PATHS)
        if not open_path and "authorization" not in headers and f"{COOKIE}=" not in headers.get("cookie", ""):
            return failures.problem(401, "not_signed_in", "this needs a credential", mend="send 'Authorization: Bearer mem_…', or sign in")
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limit:
            return self._too_large()
        return None

    def _is_known(self, host: str) -> bool:
        name = host.lower()
        bare = name.rsplit(":", 1)[0] if not name.endswith("]") else name
        return "*" in self._hosts or name in self._hosts or bare in self._hosts

    def _too_large(self) -> Any:
        mend = f"send at most {self._limit} bytes at once"
        return failures.problem(413, "too_large", f"the body is larger than {self._limit} bytes", mend=mend)

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        came = 0
        started = False
        over = False

        async def counted() -> Message:
            nonlocal came, over
            message = await receive()
            if message["type"] == "http.request":
                came += len(message.get("body", b""))
                if came > self._limit:
                    over = True
                    raise TooLarge
            return message

        async def answered(message: Message) -> None:
            nonlocal started
            # the framework takes the failed reading for a malformed body: that answer is not sent
            if over and not started:
                return
            started = True
            await send(message)

        with suppress(TooLarge):
            await self._app(scope, counted, answered)
        if over and not started:
            await self._too_large()(scope, receive, send)


def _secured(send: Send) -> Send:
    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in SECURITY_HEADERS if pair[0] not in present)]
        await send(message)

    return secured


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
