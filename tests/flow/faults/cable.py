"""A TCP cable between the services and the broker, which a test may cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Cable:
    """Leads connections to a port on this machine, until it is cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._turn = threading.Lock()
        self._ends: list[socket.socket] = []
        self._cut_after: int | None = None
        self._carried = 0
        self.cuts = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Breaks every connection; new ones are let through."""
        with self._turn:
            ends, self._ends = self._ends, []
            self.cuts += 1
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut_within(self, size: int) -> None:
        """Breaks every connection once so many more bytes have gone through, mostly in the middle of something."""
        with self._turn:
            self._carried, self._cut_after = 0, size

    def close(self) -> None:
        """Ends it."""
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    near.close()
                    continue
                with self._turn:
                    self._ends += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=[source, target], daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                if self._too_much(len(data)):
                    # half of it arrives
                    target.sendall(data[: len(data) // 2])
                    self.cut()
                    return
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def _too_much(self, size: int) -> bool:
        with self._turn:
            self._carried += size
            if self._cut_after is None or self._carried < self._cut_after:
                return False
            self._cut_after = None
            return True
