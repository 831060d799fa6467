"""The outermost layer: who may come in, from where, and with how much. Nothing of a body is kept before that is clear."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

import anyio
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from memoranda.errors import NotSignedIn
from memoranda.telemetry import continued
from memoranda_api import auth, failures

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/v1/health/"
OPEN_PATHS = ("/v1/sign-in", "/sign-in", "/openapi.json", "/favicon.ico")
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
# bytes: a sign-in is some 100, and whoever sends it has proven nothing yet
OPEN_LIMIT: Final = 16 * 1024
# What a sender that was refused may still send before the connection is closed: closed at once, it is often reset, and the
# answer is lost with it. Seconds and bytes.
LINGER_SECONDS: Final = 1.0
LINGER_BYTES: Final = 4 * 1024 * 1024
_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?P<host>[^/@?#]+)")


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
        headers = Headers(scope=scope)
        limit = min(self._limit, OPEN_LIMIT) if _is_open(scope["path"]) else self._limit
        refused = self._refused(scope, headers, limit)
        if refused is not None:
            await _refuse(refused, scope, receive, _secured(send), unread=_has_body(headers))
            return
        with continued(headers.get("traceparent"), f"{scope['method']} request"):
            await self._limited(scope, receive, _secured(send), limit)

    def _refused(self, scope: Scope, headers: Headers, limit: int) -> Any | None:
        path = scope["path"]
        # a probe knows the address of a pod and not its name; health says nothing that a page could want
        if not path.startswith(HEALTH) and not self._is_known(headers.get("host", "")):
            mend = "add it to MEMORANDA_ALLOWED_HOSTS"
            return failures.problem(421, "unknown_host", "this server does not answer under that name", mend=mend)
        origin = headers.get("origin")
        if origin is not None and not self._is_known(_host_of(origin)):
            mend = "add its host to MEMORANDA_ALLOWED_HOSTS"
            return failures.problem(403, "foreign_origin", "requests from that origin are not taken", mend=mend)
        if not _is_open(path):
            try:
                auth.credential(HTTPConnection(scope))
            except NotSignedIn as error:
                return failures.of(error)
        if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            return failures.problem(415, "unsupported_media_type", "compressed bodies are not taken", mend="send the body as it is")
        length = headers.get("content-length", "")
        # a number of more digits than this is larger than any limit, and longer ones are not even read
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            return _too_large(limit)
        return None

    def _is_known(self, host: str) -> bool:
        """Whether a host is one of ours: as it stands, or without its port."""
        name = host.lower()
        match = _HOST.fullmatch(name)
        return match is not None and ("*" in self._hosts or name in self._hosts or match["name"] in self._hosts)

    async def _limited(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        came = 0
        started = False
        over = False

        async def counted() -> Message:
            nonlocal came, over
            message = await receive()
            if message["type"] == "http.request":
                came += len(message.get("body", b""))
                if came > limit:
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

        try:
            with suppress(TooLarge):
                await self._app(scope, counted, answered)
        except Exception as error:  # the outermost loop of a request
            if started:
                raise
            if not over:
                await failures.incident(error)(scope, receive, send)  # pyright: ignore[reportArgumentType]
        if over and not started:
            await _refuse(_too_large(limit), scope, receive, send, unread=True)


def _is_open(path: str) -> bool:
    return path.startswith(HEALTH) or path in OPEN_PATHS


def _too_large(limit: int) -> Any:
    mend = f"send at most {limit} bytes at once"
    return failures.problem(413, "too_large", f"the body is larger than {limit} bytes", mend=mend)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _refuse(answer: Any, scope: Scope, receive: Receive, send: Send, *, unread: bool) -> None:
    """Answers, and where a body is still coming, closes the connection after it instead of reading all of it."""
    if not unread:
        await answer(scope, receive, send)
        return
    headers = [*answer.raw_headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    left = LINGER_BYTES
    with anyio.move_on_after(LINGER_SECONDS):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                break
    await send({"type": "http.response.body", "body": b""})


def _secured(send: Send) -> Send:
    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in SECURITY_HEADERS if pair[0] not in present)]
        await send(message)

    return secured


def _host_of(origin: str) -> str:
    match = _ORIGIN.fullmatch(origin.lower())
    return match["host"] if match else ""
