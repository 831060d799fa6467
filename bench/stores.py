"""Stores to measure in: a private Postgres as the embedded profile runs it, and databases with one brain and its people."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from memoranda import migrations
from memoranda.store.database import Database
from memoranda_up.postgres import Postgres

Connection = psycopg.Connection[TupleRow]
BRAIN = "main"
# the rights on a database do not come with its template
CONNECT = """
grant connect on database {} to memoranda_gateway, memoranda_command, memoranda_ingest, memoranda_learner, memoranda_indexer,
  memoranda_graph
"""


def digest(secret: str) -> bytes:
    """What the store knows of a secret."""
    return hashlib.sha256(secret.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A database with the brain 'main', a person with a browser session and an agent with a token."""

    server: Postgres
    name: str
    brain_id: UUID
    person_id: UUID
    token: bytes
    session: bytes
    csrf: bytes

    def admin(self) -> Connection:
        """A superuser's connection, which no wall stops."""
        return psycopg.connect(self.server.dsn(database=self.name), autocommit=True)

    def role(self, role: str) -> Connection:
        """A connection of a service's role."""
        return psycopg.connect(self.server.dsn(user(role), self.name))

    @contextmanager
    def pools(self) -> Generator[Database]:
        """The pools of the store as a service has them."""
        database = Database(make_conninfo(self.server.dsn(database=self.name), user=None), pool_size=2)
        database.open("gateway", "command", "ingest")
        try:
            yield database
        finally:
            database.close()


def user(role: str) -> str:
    """The login of a service's role."""
    return f"memoranda_{role}"


@contextmanager
def server() -> Generator[Postgres]:
    """A Postgres with the settings of the embedded profile, but for the promise to survive a crash: only reads are timed in it."""
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        # the server may have to run as another user, who must get through; the data in it stays closed
        Path(folder).chmod(0o711)
        with Postgres.start(Path(folder) / "data", durable=False) as postgres:
            yield postgres


def new(postgres: Postgres, name: str) -> Store:
    """A migrated database with a brain."""
    _run(postgres, "create database {}", name)
    migrations.upgrade(postgres.dsn(database=name))
    token, session, csrf = (digest(secrets.token_hex(16)) for _ in range(3))
    with psycopg.connect(postgres.dsn(database=name), autocommit=True) as admin:
        person = _one(admin, "insert into access.principal (kind, name) values ('person', 'Ada') returning id")
        agent = _one(admin, "insert into access.principal (kind, name) values ('agent', 'agent') returning id")
        brain = _one(admin, "select access.add_brain(%s, 'Main', 'person_stated', %s)", BRAIN, person)
        admin.execute("insert into access.brain_grant (brain_id, principal_id, role) values (%s, %s, 'writer')", (brain, agent))
        _one(admin, "select access.issue_token(%s, %s, %s, 'writer', false, 'bench', null)", token, brain, agent)
        admin.execute(
            "insert into access.browser_session (digest, csrf_digest, principal_id, expires_at)"
            " values (%s, %s, %s, now() + interval '1 day')",
            (session, csrf, person),
        )
    return Store(server=postgres, name=name, brain_id=brain, person_id=person, token=token, session=session, csrf=csrf)


def copied(store: Store, name: str) -> Store:
    """A copy of a store that nobody is connected to, with the same brain and credentials."""
    _run(store.server, "create database {} template {} strategy file_copy", name, store.name)
    _run(store.server, CONNECT, name)
    return Store(
        server=store.server,
        name=name,
        brain_id=store.brain_id,
        person_id=store.person_id,
        token=store.token,
        session=store.session,
        csrf=store.csrf,
    )


def drop(store: Store) -> None:
    """Removes a store's database."""
    _run(store.server, "drop database {} with (force)", store.name)


def _run(postgres: Postgres, statement: LiteralString, *names: str) -> None:
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL(statement).format(*(sql.Identifier(name) for name in names)))


def _one(connection: Connection, statement: LiteralString, *parameters: object) -> Any:
    row = connection.execute(statement, parameters).fetchone()
    assert row is not None
    return row[0]
