"""The schema's history: numbered .sql files, each run once, in order and in one transaction."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg

from memoranda.errors import Busy, Misconfigured
from memoranda.migrations import files
from memoranda.migrations.files import Migration

# 'memo' in ASCII: one upgrade of a database at a time
LOCK: Final = 0x6D656D6F

RECORDED: Final = "select to_regclass('public.schema_file') is not null"
APPLIED: Final = "select name, sha256 from public.schema_file order by name"
MAKE_RECORD: Final = """
create table if not exists public.schema_file (
  name text primary key,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp()
)
"""


def upgrade(dsn: str, *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Apply what is pending and return the names applied, first to last.

    `dsn` is that of a role that may create roles and schemas. Several callers at once are safe: one works, the others wait for
    it and find nothing left. A file that fails leaves no trace, and those before it stay. Raises Misconfigured.
    """
    known = files.read() if migrations is None else migrations
    with _connect(dsn) as connection:
        connection.execute("select pg_advisory_lock(%s)", [LOCK])
        connection.execute(MAKE_RECORD)
        waiting = _pending(known, _applied(connection))
        if waiting:
            # Alembic and SQLAlchemy take 0.3 s to import, and most starts have nothing to apply
            from memoranda.migrations import run

            run.apply(dsn, known)
        return [migration.name for migration in waiting]


def current(dsn: str) -> str | None:
    """The name of the last migration applied, or None in an empty database."""
    with _connect(dsn) as connection:
        return max(_applied(connection), default=None)


def pending(dsn: str, *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """The names of what `upgrade` would apply. Raises Misconfigured where an applied file was edited or is not known here."""
    known = files.read() if migrations is None else migrations
    with _connect(dsn) as connection:
        return [migration.name for migration in _pending(known, _applied(connection))]


@contextmanager
def _connect(dsn: str) -> Generator[psycopg.Connection]:
    try:
        connection = psycopg.connect(dsn, autocommit=True)
    except psycopg.OperationalError as exc:
        raise Busy("the database is not available") from exc
    with connection:
        yield connection


def _applied(connection: psycopg.Connection) -> Mapping[str, str]:
    row = connection.execute(RECORDED).fetchone()
    if row is None or not row[0]:
        return {}
    return dict(connection.execute(APPLIED))


def _pending(known: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    strange = sorted(applied.keys() - {migration.name for migration in known})
    if strange:
        raise Misconfigured(
            f"the database has the migration {strange[0]}, which this version does not know",
            mend="start the newer version that made it, or restore the backup taken before it",
        )
    for migration in known:
        if applied.get(migration.name, migration.sha256) != migration.sha256:
            raise Misconfigured(
                f"{migration.name}.sql was edited after it was applied to this database",
                mend="restore the file and put the change into a new migration",
            )
    return [migration for migration in known if migration.name not in applied]
