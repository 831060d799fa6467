"""Who acts: credentials proven by the database."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from memoranda.store.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a credential may do in a brain. ``channel`` is ``page`` for a browser session without its CSRF token."""

    brain_id: UUID
    principal_id: UUID
    kind: str
    role: str
    channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who holds a credential."""

    name: str
    kind: str
    channel: str


ACT = """
select brain_id, principal_id, kind, role, channel, set_config('memoranda.traceparent', coalesce(%(traceparent)s::text, ''), true)
  from access.act(%(credential)s, %(csrf)s, %(brain)s)
"""


def act(connection: Connection, credential: bytes, csrf: bytes | None, brain: str, traceparent: str | None) -> Standing | None:
    """Opens this transaction for a credential in a brain. None for an unknown brain and for one without rights to it alike."""
    parameters = {"credential": credential, "csrf": csrf, "brain": brain, "traceparent": traceparent}
    row = connection.execute(ACT, parameters).fetchone()
    if row is None:
        return None
    return Standing(brain_id=row[0], principal_id=row[1], kind=row[2], role=row[3], channel=row[4])


WHO = "select name, kind, channel from access.who(%(credential)s, %(csrf)s)"


def who(connection: Connection, credential: bytes, csrf: bytes | None = None) -> Person | None:
    """Who holds a credential, or None where it does not hold."""
    with connection.cursor(row_factory=class_row(Person)) as cursor:
        return cursor.execute(WHO, {"credential": credential, "csrf": csrf}).fetchone()


SERVE = "select access.serve(%(brain)s), set_config('memoranda.traceparent', coalesce(%(traceparent)s::text, ''), true)"


def serve(connection: Connection, brain: UUID, traceparent: str | None) -> None:
    """Opens a worker's transaction in a brain. Forbidden for any role but a worker's."""
    connection.execute(SERVE, {"brain": brain, "traceparent": traceparent})
