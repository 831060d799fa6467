"""Worker rows: which processes work, and how long ago each was seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from memoranda.domain.job import Lane
from memoranda.store.database import Connection

State = Literal["working", "draining", "stopped"]

REPORT = """
insert into pipeline.worker (name, lane, version, clock_ahead, holds, state, trouble)
values (%(name)s, %(lane)s, %(version)s, %(clock)s - clock_timestamp(), %(holds)s, %(state)s, left(%(trouble)s, 500))
on conflict (name) do update
   set seen_at = clock_timestamp(), clock_ahead = excluded.clock_ahead, holds = excluded.holds, state = excluded.state,
       trouble = excluded.trouble, version = excluded.version,
       started_at = case when pipeline.worker.state = 'stopped' then clock_timestamp() else pipeline.worker.started_at end
"""


def report(connection: Connection, *, name: str, lane: Lane, version: str, clock: datetime, holds: int, state: State, trouble: str) -> None:
    """Says that a process is there. ``clock`` is its own, to be compared with the database's; ``trouble`` is empty when all is well."""
    parameters = {
        "name": name,
        "lane": lane,
        "version": version,
        "clock": clock,
        "holds": holds,
        "state": state,
        "trouble": trouble,
    }
    connection.execute(REPORT, parameters)


FORGET = """
delete from pipeline.worker
 where seen_at < clock_timestamp() - case state when 'stopped' then interval '1 minute' else %(silent)s end
"""


def forget(connection: Connection, *, silent: timedelta) -> None:
    """Drops the rows of processes that ended, and of those that were not seen for so long."""
    connection.execute(FORGET, {"silent": silent})
