"""Alembic's side of a migration: its revision chain is made from the .sql files, so that no file needs a Python twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Final

import psycopg
from alembic.runtime.migration import MigrationContext, MigrationStep, RevisionStep
from alembic.script import Script
from alembic.script.revision import Revision, RevisionMap
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from memoranda.errors import Misconfigured
from memoranda.migrations.files import Migration

RECORD: Final = "insert into public.schema_file (name, sha256) values (%(name)s, %(sha256)s)"


def apply(dsn: str, migrations: Sequence[Migration]) -> None:
    """Run every migration after the one that Alembic's table names, each in its own transaction together with its records."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": "schema_version",
                "version_table_schema": "public",
                "transaction_per_migration": True,
                "fn": _plan(_chain(connection, migrations)),
            },
        )
        context.run_migrations()


def _plan(chain: RevisionMap) -> Callable[[tuple[str, ...], MigrationContext], Iterator[RevisionStep]]:
    def steps(heads: tuple[str, ...], context: MigrationContext) -> Iterator[RevisionStep]:
        del context
        waiting = [*chain.iterate_revisions("heads", heads, implicit_base=True)]
        return (MigrationStep.upgrade_from_script(chain, revision) for revision in reversed(waiting) if isinstance(revision, Script))

    return steps


def _chain(connection: Connection, migrations: Sequence[Migration]) -> RevisionMap:
    before = [None, *(migration.name for migration in migrations)]
    scripts: list[Revision] = [_script(connection, migration, down) for migration, down in zip(migrations, before, strict=False)]
    return RevisionMap(lambda: scripts)


def _script(connection: Connection, migration: Migration, down: str | None) -> Script:
    module = ModuleType(migration.name)
    contents: Mapping[str, Any] = {
        "revision": migration.name,
        "down_revision": down,
        "upgrade": partial(_execute, connection, migration),
    }
    vars(module).update(contents)
    return Script(module, migration.name, f"{migration.name}.sql")


def _execute(connection: Connection, migration: Migration) -> None:
    """Hand the whole file to the driver: without parameters it may hold many statements, dollar quotes and percent signs."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"migrations need psycopg, not {type(driver)}")
    try:
        driver.execute(migration.script)
        # the file may have set a role that has no right to the records
        driver.execute("reset role")
        driver.execute(RECORD, {"name": migration.name, "sha256": migration.sha256})
    except psycopg.Error as exc:
        raise Misconfigured(f"the migration {migration.name} failed: {exc}") from exc
