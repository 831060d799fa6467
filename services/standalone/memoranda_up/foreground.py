"""In one process, what somebody waits for comes first: workers begin no job while a capture is under way."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from memoranda.bus.broker import Handler

QUIET_SECONDS = 0.05
"""How long no capture has to have been under way: a client that imports sends the next batch within that."""
LONGEST_SECONDS = 10.0
"""A job that has waited so long begins anyway: captures without end must not end all learning."""


class Foreground:
    """Counts captures under way, and holds jobs back meanwhile. Thread-safe."""

    def __init__(self, *, quiet: float = QUIET_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._quiet = quiet
        self._longest = longest
        self._under_way = 0
        self._ended = float("-inf")
        self._changed = threading.Condition()

    def begin(self) -> None:
        """A capture has come."""
        with self._changed:
            self._under_way += 1

    def end(self) -> None:
        """A capture was answered."""
        with self._changed:
            self._under_way -= 1
            self._ended = time.monotonic()
            self._changed.notify_all()

    def before(self, handler: Handler) -> Handler:
        """The handler, which now waits until captures have paused, or as long as is bearable."""

        def handle(job: UUID, traceparent: str | None) -> None:
            self._wait()
            handler(job, traceparent)

        return handle

    def _wait(self) -> None:
        deadline = time.monotonic() + self._longest
        with self._changed:
            while (now := time.monotonic()) < deadline:
                left = deadline - now if self._under_way else self._ended + self._quiet - now
                if left <= 0:
                    return
                self._changed.wait(min(left, deadline - now))


class Counted:
    """ASGI middleware that tells the foreground of each capture."""

    def __init__(self, app: ASGIApp, foreground: Foreground) -> None:
        self._app = app
        self._foreground = foreground

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes every request on."""
        if scope["type"] != "http" or not scope["path"].endswith("/captures"):
            await self._app(scope, receive, send)
            return
        self._foreground.begin()
        try:
            await self._app(scope, receive, send)
        finally:
            self._foreground.end()
