"""Job rows: added with the effect that needs them, leased by fencing token, completed with their own effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from memoranda.domain.job import Lane, Lease, Line
from memoranda.store.database import Connection

ADD = """
insert into pipeline.job (brain_id, lane, kind, subject_id, not_before, traceparent)
values (%(brain_id)s, %(lane)s, %(kind)s, %(subject_id)s, clock_timestamp() + %(delay)s, %(traceparent)s)
on conflict (kind, subject_id) where state = 'ready' do update
   set not_before = case when %(keep_earlier)s then least(job.not_before, excluded.not_before) else excluded.not_before end
returning id
"""


def add(
    connection: Connection,
    *,
    brain_id: UUID,
    lane: Lane,
    kind: str,
    subject_id: UUID,
    delay: timedelta = timedelta(0),
    keep_earlier: bool = False,
    traceparent: str | None = None,
) -> UUID:
    """Adds a job to this transaction. A job of the kind that still waits for the subject is moved instead of doubled.

    ``keep_earlier`` leaves it where it is when it would come due sooner.
    """
    parameters = {
        "brain_id": brain_id,
        "lane": lane,
        "kind": kind,
        "subject_id": subject_id,
        "delay": delay,
        "keep_earlier": keep_earlier,
        "traceparent": traceparent,
    }
    row = connection.execute(ADD, parameters).fetchone()
    assert row is not None
    return row[0]


TAKE = """
update pipeline.job set state = 'leased', attempts = attempts + 1, fencing_token = nextval('pipeline.fencing'),
       leased_by = %(worker)s, leased_until = clock_timestamp() + %(lease)s, error = null
 where id = %(id)s and attempts < max_attempts
   and ((state = 'ready' and not_before <= clock_timestamp()) or (state = 'leased' and leased_until <= clock_timestamp()))
returning id, brain_id, lane, kind, subject_id, attempts, max_attempts, fencing_token, leased_until, traceparent
"""


def take(connection: Connection, job: UUID, *, worker: str, lease: timedelta) -> Lease | None:
    """Leases a job, or None where it is done, not due, or held by another. Of two at the same time one gets it."""
    with connection.cursor(row_factory=class_row(Lease)) as cursor:
        return cursor.execute(TAKE, {"id": job, "worker": worker, "lease": lease}).fetchone()


RENEW = """
update pipeline.job j set leased_until = clock_timestamp() + %(lease)s
  from unnest(%(ids)s::uuid[], %(tokens)s::bigint[]) as held(id, token)
 where j.id = held.id and j.fencing_token = held.token and j.state = 'leased' and j.leased_until > clock_timestamp()
returning j.id
"""


def renew(connection: Connection, held: Sequence[Lease], *, lease: timedelta) -> set[UUID]:
    """Moves the end of leases. The jobs whose lease still held; the others ran out or were taken."""
    parameters = {"ids": [each.id for each in held], "tokens": [each.fencing_token for each in held], "lease": lease}
    return {row[0] for row in connection.execute(RENEW, parameters).fetchall()}


COMPLETE = """
update pipeline.job j set state = 'done', leased_until = null, finished_at = clock_timestamp(), result = %(result)s
 where id = %(id)s and fencing_token = %(token)s and state = 'leased' and leased_until > clock_timestamp()
returning exists (select from pipeline.job w where w.brain_id = j.brain_id and w.lane = j.lane and w.state = 'ready'
                     and w.published_at is null and w.not_before <= clock_timestamp()) as more
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A job that has ended. ``more`` says that others of its line wait to be published."""

    more: bool


def complete(connection: Connection, held: Lease, result: dict[str, Any]) -> Completed | None:
    """Ends a job in the transaction of its effect. None where the lease is no longer held: that transaction must roll back."""
    parameters = {"id": held.id, "token": held.fencing_token, "result": Jsonb(result)}
    with connection.cursor(row_factory=class_row(Completed)) as cursor:
        return cursor.execute(COMPLETE, parameters).fetchone()


GIVE_UP = """
update pipeline.job j set leased_until = null, error = left(%(error)s, 2000), not_before = clock_timestamp() + %(delay)s,
       published_at = null, announcements = 0, attempts = attempts - %(refund)s,
       finished_at = case when j.attempts >= j.max_attempts and %(refund)s = 0 then clock_timestamp() end,
       state = case
         when j.attempts >= j.max_attempts and %(refund)s = 0 then 'dead'
         when exists (select from pipeline.job o where o.kind = j.kind and o.subject_id = j.subject_id and o.state = 'ready')
           then 'cancelled'
         else 'ready' end
 where id = %(id)s and fencing_token = %(token)s and state = 'leased'
returning state
"""


def fail(connection: Connection, held: Lease, *, error: str, delay: timedelta) -> str | None:
    """Gives a failed job back to wait, or ends it dead after its last attempt. The state that it has now, None if not held.

    Where another job of the kind waits for the same subject, this one is cancelled: that one finds what is left to do.
    """
    return _give_up(connection, held, error=error, delay=delay, refund=0)


def hand_back(connection: Connection, held: Lease) -> str | None:
    """Gives a job back untouched, as at a shutdown: it does not count as an attempt."""
    return _give_up(connection, held, error="", delay=timedelta(0), refund=1)


def _give_up(connection: Connection, held: Lease, *, error: str, delay: timedelta, refund: int) -> str | None:
    parameters = {"id": held.id, "token": held.fencing_token, "error": error, "delay": delay, "refund": refund}
    row = connection.execute(GIVE_UP, parameters).fetchone()
    return row[0] if row else None


SWEEP_LOCK = "select pg_try_advisory_xact_lock(7411002)"


def sweep_lock(connection: Connection) -> bool:
    """Makes this transaction the one sweeper. False where another sweeps."""
    row = connection.execute(SWEEP_LOCK).fetchone()
    return bool(row and row[0])


EXPIRE = """
update pipeline.job j set leased_until = null, published_at = null, announcements = 0, error = 'the lease of its worker ran out',
       finished_at = case when j.attempts >= j.max_attempts then clock_timestamp() end,
       state = case
         when j.attempts >= j.max_attempts then 'dead'
         when exists (select from pipeline.job o where o.kind = j.kind and o.subject_id = j.subject_id and o.state = 'ready')
           then 'cancelled'
         else 'ready' end
 where id in (select id from pipeline.job where state = 'leased' and leased_until <= clock_timestamp()
               order by leased_until limit 100 for update skip locked)
returning state
"""


def expire(connection: Connection) -> list[str]:
    """Takes back leases that ran out. The states that their jobs have now."""
    return [row[0] for row in connection.execute(EXPIRE).fetchall()]


LOST = """
update pipeline.job set published_at = null
 where id in (select id from pipeline.job
               where state = 'ready' and published_at < clock_timestamp() - %(overdue)s * power(2, least(announcements - 1, 7))
               order by published_at limit 1000 for update skip locked)
returning id
"""


def lost(connection: Connection, *, overdue: timedelta) -> int:
    """Counts as unpublished what was published and not taken for so long; each further time it takes twice as long, up to 128 times."""
    return len(connection.execute(LOST, {"overdue": overdue}).fetchall())


WAITING = """
select distinct brain_id, lane from pipeline.job
 where state = 'ready' and published_at is null and not_before <= clock_timestamp() limit 1000
"""


def waiting(connection: Connection) -> list[Line]:
    """The lines in which unpublished jobs are due."""
    return [Line(*row) for row in connection.execute(WAITING).fetchall()]


NEXT_DUE = """
select extract(epoch from min(not_before) - clock_timestamp())::float8 from pipeline.job
 where state = 'ready' and published_at is null and not_before > clock_timestamp()
"""


def next_due(connection: Connection) -> float | None:
    """Seconds until the next job comes due that is not due yet."""
    row = connection.execute(NEXT_DUE).fetchone()
    return row[0] if row else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A job to publish."""

    id: UUID
    brain_id: UUID
    lane: Lane
    traceparent: str | None


ANNOUNCE = "select id, brain_id, lane, traceparent from pipeline.announce(%(brains)s, %(lanes)s, %(width)s)"


def announce(connection: Connection, lines: Sequence[Line], *, width: int) -> list[Due]:
    """Marks as published, and returns, the next jobs of these lines: as many as keep ``width`` of each line in flight."""
    parameters = {"brains": [line.brain_id for line in lines], "lanes": [line.lane for line in lines], "width": width}
    with connection.cursor(row_factory=class_row(Due)) as cursor:
        return cursor.execute(ANNOUNCE, parameters).fetchall()


WITHDRAW = "select pipeline.withdraw(%(ids)s)"


def withdraw(connection: Connection, ids: Sequence[UUID]) -> None:
    """Marks jobs as not published: the broker did not take them."""
    connection.execute(WITHDRAW, {"ids": list(ids)})


REQUEUE = """
update pipeline.job set state = 'ready', attempts = 0, not_before = clock_timestamp(), published_at = null, announcements = 0,
       finished_at = null, error = null
 where id = %(id)s and state = 'dead'
   and not exists (select from pipeline.job o where o.kind = job.kind and o.subject_id = job.subject_id and o.state = 'ready')
returning lane
"""


def requeue(connection: Connection, job: UUID) -> Lane | None:
    """Gives a dead job its attempts back. Its lane, or None where it is not dead, or another already waits for its subject."""
    row = connection.execute(REQUEUE, {"id": job}).fetchone()
    return row[0] if row else None
