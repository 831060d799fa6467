"""Who acts: credentials proven by the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Brain:
    """A brain and the caller's role in it."""

    slug: str
    name: str
    policy: str
    role: str
    created_at: datetime


BRAINS = "select slug, name, policy, role, created_at from access.brains_of(%(credential)s)"


def brains(connection: Connection, credential: bytes) -> list[Brain]:
    """The brains that a credential opens."""
    with connection.cursor(row_factory=class_row(Brain)) as cursor:
        return cursor.execute(BRAINS, {"credential": credential}).fetchall()


CREATE_BRAIN = "select access.create_brain(%(credential)s, %(csrf)s, %(slug)s, %(name)s, %(policy)s)"


def create_brain(connection: Connection, credential: bytes, csrf: bytes | None, *, slug: str, name: str, policy: str) -> UUID:
    """Makes a brain with its keys, and the caller its admin. Raises Forbidden, or Stale where the name is taken."""
    parameters = {"credential": credential, "csrf": csrf, "slug": slug, "name": name, "policy": policy}
    row = connection.execute(CREATE_BRAIN, parameters).fetchone()
    assert row is not None
    return row[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token; the token itself is not."""

    id: UUID
    agent: str
    role: str
    reads_history: bool
    label: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


TOKENS = "select id, agent, role, reads_history, label, created_at, expires_at, last_used_at, revoked_at from access.tokens()"


def tokens(connection: Connection) -> list[Token]:
    """The brain's tokens, for its admin in an acting transaction; empty for anybody else."""
    with connection.cursor(row_factory=class_row(Token)) as cursor:
        return cursor.execute(TOKENS).fetchall()


GIVE = "select access.give_token(%(digest)s, %(agent)s, %(role)s, %(reads_history)s, %(label)s, %(expires_at)s)"


def give_token(
    connection: Connection, digest: bytes, *, agent: str, role: str, reads_history: bool, label: str, expires_at: datetime | None
) -> UUID:
    """Gives an agent a token in the acting transaction's brain. Only its digest is stored."""
    parameters = {
        "digest": digest,
        "agent": agent,
        "role": role,
        "reads_history": reads_history,
        "label": label,
        "expires_at": expires_at,
    }
    row = connection.execute(GIVE, parameters).fetchone()
    assert row is not None
    return row[0]


REVOKE = "select access.revoke_token(%(id)s)"


def revoke_token(connection: Connection, token: UUID) -> bool:
    """Revokes a token of the brain. False where there is none, or it was revoked already."""
    row = connection.execute(REVOKE, {"id": token}).fetchone()
    return bool(row and row[0])


REDEEM = "select access.redeem_sign_in(%(link)s, %(session)s, %(csrf)s, %(lifetime)s)"


def redeem_sign_in(connection: Connection, *, link: bytes, session: bytes, csrf: bytes, lifetime: timedelta) -> str | None:
    """Turns a one-time link into a browser session, once. The person's name, or None for a link that does not hold."""
    row = connection.execute(REDEEM, {"link": link, "session": session, "csrf": csrf, "lifetime": lifetime}).fetchone()
    return row[0] if row else None


END_SESSION = "select access.end_session(%(session)s)"


def end_session(connection: Connection, session: bytes) -> bool:
    """Ends a browser session."""
    row = connection.execute(END_SESSION, {"session": session}).fetchone()
    return bool(row and row[0])
