"""Leases in hand: one thread of a process renews them all while work goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from memoranda.domain.job import Lease
from memoranda.errors import MemorandaError
from memoranda.store import jobs
from memoranda.store.database import Database, Role

log = logging.getLogger("memoranda.bus")


class Leases:
    """What a worker holds. Thread-safe. A lease that cannot be renewed is lost when it ends: its effect will not commit."""

    def __init__(self, database: Database, role: Role, *, lease: timedelta, timeout: float) -> None:
        """``lease`` is renewed at a third of itself."""
        self._database = database
        self._role: Role = role
        self._lease = lease
        self._timeout = timeout
        self._held: dict[int, Lease] = {}
        self._turn = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, lease: Lease) -> Generator[None]:
        """Renews the lease until the block ends."""
        with self._turn:
            self._held[lease.fencing_token] = lease
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"renew {self._role}", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._turn:
                self._held.pop(lease.fencing_token, None)

    def held(self) -> list[Lease]:
        """The leases in hand."""
        with self._turn:
            return list(self._held.values())

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait(self._lease.total_seconds() / 3)
                if not self._held:
                    self._thread = None
                    return
            self._renew()

    def _renew(self) -> None:
        held = self.held()
        try:
            with self._database.transaction(self._role, timeout=self._timeout) as connection:
                kept = jobs.renew(connection, held, lease=self._lease)
        except MemorandaError as error:
            # tried again at the next third; what runs out meanwhile is another worker's
            log.warning("leases not renewed", extra={"fields": {"leases": len(held), "code": error.code}})
            return
        for lease in held:
            if lease.id not in kept:
                with self._turn:
                    self._held.pop(lease.fencing_token, None)
