"""The announcer: the one thread of a process that publishes jobs once their rows are committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from memoranda.bus.broker import Broker
from memoranda.domain.job import Line
from memoranda.errors import Busy, MemorandaError
from memoranda.store import jobs
from memoranda.store.database import Database, Role

log = logging.getLogger("memoranda.bus")

WIDTH = 64
"""Jobs of one line in flight: what another brain's job waits for at most, times the brains that are busy. At the thousand small
jobs a second that one worker does, 64 keep sixteen workers busy for the time that publishing the next takes."""
RETRY_SECONDS = 1.0
IDLE_SECONDS = 5.0
"""A connection on which nothing is published has to be looked after within a heartbeat of the broker's."""


class Announcer:
    """Publishes what is due in the lines that it is told of. Thread-safe. What it does not publish, the sweeper finds."""

    def __init__(self, database: Database, role: Role, broker: Broker, *, width: int = WIDTH) -> None:
        self._database = database
        self._role: Role = role
        self._broker = broker
        self._width = width
        self._asked: dict[Line, None] = {}
        self._stopped = False
        self._turn = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="announcer", daemon=True)
        self.trouble = ""
        """What keeps it from publishing, in a few words; empty when all is well."""

    def start(self) -> None:
        """Begins to publish."""
        self._thread.start()

    def stop(self) -> None:
        """Publishes what it was asked for, where the broker takes it, and ends."""
        with self._turn:
            self._stopped = True
            self._turn.notify()
        self._thread.join()

    def ring(self, lines: Iterable[Line]) -> None:
        """Says that jobs of these lines may be due. Returns at once, and never raises."""
        with self._turn:
            self._asked.update(dict.fromkeys(lines))
            self._turn.notify()

    def run_once(self, lines: Iterable[Line]) -> int:
        """Publishes what is due in these lines, and says how many. Raises Busy where the store or the broker is away.

        What the broker did not take is as it was before.
        """
        asked = list(lines)
        if not asked:
            return 0
        with self._database.transaction(self._role, timeout=10) as connection:
            found = jobs.announce(connection, asked, width=self._width)
        for place, job in enumerate(found):
            try:
                self._broker.publish(job.lane, job.id, job.traceparent)
            except Busy:
                with self._database.transaction(self._role, timeout=10) as connection:
                    jobs.withdraw(connection, [each.id for each in found[place:]])
                raise
        return len(found)

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._asked or self._stopped, timeout=IDLE_SECONDS)
                asked, self._asked = self._asked, {}
                if not asked and self._stopped:
                    return
            self._round(asked)

    def _round(self, asked: dict[Line, None]) -> None:
        try:
            if asked:
                self.run_once(asked)
            else:
                self._broker.idle()
            self.trouble = ""
        except MemorandaError as error:
            if not self.trouble:
                log.warning("not published", extra={"fields": {"lines": len(asked), "code": error.code, "why": error.message}})
            self.trouble = error.message
            with self._turn:
                if self._stopped:
                    return
                self._asked = {**asked, **self._asked}
                self._turn.wait_for(lambda: self._stopped, timeout=RETRY_SECONDS)
