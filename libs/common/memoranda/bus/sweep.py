"""The sweeper: finds what was never announced, is overdue, or whose lease ran out. One at a time, in any worker."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta

from memoranda.bus.broker import Broker
from memoranda.errors import MemorandaError
from memoranda.store import jobs
from memoranda.store.database import Database, Role

log = logging.getLogger("memoranda.sweep")

OVERDUE = timedelta(seconds=30)
"""After this a published job that nobody took is published again: ten times what a message takes on a bad day."""
BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep did. ``leader`` is False where another process sweeps."""

    leader: bool
    published: int = 0
    taken_back: int = 0
    dead: int = 0


def run_once(database: Database, role: Role, broker: Broker) -> Swept:
    """One sweep. Safe at any time, in any number of processes."""
    with database.transaction(role, timeout=15) as connection:
        if not jobs.sweep_lock(connection):
            return Swept(leader=False)
        states = jobs.expire(connection)
        found = jobs.due(connection, overdue=OVERDUE, limit=BATCH)
    for job in found:
        broker.publish(job.lane, job.id, job.traceparent)
    return Swept(leader=True, published=len(found), taken_back=len(states), dead=states.count("dead"))


class Ticker:
    """Calls ``run_once`` every few seconds until stopped."""

    def __init__(self, database: Database, role: Role, broker: Broker, *, seconds: float) -> None:
        self._database = database
        self._role: Role = role
        self._broker = broker
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        """Starts sweeping at once: what an earlier process left behind is taken up now."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the sweep under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                run_once(self._database, self._role, self._broker)
            except MemorandaError as error:
                log.warning("sweep failed", extra={"fields": {"code": error.code}})
            if self._stop.wait(self._seconds):
                return
