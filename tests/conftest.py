"""What every test may use: a Postgres server for the session and, for each test that asks, a fresh migrated database."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from memoranda.errors import Misconfigured
from memoranda_up.postgres import Postgres
from memoranda_up.rabbit import Rabbit
from tests.databases import Database, Server

if TYPE_CHECKING:
    from tests.world import World

# Set where everything that tests need has to be there: a skip is then a failure, unless its reason starts with this word.
REQUIRED: Final = "MEMORANDA_REQUIRE_SERVICES"
ALLOWED: Final = "optional:"
# bytes: a cluster takes 60 MB, its log up to 1 GB, and there is one for each worker
ENOUGH: Final = 4 * 1024**3


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    """The server of MEMORANDA_TEST_DSN (a superuser's), else a private one of this worker whose data nobody will miss."""
    given = os.environ.get("MEMORANDA_TEST_DSN")
    if given:
        yield Server.of(given)
        return
    with tempfile.TemporaryDirectory(prefix="memoranda-test-", dir=_fast_folder(), ignore_cleanup_errors=True) as folder:
        # the server may have to run as another user, who must get through; the data in it stays closed
        Path(folder).chmod(0o711)
        try:
            postgres = Postgres.start(Path(folder) / "data", durable=False)
        except Misconfigured as error:
            pytest.skip(f"no Postgres: {error}")
        with postgres:
            yield Server.of(postgres.dsn())


def _fast_folder() -> str | None:
    """A folder in memory if there is one with room for it (a container often gives 64 MB): copies take a tenth of the time."""
    memory = Path("/dev/shm")
    fast = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ENOUGH
    return str(memory) if fast else None


@pytest.fixture(scope="session")
def rabbit_url() -> Generator[str]:
    """A RabbitMQ: that of RABBITMQ_URL, else a private node of this worker from the installed package."""
    given = os.environ.get("RABBITMQ_URL")
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="memoranda-test-", ignore_cleanup_errors=True) as folder:
        try:
            rabbit = Rabbit.make(Path(folder))
            rabbit.start()
        except Misconfigured as error:
            pytest.skip(f"no RabbitMQ: {error}; {error.mend}")
        try:
            yield rabbit.url
        finally:
            rabbit.kill()


@pytest.fixture(scope="session")
def template(server: Server) -> Generator[str]:
    """The name of a migrated database that tests copy and nobody is connected to."""
    with server.new("template") as database:
        yield database.migrate().name


@pytest.fixture
def database(server: Server, template: str) -> Generator[Database]:
    """A fresh copy of the migrated database: 0.02 s to make in memory, 0.2 s on disk, gone after the test, which may commit."""
    with server.new("test", template=template) as database:
        yield database


@pytest.fixture
def world(database: Database) -> Generator[World]:
    """A brain with its people and workers, in a database of its own."""
    # imported here, so that the tests of the lower layers run while a service does not import
    from tests.world import make

    yield from make(database)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skip where services are required."""
    report = yield
    _fail_a_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the skip of a whole module where services are required."""
    report = yield
    _fail_a_skip(report)
    return report


def _fail_a_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get(REQUIRED) != "1" or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith(ALLOWED):
        report.outcome = "failed"
        report.longrepr = f"skipped, and with {REQUIRED}=1 nothing may be: {reason}"
