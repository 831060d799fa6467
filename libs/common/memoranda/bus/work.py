"""A job from message to end: lease, work, and the effect that commits only while the lease is held."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from memoranda.bus.broker import Broker
from memoranda.domain.job import Lease, backoff
from memoranda.errors import Busy, LeaseLost, MemorandaError, Stale
from memoranda.store import access, jobs
from memoranda.store.database import Connection, Database, Role
from memoranda.telemetry import continued, traceparent

log = logging.getLogger("memoranda.bus")

Outcome = Literal["done", "not_mine", "lost", "retry", "dead", "handed_back", "unreachable"]


@dataclass(slots=True, kw_only=True)
class Effect:
    """An open transaction of a worker: what it writes, what it counts, and the jobs that follow from it."""

    connection: Connection
    result: dict[str, Any]
    follow_up: list[UUID]


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
            effect = Effect(connection=connection, result={}, follow_up=[])
            yield effect
            if not jobs.complete(connection, self.lease, effect.result):
                raise LeaseLost(f"the lease of job {self.lease.id} ran out")
        self._worker.announce(effect.follow_up)


Handler = Callable[[Work], None]


class Worker:
    """Runs the jobs of some kinds as one database role. Thread-safe: each message is handled in the broker's own thread."""

    def __init__(
        self, database: Database, role: Role, broker: Broker, handlers: Mapping[str, Handler], *, lease_seconds: float, timeout: float
    ) -> None:
        """``lease_seconds`` is renewed at a third of itself while work goes on; ``timeout`` limits one statement."""
        self._database = database
        self._role: Role = role
        self._broker = broker
        self._handlers = handlers
        self._lease = timedelta(seconds=lease_seconds)
        self._timeout = timeout
        self._name = f"{socket.gethostname()}/{role}"
        self._stopping = threading.Event()

    def transaction(self) -> Any:
        """A transaction of this worker's role."""
        return self._database.transaction(self._role, timeout=self._timeout)

    def announce(self, ids: list[UUID]) -> None:
        """Publishes jobs that are due. A broker that is away is no error: the rows wait for the sweeper."""
        announce(self._database, self._role, self._broker, ids)

    def handle(self, job: UUID, parent: str | None) -> None:
        """What the broker calls for each message. Never raises."""
        try:
            self.run(job, parent)
        except MemorandaError as error:
            log.warning("job not handled", extra={"fields": {"job": str(job), "code": error.code}})

    def run(self, job: UUID, parent: str | None = None) -> Outcome:
        """Takes a job and does it. Running it again, late, or twice at once changes nothing."""
        if self._stopping.is_set():
            return "handed_back"
        with self._database.transaction(self._role, timeout=self._timeout) as connection:
            lease = jobs.take(connection, job, worker=self._name, lease=self._lease)
        if lease is None:
            return "not_mine"
        attributes = {"memoranda.job": str(job), "memoranda.brain": str(lease.brain_id), "memoranda.attempt": lease.attempts}
        with continued(lease.traceparent or parent, f"job {lease.kind}", **attributes):
            return self._do(lease)

    def stop(self) -> None:
        """Takes no further jobs."""
        self._stopping.set()

    def _do(self, lease: Lease) -> Outcome:
        handler = self._handlers.get(lease.kind)
        with self._renewed(lease):
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
            with self._database.transaction(self._role, timeout=self._timeout) as connection:
                return jobs.fail(connection, lease, error=why, delay=backoff(lease.attempts))
        except Stale:
            # another job for the same subject came in between: seen now, this one is merged into it
            with self._database.transaction(self._role, timeout=self._timeout) as connection:
                return jobs.fail(connection, lease, error=why, delay=backoff(lease.attempts))

    @contextmanager
    def _renewed(self, lease: Lease) -> Generator[None]:
        done = threading.Event()

        def keep() -> None:
            while not done.wait(self._lease.total_seconds() / 3):
                try:
                    with self._database.transaction(self._role, timeout=self._timeout) as connection:
                        if not jobs.renew(connection, lease, lease=self._lease):
                            return
                except Busy:
                    continue

        renewer = threading.Thread(target=keep, name=f"renew {lease.id}", daemon=True)
        renewer.start()
        try:
            yield
        finally:
            done.set()
            renewer.join()


def _described(error: BaseException) -> str:
    """What a job's row says of an error: its kind and, for errors of ours, their words. Foreign messages may quote content."""
    if isinstance(error, MemorandaError):
        return f"{error.code}: {error.message}"
    return type(error).__name__


def announce(database: Database, role: Role, broker: Broker, ids: list[UUID]) -> None:
    """Publishes jobs after their transaction has committed. Never raises: what is not published, the sweeper finds."""
    if not ids:
        return
    try:
        with database.transaction(role, timeout=5) as connection:
            found = jobs.announced(connection, ids)
        for job in found:
            broker.publish(job.lane, job.id, job.traceparent)
    except MemorandaError as error:
        log.warning("not announced", extra={"fields": {"jobs": len(ids), "code": error.code}})
