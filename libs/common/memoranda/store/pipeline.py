"""The pipeline as a brain's members see it: what waits in each lane, and who works. Read through the lens."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from memoranda.store.lens import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """The brain's jobs in a lane. ``waiting`` are due and not taken, the oldest of them for ``oldest_seconds``.

    ``retrying`` failed and wait for their next attempt; ``errors`` says why, each once. ``overrun`` are leased beyond their lease.
    """

    lane: str
    waiting: int
    oldest_seconds: float
    leased: int
    overrun: int
    retrying: int
    dead: int
    errors: list[str]


LANES = """
select j.lane,
       count(*) filter (where j.state = 'ready' and j.not_before <= clock_timestamp()) as waiting,
       coalesce(extract(epoch from clock_timestamp() - min(j.not_before) filter (where j.state = 'ready')), 0)::float8 as oldest_seconds,
       count(*) filter (where j.state = 'leased') as leased,
       count(*) filter (where j.leased_until <= clock_timestamp()) as overrun,
       count(*) filter (where j.state = 'ready' and j.attempts > 0) as retrying,
       count(*) filter (where j.state = 'dead') as dead,
       coalesce((array_agg(distinct j.error) filter (where j.error <> ''))[:5], '{}') as errors
  from lens.job j where j.state in ('ready', 'leased', 'dead') group by j.lane order by j.lane
"""


def lanes(reading: Reading) -> list[LaneState]:
    """The lanes in which the brain has jobs that have not ended well."""
    with reading.connection.cursor(row_factory=class_row(LaneState)) as cursor:
        return cursor.execute(LANES).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker's process. ``silent_seconds`` is how long ago it was seen, ``clock_ahead_seconds`` how wrong its clock is."""

    name: str
    lane: str
    version: str
    state: str
    holds: int
    silent_seconds: float
    clock_ahead_seconds: float
    trouble: str


WORKERS = """
select w.name, w.lane, w.version, w.state, w.holds, extract(epoch from w.silent)::float8 as silent_seconds,
       extract(epoch from w.clock_ahead)::float8 as clock_ahead_seconds, w.trouble
  from lens.worker w order by w.lane, w.name limit 500
"""


def workers(reading: Reading) -> list[WorkerState]:
    """Every worker that was seen within a day; those that ended are forgotten after a minute."""
    with reading.connection.cursor(row_factory=class_row(WorkerState)) as cursor:
        return cursor.execute(WORKERS).fetchall()
