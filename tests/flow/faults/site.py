"""Real processes over a real Postgres and a real RabbitMQ, for tests that break something on purpose."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
from psycopg.rows import DictRow, dict_row

from memoranda_up import steward
from memoranda_up.children import Child, stop_all
from memoranda_up.postgres import Postgres
from memoranda_up.rabbit import Rabbit, free_port
from tests.databases import Database, Server
from tests.flow.faults.ledger import contents

T = TypeVar("T")
LEASE_SECONDS = 2.0
LIMIT = 60.0
WORKERS = ("ingest", "learner", "indexer")
# what comes of a brain's growth in its own time is no part of what a capture is waited for
LATER = ("sample",)
OPEN = "select count(*) as number from pipeline.job where state in ('ready', 'leased') and kind <> all (%s)"
END_CONNECTIONS = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""
DIALOGUES = (
    ("ports", ["billing.port = 8080", "search.port = 7700", "The billing service answers on 8080, as before."]),
    ("owners", ["billing.owner = payments team", "Decision: releases go out on Tuesdays only.", "search.owner = discovery team"]),
    ("tools", ["Remember: builds.tool = pnpm 9", "Never push to main on Fridays.", "builds.cache = redis"]),
    ("stores", ["billing.database = PostgreSQL 16", "search.database = Qdrant", "builds.database = none"]),
    ("long", [f"service-{number}.replicas = {number}" for number in range(40)]),
)
LATER_ON = (("again", ["billing.port = 8080", "billing.owner = platform team", "builds.tool = pnpm 10"]),)


@dataclass(kw_only=True)
class Place:
    """A Postgres whose data outlive a crash, a RabbitMQ, and a database to copy in which a brain and a token are."""

    postgres: Postgres
    folder: Path
    rabbit: Rabbit
    server: Server
    template: Database
    token: str
    reference: list[str] = field(default_factory=list[str])

    def restart_postgres(self, *, kill: bool) -> None:
        """Ends Postgres, in order or by a kill of all its processes, and starts it again."""
        if kill:
            _kill_tree(self.postgres.pid)
        self.postgres.stop()
        self.postgres = Postgres.start(self.folder / "data")


@contextmanager
def place() -> Generator[Place]:
    """The place, made once for all scenarios."""
    with tempfile.TemporaryDirectory(prefix="memoranda-faults-", dir="/tmp", ignore_cleanup_errors=True) as top:
        folder = Path(top)
        folder.chmod(0o711)
        rabbit = Rabbit.make(folder / "rabbit")
        rabbit.start()
        made = Postgres.start(folder / "data")
        try:
            server = Server.of(made.dsn())
            with server.new("template") as template:
                household = steward.prepare(template.dsn(), brain="main", person="Ada", token=None)
                here = Place(postgres=made, folder=folder, rabbit=rabbit, server=server, template=template, token=household.token)
                yield here
                made = here.postgres
        finally:
            made.stop()
            rabbit.kill()


@dataclass(kw_only=True)
class Site:
    """The services of one scenario, in a database and queues of their own."""

    place: Place
    database: Database
    prefix: str
    folder: Path
    more: dict[str, str] = field(default_factory=dict[str, str])
    children: dict[str, Child] = field(default_factory=dict[str, Child])
    port: int = field(default_factory=free_port)
    broker: str = ""

    def environment(self) -> dict[str, str]:
        """What every service is told."""
        return {
            "MEMORANDA_DATABASE": self.database.conninfo,
            "MEMORANDA_BROKER": self.broker or self.place.rabbit.url,
            "MEMORANDA_BROKER_PREFIX": self.prefix,
            "MEMORANDA_BROKER_HEARTBEAT": "2",
            "MEMORANDA_LEASE_SECONDS": str(LEASE_SECONDS),
            "MEMORANDA_SWEEP_SECONDS": "1",
            "MEMORANDA_GRACE_SECONDS": "10",
            "MEMORANDA_API_WORKERS": "1",
            "MEMORANDA_PORT": str(self.port),
            **self.more,
        }

    def start(self, *names: str, module: str = "", **more: str) -> None:
        """Starts services; ``module`` runs them in another way."""
        for name in names:
            own = {} if name == "api" else {"MEMORANDA_HEALTH_PORT": str(free_port())}
            child = Child(name=name, environment=self.environment() | own | more, log=self.folder / f"{name}.log", module=module)
            self.children[name] = child
            child.start()

    def start_dying(self, *names: str, at: str = "", twice: bool = False, freezes: bool = False) -> None:
        """Starts services each of which kills or freezes itself once at a point."""
        for name in names:
            told = {"DYING_SERVICE": name, "DYING_AT": at, "DYING_MARK": str(self.folder / f"died-{name}")}
            told |= {"DYING_TWICE": "1"} if twice else {}
            told |= {"DYING_FREEZES": "1"} if freezes else {}
            self.start(name, module="tests.flow.faults.dying", **told)

    def died(self, name: str) -> bool:
        """Whether a service has killed itself."""
        return (self.folder / f"died-{name}").exists()

    def health(self, name: str, what: str = "ready") -> dict[str, Any]:
        """What a worker says of itself."""
        port = self.children[name].environment["MEMORANDA_HEALTH_PORT"]
        try:
            answer: dict[str, Any] = httpx.get(f"http://127.0.0.1:{port}/{what}", trust_env=False).json()
        except httpx.TransportError:
            return {"status": "not answering", "checks": {}}
        return answer

    def capture(self, dialogues: Iterable[tuple[str, list[str]]] = DIALOGUES, *, brain: str = "main", token: str = "") -> None:
        """Sends sessions as a client does: each request is repeated, with its key, until it is answered."""
        for name, lines in dialogues:
            events = [
                {
                    "key": f"{name}/{place}",
                    "role": "person",
                    "kind": "prompt",
                    "said_at": f"2026-03-01T10:{place:02}:00Z",
                    "text": line,
                }
                for place, line in enumerate(lines)
            ]
            body = {"source": {"host": "test", "external_id": name, "kind": "session", "title": name}, "events": events, "last": True}
            self.post(f"/v1/brains/{brain}/captures", body, key=f"{self.prefix}-{name}", token=token)

    def post(self, path: str, body: dict[str, Any], *, key: str, token: str = "", **more: str) -> dict[str, Any]:
        """One command, repeated with its key until it is answered."""
        headers = {"Authorization": f"Bearer {token or self.place.token}", "Idempotency-Key": key, **more}
        return until(lambda: self._posted(path, body, headers), f"POST {path}")

    def _posted(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any] | None:
        self.tend()
        try:
            answer = httpx.post(f"http://127.0.0.1:{self.port}{path}", json=body, headers=headers, timeout=20, trust_env=False)
        except httpx.TransportError:
            return None
        if answer.status_code == 503:
            return None
        assert answer.status_code < 300, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def tend(self) -> None:
        """Starts again what ended by itself."""
        for child in self.children.values():
            if not child.running:
                child.start()

    def rows(self, statement: str, *parameters: object) -> list[dict[str, Any]]:
        """Reads as the administrator."""
        with psycopg.Connection[DictRow].connect(self.database.dsn(), row_factory=dict_row) as connection:
            return connection.execute(statement.encode(), parameters).fetchall()

    def run(self, statement: str, *parameters: object) -> None:
        """Writes as the administrator."""
        with psycopg.connect(self.database.dsn(), autocommit=True) as connection:
            connection.execute(statement.encode(), parameters)

    def quiet(self, *, tending: bool = True, seconds: float = LIMIT) -> None:
        """Waits until no job is left to do."""

        def settled() -> bool:
            if tending:
                self.tend()
            try:
                return self.rows(OPEN, list(LATER))[0]["number"] == 0
            except psycopg.Error:
                return False

        until(settled, lambda: f"quiet: {self.rows('select lane, kind, state, attempts, error, published_at from pipeline.job')}", seconds)

    def ledger(self) -> list[str]:
        """What the store holds, but for ids and times."""
        with psycopg.connect(self.database.dsn()) as connection:
            return contents(connection)

    def doctor(self) -> dict[str, dict[str, str]]:
        """What the doctor finds wrong or worth a note, by what it looked at."""
        environment = {**os.environ, "MEMORANDA_URL": f"http://127.0.0.1:{self.port}", "MEMORANDA_TOKEN": self.place.token}
        environment["MEMORANDA_DATA"] = str(self.folder / "none")
        told = subprocess.run(
            [sys.executable, "-m", "memoranda_cli.main", "doctor", "--json", "--brain", "main"],
            env=environment,
            capture_output=True,
            check=False,
            timeout=LIMIT,
        )
        assert told.returncode in (0, 1), told.stderr.decode()
        found = [each for each in json.loads(told.stdout)["findings"] if each["verdict"] != "ok" and each["what"] != "sessions"]
        return {each["what"]: each for each in found}

    def log(self, name: str) -> str:
        """What a service has logged."""
        return (self.folder / f"{name}.log").read_text()


@contextmanager
def site(here: Place) -> Generator[Site]:
    """A fresh database and folder; at the end every process is ended and nobody may have failed in an unforeseen way."""
    with here.server.new("fault", template=here.template.name) as database, tempfile.TemporaryDirectory(prefix="site-") as folder:
        made = Site(place=here, database=database, prefix=f"t{uuid.uuid4().hex[:8]}", folder=Path(folder))
        try:
            yield made
        finally:
            for child in made.children.values():
                child.freeze(frozen=False)
            stop_all(list(made.children.values()), seconds=15)


def until(ask: Callable[[], T | None], what: str | Callable[[], str], seconds: float = LIMIT) -> T:
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what if isinstance(what, str) else what()}"
        time.sleep(0.05)
    return found


def second_brain(here: Site) -> str:
    """Another brain, and a token for it."""
    token = f"mem_{secrets.token_urlsafe(16)}"
    with psycopg.connect(here.database.dsn(), autocommit=True) as admin:
        owner = admin.execute("select id from access.principal where name = 'Ada'").fetchone()
        agent = admin.execute("select id from access.principal where kind = 'agent'").fetchone()
        assert owner is not None
        assert agent is not None
        made = admin.execute("select access.add_brain('other', 'Other', 'person_stated', %s)", owner).fetchone()
        assert made is not None
        admin.execute("insert into access.brain_grant (brain_id, principal_id, role) values (%s, %s, 'writer')", (made[0], agent[0]))
        admin.execute(
            "select access.issue_token(%s, %s, %s, 'writer', false, 'test', null)",
            (steward.digest(token), made[0], agent[0]),
        )
    return token


def _kill_tree(pid: int) -> None:
    """Kills a process and its children at once."""
    import psutil

    parent = psutil.Process(pid)
    for process in (*parent.children(recursive=True), parent):
        with suppress(psutil.NoSuchProcess):
            process.kill()
