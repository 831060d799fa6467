"""Databases that tests have to themselves."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from memoranda import migrations

# A copy gets the contents of its template and not the rights on it as a database.
COPY_RIGHTS: Final = """
do $$
declare
  held record;
begin
  execute format('revoke all on database %I from public', current_database());
  for held in select grantee, privilege_type from pg_database, aclexplode(datacl) where datname = '{template}' loop
    execute format('grant %s on database %I to %s', held.privilege_type, current_database(),
                   case held.grantee when 0 then 'public' else held.grantee::regrole::text end);
  end loop;
end $$
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server on which tests may make databases. `conninfo` has no user; `admin` is the superuser's name."""

    conninfo: str
    admin: str

    @classmethod
    def of(cls, dsn: str) -> Self:
        """The server that a superuser's connection string names."""
        parts = conninfo_to_dict(dsn)
        admin = parts.pop("user", None) or "postgres"
        return cls(conninfo=make_conninfo("", **parts), admin=str(admin))

    def dsn(self, role: str, database: str) -> str:
        """The connection string of a role for a database."""
        return make_conninfo(self.conninfo, user=role, dbname=database)

    def execute(self, statement: str, *names: str, database: str = "postgres") -> None:
        """Run one statement as the administrator, outside any transaction; each {} in it takes a name, quoted."""
        composed = sql.SQL(statement).format(*(sql.Identifier(name) for name in names))  # pyright: ignore[reportArgumentType]  # our own text
        with psycopg.connect(self.dsn(self.admin, database), autocommit=True) as connection:
            connection.execute(composed)

    @contextmanager
    def new(self, kind: str, *, template: str | None = None) -> Generator[Database]:
        """A database with a name of its own, dropped at the end even if somebody is still connected."""
        database = Database(server=self, name=f"memoranda_{kind}_{uuid.uuid4().hex[:12]}")
        if template is None:
            self.execute("create database {}", database.name)
        else:
            # in memory 0.02 s, where the default strategy takes three times as long
            self.execute("create database {} template {} strategy file_copy", database.name, template)
            with database.connect(autocommit=True) as connection:
                connection.execute(COPY_RIGHTS.replace("{template}", template).encode())
        try:
            yield database
        finally:
            self.execute("drop database {} with (force)", database.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One database of a server."""

    server: Server
    name: str

    @property
    def conninfo(self) -> str:
        """The connection string without a user, as the settings have it."""
        return make_conninfo(self.server.conninfo, dbname=self.name)

    def dsn(self, role: str | None = None) -> str:
        """The connection string of a role, 'memoranda_gateway' for example; without one, of the administrator, whom no grant binds."""
        return self.server.dsn(role or self.server.admin, self.name)

    def connect(self, role: str | None = None, *, autocommit: bool = False) -> psycopg.Connection[TupleRow]:
        """A new connection of a role; the test closes it, best with a `with` block."""
        return psycopg.connect(self.dsn(role), autocommit=autocommit)

    def migrate(self) -> Self:
        """Bring the schema up to date."""
        migrations.upgrade(self.dsn())
        return self
