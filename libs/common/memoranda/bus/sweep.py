"""The sweeper: finds what was never published, what got lost on the way, and leases that ran out. One at a time, in any worker."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta

from memoranda.domain.job import Ring
from memoranda.errors import MemorandaError
from memoranda.store import jobs, workers
from memoranda.store.database import Database, Role

log = logging.getLogger("memoranda.sweep")

OVERDUE = timedelta(seconds=30)
"""After this a published job that nobody took is published again: ten times what a message takes on a bad day."""
SILENT = timedelta(days=1)
"""A worker that was not seen for so long is forgotten."""
# a job that comes due is not waited for by more than this, however often sweeps are wanted
SOONEST_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep did. ``leader`` is False where another process sweeps. ``next_due`` is in seconds."""

    leader: bool
    lines: int = 0
    lost: int = 0
    taken_back: int = 0
    dead: int = 0
    next_due: float | None = None


def run_once(database: Database, role: Role, ring: Ring) -> Swept:
    """One sweep. Safe at any time, in any number of processes."""
    with database.transaction(role, timeout=15) as connection:
        if not jobs.sweep_lock(connection):
            return Swept(leader=False)
        states = jobs.expire(connection)
        lost = jobs.lost(connection, overdue=OVERDUE)
        lines = jobs.waiting(connection)
        workers.forget(connection, silent=SILENT)
        soon = jobs.next_due(connection)
    ring(lines)
    return Swept(leader=True, lines=len(lines), lost=lost, taken_back=len(states), dead=states.count("dead"), next_due=soon)


class Ticker:
    """Calls ``run_once`` every few seconds, and when a job comes due, until stopped."""

    def __init__(self, database: Database, role: Role, ring: Ring, *, seconds: float) -> None:
        self._database = database
        self._role: Role = role
        self._ring = ring
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
        while not self._stop.wait(self._sweep()):
            pass

    def _sweep(self) -> float:
        """Sweeps, and says in how many seconds to sweep again."""
        try:
            swept = run_once(self._database, self._role, self._ring)
        except MemorandaError as error:
            log.warning("sweep failed", extra={"fields": {"code": error.code}})
            return self._seconds
        if swept.lost or swept.taken_back:
            log.info("swept", extra={"fields": {"lost": swept.lost, "taken_back": swept.taken_back, "dead": swept.dead}})
        if swept.next_due is None:
            return self._seconds
        return max(SOONEST_SECONDS, min(self._seconds, swept.next_due))
