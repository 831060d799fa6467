"""Job rows: added with the effect that needs them, leased by fencing token, completed with their own effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from memoranda.domain.job import Lane, Lease
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
update pipeline.job set leased_until = clock_timestamp() + %(lease)s
 where id = %(id)s and fencing_token = %(token)s and state = 'leased' and leased_until > clock_timestamp()
returning id
"""


def renew(connection: Connection, held: Lease, *, lease: timedelta) -> bool:
    """Moves a lease's end. False where it already ran out or was taken."""
    return connection.execute(RENEW, {"id": held.id, "token": held.fencing_token, "lease": lease}).fetchone() is not None


COMPLETE = """
update pipeline.job set state = 'done', leased_until = null, finished_at = clock_timestamp(), result = %(result)s
 where id = %(id)s and fencing_token = %(token)s and state = 'leased' and leased_until > clock_timestamp()
returning id
"""


def complete(connection: Connection, held: Lease, result: dict[str, Any]) -> bool:
    """Ends a job in the transaction of its effect. False where the lease is no longer held: that transaction must roll back."""
    parameters = {"id": held.id, "token": held.fencing_token, "result": Jsonb(result)}
    return connection.execute(COMPLETE, parameters).fetchone() is not None


GIVE_UP = """
update pipeline.job j set leased_until = null, error = left(%(error)s, 2000), not_before = clock_timestamp() + %(delay)s,
       published_at = null, attempts = attempts - %(refund)s,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A job to announce."""

    id: UUID
    lane: Lane
    traceparent: str | None


SWEEP_LOCK = "select pg_try_advisory_xact_lock(7411002)"


def sweep_lock(connection: Connection) -> bool:
    """Makes this transaction the one sweeper. False where another sweeps."""
    row = connection.execute(SWEEP_LOCK).fetchone()
    return bool(row and row[0])


EXPIRE = """
update pipeline.job j set leased_until = null, published_at = null, error = 'the lease of its worker ran out',
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


DUE = """
update pipeline.job set published_at = clock_timestamp()
 where id in (select id from pipeline.job where state = 'ready' and not_before <= clock_timestamp()
                 and (published_at is null or published_at < clock_timestamp() - %(overdue)s)
               order by not_before limit %(limit)s for update skip locked)
returning id, lane, traceparent
"""


def due(connection: Connection, *, overdue: timedelta, limit: int) -> list[Due]:
    """Marks as announced, and returns, the jobs that are due and that nobody announced lately."""
    with connection.cursor(row_factory=class_row(Due)) as cursor:
        return cursor.execute(DUE, {"overdue": overdue, "limit": limit}).fetchall()


ANNOUNCED = """
update pipeline.job set published_at = clock_timestamp()
 where id = any (%(ids)s) and state = 'ready' and not_before <= clock_timestamp() returning id, lane, traceparent
"""


def announced(connection: Connection, ids: Sequence[UUID]) -> list[Due]:
    """Marks jobs as announced and returns those that are due now."""
    with connection.cursor(row_factory=class_row(Due)) as cursor:
        return cursor.execute(ANNOUNCED, {"ids": list(ids)}).fetchall()


REQUEUE = """
update pipeline.job set state = 'ready', attempts = 0, not_before = clock_timestamp(), published_at = null, finished_at = null, error = null
 where id = %(id)s and state = 'dead'
   and not exists (select from pipeline.job o where o.kind = job.kind and o.subject_id = job.subject_id and o.state = 'ready')
returning id
"""


def requeue(connection: Connection, job: UUID) -> bool:
    """Gives a dead job its attempts back. False where it is not dead, or where another already waits for its subject."""
    return connection.execute(REQUEUE, {"id": job}).fetchone() is not None
