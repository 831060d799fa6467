"""A job from message to end: lease, work, and the effect that commits only while the lease is held."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from memoranda.bus.leases import Leases
from memoranda.domain.job import Lane, Lease, Line, Ring, backoff
from memoranda.errors import Busy, LeaseLost, MemorandaError, Stale
from memoranda.store import access, jobs
from memoranda.store.database import Connection, Database, Role
from memoranda.telemetry import continued, traceparent

log = logging.getLogger("memoranda.bus")

RETRY_SECONDS = 1.0
"""How long a worker whose database is away waits before it asks again."""

Outcome = Literal["done", "not_mine", "lost", "retry", "dead", "handed_back", "unreachable"]


@dataclass(slots=True, kw_only=True)
class Effect:
    """An open transaction of a worker: what it writes, what it counts, and the lanes in which jobs follow from it."""

    connection: Connection
    result: dict[str, Any]
    follow_up: set[Lane]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A leased job in hand. ``read`` and ``effect`` open transactions as the worker's role in the job's brain."""

    lease: Lease
    _worker: Worker

    @contextmanager
    def read(self) -> Generator[Connection]:
        """A transaction for reading; nothing may be held open while a model or an index answers."""
        with self._worker.transaction() as connection:
            access.serve(connection, self.lease.brain_id, traceparent())
            yield connection

    @contextmanager
    def effect(self) -> Generator[Effect]:
        """The one transaction in which the job's effect and its completion commit together.

        Raises LeaseLost, and rolls back, where the lease ran out meanwhile.
        """
        with self._worker.transaction() as connection:
            access.serve(connection, self.lease.brain_id, traceparent())
            effect = Effect(connection=connection, result={}, follow_up=set())
            yield effect
            completed = jobs.complete(connection, self.lease, effect.result)
            if completed is None:
                raise LeaseLost(f"the lease of job {self.lease.id} ran out")
        if completed.more:
            effect.follow_up.add(self.lease.lane)
        self._worker.ring(Line(self.lease.brain_id, lane) for lane in effect.follow_up)


Handler = Callable[[Work], None]


class Worker:
    """Runs the jobs of some kinds as one database role. Thread-safe: each message is handled in the broker's own thread."""

    def __init__(
        self, database: Database, role: Role, ring: Ring, handlers: Mapping[str, Handler], *, lease_seconds: float, timeout: float
    ) -> None:
        """``ring`` is told of lines that have new jobs; it must not raise. ``timeout`` limits one statement, in seconds."""
        self.ring = ring
        self.name = f"{socket.gethostname()}/{role}/{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._database = database
        self._role: Role = role
        self._handlers = handlers
        self._lease = timedelta(seconds=lease_seconds)
        self._timeout = timeout
        self._leases = Leases(database, role, lease=self._lease, timeout=timeout)
        self._stopping = threading.Event()

    @property
    def holds(self) -> int:
        """How many jobs it is doing."""
        return len(self._leases.held())

    def transaction(self) -> Any:
        """A transaction of this worker's role."""
        return self._database.transaction(self._role, timeout=self._timeout)

    def handle(self, job: UUID, parent: str | None) -> None:
        """What the broker calls for each message. Never raises.

        While the database is away the message is kept, and with it those behind it: nothing else could be done either.
        """
        while True:
            try:
                self.run(job, parent)
            except Busy as error:
                log.warning("waiting for the database", extra={"fields": {"job": str(job), "code": error.code, "why": error.message}})
                if not self._stopping.wait(RETRY_SECONDS):
                    continue
            except MemorandaError as error:
                log.warning("job not handled", extra={"fields": {"job": str(job), "code": error.code, "why": error.message}})
            return

    def run(self, job: UUID, parent: str | None = None) -> Outcome:
        """Takes a job and does it. Running it again, late, or twice at once changes nothing."""
        if self._stopping.is_set():
            with self.transaction() as connection:
                jobs.withdraw(connection, [job])
            return "handed_back"
        with self.transaction() as connection:
            lease = jobs.take(connection, job, worker=self.name, lease=self._lease)
        if lease is None:
            return "not_mine"
        attributes = {"memoranda.job": str(job), "memoranda.brain": str(lease.brain_id), "memoranda.attempt": lease.attempts}
        with continued(lease.traceparent or parent, f"job {lease.kind}", **attributes):
            return self._do(lease)

    def stop(self) -> None:
        """Takes no further jobs; those in hand go on."""
        self._stopping.set()

    def hand_back(self) -> int:
        """Gives back every job in hand, which counts as no attempt: its effect cannot commit any more. How many there were."""
        held = self._leases.held()
        for lease in held:
            with self.transaction() as connection:
                jobs.hand_back(connection, lease)
        return len(held)

    def _do(self, lease: Lease) -> Outcome:
        handler = self._handlers.get(lease.kind)
        with self._leases.hold(lease):
            try:
                if handler is None:
                    return self._failed(lease, f"no handler for jobs of kind {lease.kind}")
                handler(Work(lease=lease, _worker=self))
            except LeaseLost:
                log.warning("lease lost", extra={"fields": {"job": str(lease.id), "kind": lease.kind}})
                return "lost"
            except Exception as error:  # the outermost loop of a job: whatever it was, the row has to say so
                log.warning("job failed", exc_info=error, extra={"fields": {"job": str(lease.id), "kind": lease.kind}})
                return self._failed(lease, _described(error))
        return "done"

    def _failed(self, lease: Lease, why: str) -> Outcome:
        try:
            state = self._give_up(lease, why)
        except Busy:
            return "unreachable"
        return "dead" if state == "dead" else "lost" if state is None else "retry"

    def _give_up(self, lease: Lease, why: str) -> str | None:
        try:
            with self.transaction() as connection:
                return jobs.fail(connection, lease, error=why, delay=backoff(lease.attempts))
        except Stale:
            # another job for the same subject came in between: seen now, this one is merged into it
            with self.transaction() as connection:
                return jobs.fail(connection, lease, error=why, delay=backoff(lease.attempts))


def _described(error: BaseException) -> str:
    """What a job's row says of an error: its kind and, for errors of ours, their words. Foreign messages may quote content."""
    if isinstance(error, MemorandaError):
        return f"{error.code}: {error.message}"
    return type(error).__name__
