"""What the operator of an installation does in its database: make it, the first brain, tokens, and one-time sign-in links.

It connects as the administrator of the private server; no serving role has these rights.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg

from memoranda import migrations

DATABASE: Final = "memoranda"
POLICY: Final = "person_stated"
"""A person's line is accepted by policy, so that a laptop is useful from the first import."""
AGENT: Final = "local agents"
LINK_LIFETIME: Final = timedelta(minutes=15)

EXISTS: Final = "select exists (select from pg_database where datname = %(name)s)"
# a killed process left its leases; the folder's lock says that it is gone, so nobody has to wait for them to run out
TAKE_BACK: Final = "update pipeline.job set leased_until = clock_timestamp() where state = 'leased' returning id"
PRINCIPAL: Final = """
insert into access.principal (kind, name) values (%(kind)s, %(name)s)
on conflict (kind, name) do update set name = excluded.name returning id
"""
BRAIN: Final = "select id from access.brain where slug = %(slug)s"
ADD_BRAIN: Final = "select access.add_brain(%(slug)s, %(name)s, %(policy)s, %(owner)s)"
GRANT: Final = """
insert into access.brain_grant (brain_id, principal_id, role) values (%(brain)s, %(principal)s, %(role)s)
on conflict (brain_id, principal_id) do update set role = excluded.role
  where access.role_rank(excluded.role) > access.role_rank(access.brain_grant.role)
"""
HOLDS: Final = """
select exists (select from access.token where digest = %(digest)s and brain_id = %(brain)s and revoked_at is null
                 and (expires_at is null or expires_at > clock_timestamp()))
"""
ISSUE: Final = "select access.issue_token(%(digest)s, %(brain)s, %(holder)s, 'writer', false, %(label)s, null)"
ADD_LINK: Final = """
insert into access.sign_in (digest, principal_id, expires_at)
select %(digest)s, id, clock_timestamp() + %(lifetime)s from access.principal where kind = 'person' and name = %(name)s returning digest
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    """Who and what an installation has once it is ready. ``made`` says that the brain is new."""

    brain: str
    person: str
    token: str
    made: bool


def make_database(server: str) -> None:
    """Makes Memoranda's database on a server, where it is not there yet. ``server`` is an administrator's connection string."""
    with psycopg.connect(server, autocommit=True) as connection:
        if not _first(connection, EXISTS, {"name": DATABASE}):
            connection.execute(f"create database {DATABASE}")


def prepare(dsn: str, *, brain: str, person: str, token: str | None, alone: bool = True) -> Household:
    """Migrates the database and sees that brain, person, agent and a token are there. Running it again changes nothing.

    ``token`` is the one that was given out before: it is kept where it still holds, else a new one is made. ``alone`` says that no
    worker can be running: leases that are still held are taken back.
    """
    migrations.upgrade(dsn)
    with _administrator(dsn) as connection:
        if alone:
            connection.execute(TAKE_BACK)
        owner: UUID = _first(connection, PRINCIPAL, {"kind": "person", "name": person})
        agent: UUID = _first(connection, PRINCIPAL, {"kind": "agent", "name": AGENT})
        found: UUID | None = _first(connection, BRAIN, {"slug": brain})
        brain_id = found or _first(connection, ADD_BRAIN, {"slug": brain, "name": brain, "policy": POLICY, "owner": owner})
        connection.execute(GRANT, {"brain": brain_id, "principal": owner, "role": "admin"})
        connection.execute(GRANT, {"brain": brain_id, "principal": agent, "role": "writer"})
        kept = _kept_token(connection, brain_id, token) or _new_token(connection, brain_id, agent)
    return Household(brain=brain, person=person, token=kept, made=found is None)


def new_link(dsn: str, person: str) -> str:
    """A fresh one-time sign-in secret of a person, good for 15 minutes. The database keeps its digest."""
    secret = secrets.token_urlsafe(32)
    with _administrator(dsn) as connection:
        connection.execute(ADD_LINK, {"digest": digest(secret), "lifetime": LINK_LIFETIME, "name": person})
    return secret


def _kept_token(connection: psycopg.Connection, brain: UUID, token: str | None) -> str | None:
    if not token:
        return None
    return token if _first(connection, HOLDS, {"digest": digest(token), "brain": brain}) else None


def _new_token(connection: psycopg.Connection, brain: UUID, holder: UUID) -> str:
    token = f"mem_{secrets.token_urlsafe(32)}"
    connection.execute(ISSUE, {"digest": digest(token), "brain": brain, "holder": holder, "label": "made by memoranda up"})
    return token


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _first(connection: psycopg.Connection, statement: str, parameters: dict[str, object]) -> Any:
    row = connection.execute(statement.encode(), parameters).fetchone()
    return row[0] if row else None


@contextmanager
def _administrator(dsn: str) -> Generator[psycopg.Connection]:
    with psycopg.connect(dsn) as connection:
        yield connection


ALTER_ROLE: Final = "select format('alter role %%I password %%L', %(role)s::text, %(password)s::text)"


def set_password(dsn: str, role: str, password: str) -> None:
    """Gives one of Memoranda's roles its password. The server gets it hashed, so that no log of statements shows it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        statement: str = _first(connection, ALTER_ROLE, {"role": role, "password": hashed})
        connection.execute(statement.encode())
