"""Migrations: each file once, in order, whole or not at all, and unchanged afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from memoranda import migrations
from memoranda.errors import Misconfigured
from memoranda.migrations import files
from memoranda.migrations.files import Migration
from tests.databases import Database, Server


@pytest.fixture
def empty(server: Server) -> Generator[Database]:
    with server.new("empty") as database:
        yield database


def written(name: str, script: str) -> Migration:
    return Migration(name=name, script=script.encode(), sha256=hashlib.sha256(script.encode()).hexdigest())


FIRST = written("0001_first", "create table a (n int); insert into a values (1); do $$ begin perform 100 % 7; end $$;")
SECOND = written("0002_second", "create table b (n int);")
BROKEN = written("0002_second", "create table b (n int); select 1 / 0;")


def test_an_empty_database_gets_every_file_once(empty: Database) -> None:
    names = [migration.name for migration in files.read()]
    assert migrations.current(empty.dsn()) is None
    assert migrations.pending(empty.dsn()) == names
    assert migrations.upgrade(empty.dsn()) == names
    assert migrations.upgrade(empty.dsn()) == []
    assert migrations.pending(empty.dsn()) == []
    assert migrations.current(empty.dsn()) == names[-1]


def test_only_what_is_new_is_applied(empty: Database) -> None:
    assert migrations.upgrade(empty.dsn(), migrations=[FIRST]) == ["0001_first"]
    assert migrations.upgrade(empty.dsn(), migrations=[FIRST, SECOND]) == ["0002_second"]


def test_a_file_that_fails_leaves_no_trace_and_those_before_it_stay(empty: Database) -> None:
    with pytest.raises(Misconfigured, match="0002_second failed: division by zero"):
        migrations.upgrade(empty.dsn(), migrations=[FIRST, BROKEN])
    assert migrations.current(empty.dsn()) == "0001_first"
    assert migrations.upgrade(empty.dsn(), migrations=[FIRST, SECOND]) == ["0002_second"]


def test_two_that_start_at_once_apply_each_file_once(empty: Database) -> None:
    start = Barrier(4)

    def run(_: int) -> list[str]:
        start.wait(timeout=10)
        return migrations.upgrade(empty.dsn(), migrations=[FIRST, SECOND])

    with ThreadPoolExecutor(4) as pool:
        done = [*pool.map(run, range(4))]
    assert sorted(done) == [[], [], [], ["0001_first", "0002_second"]]


def test_a_file_that_was_edited_after_it_was_applied_is_refused(empty: Database) -> None:
    migrations.upgrade(empty.dsn(), migrations=[FIRST])
    edited = written("0001_first", "create table a (n bigint);")
    with pytest.raises(Misconfigured, match=r"0001_first\.sql was edited"):
        migrations.upgrade(empty.dsn(), migrations=[edited, SECOND])
    with pytest.raises(Misconfigured, match=r"0001_first\.sql was edited"):
        migrations.pending(empty.dsn(), migrations=[edited, SECOND])


def test_a_database_from_a_newer_version_is_refused(empty: Database) -> None:
    migrations.upgrade(empty.dsn(), migrations=[FIRST, SECOND])
    with pytest.raises(Misconfigured, match="0002_second, which this version does not know"):
        migrations.upgrade(empty.dsn(), migrations=[FIRST])


@pytest.mark.parametrize("names", [("0001_a", "0003_c"), ("0001_a", "0001_b"), ("0001_a", "first")])
def test_numbers_with_gaps_or_doubles_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / f"{name}.sql").write_text("select 1;")
    with pytest.raises(Misconfigured):
        files.read(tmp_path)


def test_a_copied_database_keeps_out_roles_that_the_migrations_keep_out(database: Database) -> None:
    rights = "select has_database_privilege('memoranda_gateway', current_database(), %s)"
    with database.connect() as connection:
        assert connection.execute(rights, ["connect"]).fetchone() == (True,)
        assert connection.execute(rights, ["temporary"]).fetchone() == (False,)
    with database.connect("memoranda_gateway") as connection:
        assert connection.execute("select current_user").fetchone() == ("memoranda_gateway",)
