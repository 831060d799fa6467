"""The bus: jobs a second against bare Dramatiq, from capture to claim, fairness, and what publishing costs a capture."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg

from bench.figures import Figure, Say, Sizes, p50, p95
from memoranda_up import steward
from memoranda_up.children import Child, stop_all
from memoranda_up.postgres import Postgres
from memoranda_up.rabbit import Rabbit, free_port

RATE: Final = 0.3
WAIT_SECONDS: Final = 2.0
PUBLISHING_MS: Final = 3.0
FLOOD: Final = 10_000
ROUNDS: Final = 3
WARM: Final = 5

LEARNED: Final = "select count(*) from pipeline.job where lane = 'learn' and state = 'done'"
SEALED: Final = "select count(*) from evidence.version"
WAITING: Final = "select count(*) from pipeline.job where state in ('ready', 'leased') and kind = 'seal'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """A Postgres, a RabbitMQ, and a migrated database with a brain."""

    admin: str
    database: str
    broker: str
    token: str
    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What every service is told."""
        told = {"MEMORANDA_DATABASE": self.database, "MEMORANDA_BROKER": self.broker, "MEMORANDA_API_WORKERS": "1"}
        return {**told, **more}

    @contextmanager
    def running(self, *names: str, module: str = "", **more: str) -> Generator[int]:
        """Runs services until the block ends; yields the port of the API."""
        port = free_port()
        children: list[Child] = []
        for name in names:
            told = self.environment(MEMORANDA_PORT=str(port), MEMORANDA_HEALTH_PORT=str(free_port()), **more)
            children.append(Child(name=name, environment=told, log=self.folder / f"{name}-{port}.log", module=module))
        for child in children:
            child.start()
        try:
            if "api" in names:
                _until(lambda: _ready(port))
            for child in children:
                if child.name != "api":
                    _until(lambda child=child: _ready(int(child.environment["MEMORANDA_HEALTH_PORT"]), "/ready"))
            yield port
        finally:
            stop_all(children, seconds=40)


def bus(sizes: Sizes, say: Say) -> Iterator[Figure]:
    """Every figure of the bus, over one RabbitMQ and one Postgres."""
    with _yard(say) as yard:
        yield from _rate(yard, sizes, say)
        yield from _latency(yard, sizes, say)
        yield from _fairness(yard, say)
        yield from _publishing(yard, sizes, say)


@contextmanager
def _yard(say: Say) -> Generator[Yard]:
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-", dir="/tmp", ignore_cleanup_errors=True) as top:
        folder = Path(top)
        folder.chmod(0o711)
        say("starting RabbitMQ and Postgres")
        with Rabbit.make(folder / "rabbit") as rabbit, Postgres.start(folder / "data") as postgres:
            steward.make_database(postgres.dsn())
            admin = postgres.dsn(database=steward.DATABASE)
            household = steward.prepare(admin, brain="main", person="bench", token=None)
            database = postgres.dsn(role="", database=steward.DATABASE)
            yield Yard(admin=admin, database=database, broker=rabbit.url, token=household.token, folder=folder)


def _rate(yard: Yard, sizes: Sizes, say: Say) -> Iterator[Figure]:
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(1, ROUNDS + 1):
        for which, found in rates.items():
            say(f"{sizes.jobs:,} jobs that do nothing, {which}, {number} of {ROUNDS}")
            found.append(sizes.jobs / _worked(yard, which, sizes.jobs, number))
    ours, bare = max(rates["ours"]), max(rates["bare"])
    yield Figure(name="jobs of nothing, published, leased and committed", value=ours, unit="jobs/s")
    yield Figure(name="messages of nothing through bare Dramatiq, confirmed", value=bare, unit="messages/s")
    yield Figure(name="jobs against bare Dramatiq", value=ours / bare, unit="ratio", limit=RATE, keeps="at least", note=f"best of {ROUNDS}")


def _worked(yard: Yard, which: str, jobs: int, number: int) -> float:
    told = subprocess.run(
        [sys.executable, "-m", "bench.bus_worker", which, str(jobs), yard.admin],
        env={**os.environ, **yard.environment(MEMORANDA_BROKER_PREFIX=f"bench-{which}{number}")},
        check=True,
        capture_output=True,
    )
    return float(told.stdout)


def _latency(yard: Yard, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """On an idle system: from the request's first byte to the commit of what was learned from it."""
    say("from capture to claim")
    seconds: list[float] = []
    with (
        yard.running("api", "ingest", "learner", "indexer") as port,
        psycopg.connect(yard.admin, autocommit=True) as admin,
        _client(yard, port) as http,
    ):
        for number in range(sizes.captures + WARM):
            before = _count(admin, LEARNED)
            began = time.perf_counter()
            _capture(http, f"latency-{number}", f"service-{number}.port = {number}")
            _until(lambda before=before: _count(admin, LEARNED) > before, pause=0.001)
            if number >= WARM:
                seconds.append(time.perf_counter() - began)
            _until(lambda: not _count(admin, WAITING), pause=0.01)
    yield Figure(name="from capture to claim, idle, p50", value=1000 * p50(seconds), unit="ms")
    yield Figure(name="from capture to claim, idle, p95", value=1000 * p95(seconds), unit="ms")


def _fairness(yard: Yard, say: Say) -> Iterator[Figure]:
    say(f"one job behind {FLOOD:,} of another brain")
    with psycopg.connect(yard.admin, autocommit=True) as admin:
        admin.execute(
            "select access.add_brain('flood', 'Flood', 'review', (select id from access.principal where kind = 'person' limit 1))"
        )
        with yard.running("api", "ingest") as port, _client(yard, port) as http:
            admin.execute(
                "insert into pipeline.job (brain_id, lane, kind, subject_id) select b.id, 'ingest', 'seal', gen_random_uuid()"
                " from access.brain b, generate_series(1, %s) where b.slug = 'flood'",
                [FLOOD],
            )
            left = FLOOD
            _until(lambda: _count(admin, WAITING) < left - 100, pause=0.01)
            before = _count(admin, SEALED)
            began = time.perf_counter()
            _capture(http, "the one", "the-one.port = 1")
            _until(lambda: _count(admin, SEALED) > before, pause=0.001)
            waited = time.perf_counter() - began
            behind = _count(admin, WAITING)
            assert behind > FLOOD // 4, "the flood was over too soon to show anything"
            admin.execute("update pipeline.job set state = 'cancelled' where state = 'ready' and kind = 'seal'")
    yield Figure(
        name=f"one job with {FLOOD:,} of another brain queued before it",
        value=waited,
        unit="s",
        limit=WAIT_SECONDS,
        note=f"from its capture to its commit; {behind:,} of the others were left then",
    )


def _publishing(yard: Yard, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """Two APIs, one of which tells nobody, asked in turn."""
    say("what publishing costs a capture")
    seconds: dict[str, list[float]] = {"told": [], "silent": []}
    with (
        yard.running("api") as told,
        yard.running("api", module="bench.silent_api") as silent,
        _client(yard, told) as loud,
        _client(yard, silent) as quiet,
    ):
        clients = {"told": loud, "silent": quiet}
        for number in range(sizes.batches + WARM):
            for which, http in clients.items():
                began = time.perf_counter()
                _capture(http, f"{which}-{number}", "nothing to learn here")
                if number >= WARM:
                    seconds[which].append(time.perf_counter() - began)
    added = 1000 * (p95(seconds["told"]) - p95(seconds["silent"]))
    yield Figure(name="capture with publishing, p95", value=1000 * p95(seconds["told"]), unit="ms")
    yield Figure(name="what publishing adds to p95 of a capture", value=added, unit="ms", limit=PUBLISHING_MS)


def _client(yard: Yard, port: int) -> httpx.Client:
    headers = {"Authorization": f"Bearer {yard.token}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60, trust_env=False)


def _capture(http: httpx.Client, session: str, line: str) -> None:
    body: dict[str, Any] = {
        "source": {"host": "bench", "external_id": session, "kind": "session", "title": session},
        "events": [{"key": session, "role": "person", "kind": "prompt", "text": line}],
    }
    http.post("/v1/brains/main/captures", json=body).raise_for_status()


def _ready(port: int, path: str = "/v1/health/ready") -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def _count(admin: psycopg.Connection[Any], statement: str) -> int:
    row = admin.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])


def _until(ask: Callable[[], bool], *, pause: float = 0.05, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not ask():
        assert time.monotonic() < deadline
        time.sleep(pause)
