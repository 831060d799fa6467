"""The private Postgres server: it starts, ends with its owner, and refuses what would harm the data."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from memoranda.errors import Misconfigured
from memoranda_up import postgres, postgres_user
from memoranda_up.postgres import Postgres

# Starts a server, prints its pid, and waits to be killed.
OWNER = """
import sys, pathlib
from memoranda_up.postgres import Postgres
server = Postgres.start(pathlib.Path(sys.argv[1]))
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Generator[Path]:
    """A data folder with a short path that every user may reach."""
    path = Path(tempfile.mkdtemp(prefix="memoranda-", dir="/tmp"))
    path.chmod(0o755)
    yield path / "data"
    shutil.rmtree(path)


def ask(server: Postgres, question: bytes) -> object:
    with psycopg.connect(server.dsn()) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def test_what_was_committed_is_there_after_a_restart(folder: Path) -> None:
    with Postgres.start(folder) as server, psycopg.connect(server.dsn()) as connection:
        connection.execute("create table kept as select 1 as n")
    with Postgres.start(folder) as server:
        assert ask(server, b"select n from kept") == 1


def test_the_server_is_durable_private_and_sorts_alike_everywhere(folder: Path) -> None:
    with Postgres.start(folder) as server:
        for name, value in {"fsync": "on", "synchronous_commit": "on", "listen_addresses": "", "jit": "off"}.items():
            assert ask(server, f"show {name}".encode()) == value
        assert ask(server, b"select datlocale from pg_database where datname = 'template1'") == "C.UTF-8"
        assert (folder / "socket").stat().st_mode & 0o777 == 0o700
        assert (folder / "postgres.log").stat().st_mode & 0o777 == 0o600


def test_the_server_offers_vectors(folder: Path) -> None:
    with Postgres.start(folder) as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("create extension vector")
        assert ask(server, b"select ('[1,2]'::vector <-> '[1,4]'::vector)::int") == 2


def test_a_second_process_is_refused_and_told_who_has_the_folder(folder: Path) -> None:
    with owner_of(folder) as owner:
        server = psutil.Process(read_pid(owner))
        with pytest.raises(Misconfigured, match=f"in use by the process {owner.pid}"):
            Postgres.start(folder)
        kill(owner)
    server.wait(timeout=20)


def test_one_process_cannot_have_the_folder_twice(folder: Path) -> None:
    with Postgres.start(folder), pytest.raises(Misconfigured, match=f"in use by the process {os.getpid()}"):
        Postgres.start(folder)


def test_the_server_ends_when_its_owner_is_killed(folder: Path) -> None:
    with owner_of(folder) as owner:
        server = psutil.Process(read_pid(owner))
        kill(owner)
    server.wait(timeout=20)


def test_the_folder_starts_at_once_after_its_owner_was_killed(folder: Path) -> None:
    with owner_of(folder) as owner:
        first = read_pid(owner)
        kill(owner)
    with Postgres.start(folder) as server:
        assert server.pid != first
        assert ask(server, b"select 1") == 1


def test_a_killed_server_recovers_what_was_committed(folder: Path) -> None:
    server = Postgres.start(folder)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("create table kept as select 1 as n")
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
    with Postgres.start(folder) as again:
        assert ask(again, b"select n from kept") == 1


def test_a_left_pid_file_whose_number_is_now_another_process_is_no_obstacle(folder: Path) -> None:
    server = Postgres.start(folder)
    left = (folder / "cluster" / "postmaster.pid").read_text()
    server.stop()
    (folder / "cluster" / "postmaster.pid").write_text(left.replace(str(server.pid), str(os.getpid()), 1))
    with Postgres.start(folder) as again:
        assert ask(again, b"select 1") == 1


def test_a_folder_of_another_major_version_is_refused_and_left_alone(folder: Path) -> None:
    Postgres.start(folder).stop()
    (folder / "cluster" / "PG_VERSION").write_text("17\n")
    with pytest.raises(Misconfigured, match="made by Postgres 17, and this is Postgres 18"):
        Postgres.start(folder)
    assert (folder / "cluster" / "PG_VERSION").read_text() == "17\n"


def test_a_server_that_does_not_start_shows_the_end_of_its_log(folder: Path) -> None:
    Postgres.start(folder).stop()
    with (folder / "cluster" / "postgresql.conf").open("a") as settings:
        settings.write("work_mem = 'plenty'\n")
    with pytest.raises(Misconfigured, match="invalid value for parameter"):
        Postgres.start(folder)


def test_an_interrupted_first_start_leaves_nothing_in_the_way(folder: Path) -> None:
    (folder / "cluster.new" / "base").mkdir(parents=True)
    with Postgres.start(folder) as server:
        assert ask(server, b"select 1") == 1


def test_a_long_path_gets_its_socket_elsewhere_and_takes_it_away_again(folder: Path) -> None:
    with Postgres.start(folder / ("long" * 30)) as server:
        sockets = Path(str(conninfo_to_dict(server.dsn())["host"]))
        assert folder not in sockets.parents
        assert ask(server, b"select 1") == 1
    assert not sockets.exists()


def test_clients_do_not_hold_up_the_stop(folder: Path) -> None:
    server = Postgres.start(folder)
    with contextlib.closing(psycopg.connect(server.dsn())) as connection:
        connection.execute("select 1")
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        stopping.join(timeout=postgres.STOP_SECONDS / 2)
        assert not stopping.is_alive()


def test_a_folder_without_programs_is_named(folder: Path) -> None:
    with pytest.raises(Misconfigured, match=r"elsewhere/postgres does not run"):
        Postgres.start(folder, bin_dir=Path("/elsewhere"))


@pytest.mark.skipif(os.geteuid() != 0, reason="optional: only root has to become somebody else")
def test_root_without_namespaces_runs_it_as_nobody_from_a_copy_that_nobody_can_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_user, "MAPPED", ("no-such-program",))
    closed = folder.parent / "closed"
    package = postgres.bundled().parent.parent
    shutil.copytree(package, closed / package.name)
    shutil.copytree(package.with_name(f"{package.name}.libs"), closed / f"{package.name}.libs")
    closed.chmod(0o700)
    with Postgres.start(folder, bin_dir=closed / package.name / "pginstall" / "bin") as server:
        assert psutil.Process(server.pid).username() == "nobody"
        assert ask(server, b"select 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="optional: only root has to become somebody else")
def test_root_is_told_which_folder_keeps_nobody_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_user, "MAPPED", ("no-such-program",))
    folder.parent.chmod(0o700)
    with pytest.raises(Misconfigured, match=f"because {folder.parent} is closed to others"):
        Postgres.start(folder)


def owner_of(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OWNER, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_pid(owner: subprocess.Popen[str]) -> int:
    assert owner.stdout is not None
    return int(owner.stdout.readline())


def kill(owner: subprocess.Popen[str]) -> None:
    owner.kill()
    owner.wait(timeout=10)
