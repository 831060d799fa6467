"""A small world for tests: a brain, a person in a browser, an agent with a token, and workers that run until nothing is left."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import psycopg
from psycopg.rows import DictRow, dict_row

from memoranda.bus.announce import Announcer
from memoranda.bus.work import Outcome, Worker
from memoranda.domain.claim import Statement
from memoranda.domain.evidence import EVERYWHERE, Role, Scope
from memoranda.domain.job import Lane
from memoranda.store.database import Database as Connections
from memoranda_api.acting import Commands, Credential
from memoranda_api.capture import CapturedSource, capture
from memoranda_api.contribute import Contribution, contribute
from memoranda_api.review import Decision, Resolution, resolve, review
from memoranda_indexer import worker as indexer
from memoranda_ingest import worker as ingest
from memoranda_learner import worker as learner
from tests.databases import Database

Mode = Literal["accepted", "operational", "investigation", "history"]


class Doorbell:
    """A broker that only remembers: tests decide which job runs, when, and how often."""

    def __init__(self) -> None:
        self.rung: list[uuid.UUID] = []

    def publish(self, lane: Lane, job: uuid.UUID, traceparent: str | None) -> None:
        """Remembers the message."""
        del lane, traceparent
        self.rung.append(job)

    def consume(self, lane: Lane, handler: object, *, threads: int) -> None:
        """Nothing is consumed by itself."""

    def idle(self) -> None:
        """Nothing has to be looked after."""

    def trouble(self) -> str:
        """It cannot be away."""
        return ""

    def stop(self, *, seconds: float) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """There is no connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An event as a client sends it."""

    key: str
    parent_key: str | None
    role: Role
    kind: str
    said_at: datetime | None
    text: str
    abandoned: bool = False


def digest(secret: str) -> bytes:
    """What the store knows of a secret."""
    return hashlib.sha256(secret.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One database with a brain 'main' (policy person_stated), its people and its workers."""

    database: Database
    connections: Connections
    commands: Commands
    broker: Doorbell
    announcer: Announcer
    ingest: Worker
    learner: Worker
    indexer: Worker
    person: Credential
    agent: Credential
    reader: Credential
    brain: str = "main"
    brain_id: uuid.UUID
    person_id: uuid.UUID
    agent_id: uuid.UUID
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def admin(self) -> psycopg.Connection[DictRow]:
        """A superuser's connection, which no wall stops: for looking behind them."""
        return psycopg.Connection[DictRow].connect(self.database.dsn(), autocommit=True, row_factory=dict_row)

    def rows(self, statement: str, *parameters: object) -> list[DictRow]:
        """What the tables hold, past every wall."""
        with self.admin() as connection:
            return connection.execute(statement.encode(), parameters or None).fetchall()

    def run(self, statement: str) -> None:
        """Runs a statement as the administrator."""
        with self.admin() as connection:
            connection.execute(statement.encode())

    def capture(
        self,
        lines: Sequence[tuple[Role, str]] | str,
        *,
        session: str = "session-1",
        at: datetime | None = None,
        kind: Literal["session", "document"] = "session",
        scope: Scope = EVERYWHERE,
        credential: Credential | None = None,
        keys: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Captures a session of (role, text) events and runs what follows from it."""
        said = [("person", lines)] if isinstance(lines, str) else list(lines)
        events = [
            Sent(
                key=keys[place] if keys else f"{session}/{place}",
                parent_key=None,
                role=role,  # pyright: ignore[reportArgumentType]
                kind="document" if kind == "document" else "prompt",
                said_at=at,
                text=text,
            )
            for place, (role, text) in enumerate(said)
        ]
        source = CapturedSource(host="test", external_id=session, kind=kind, title=session, scope=scope)
        with self.commands.begin(credential or self.agent, self.brain) as acting:
            told = capture(acting, source, events, last=True)
        self.work()
        return told

    def work(self) -> list[Outcome]:
        """Runs every job that is due until none is left."""
        outcomes: list[Outcome] = []
        for _ in range(200):
            due = self.rows(
                "select id, lane from pipeline.job where state = 'ready' and not_before <= clock_timestamp() order by created_at"
            )
            if not due:
                return outcomes
            outcomes.extend(self.worker(row["lane"]).run(row["id"]) for row in due)
        raise AssertionError("the jobs do not come to an end")

    def worker(self, lane: Lane) -> Worker:
        """The worker of a lane."""
        return {"ingest": self.ingest, "learn": self.learner, "index": self.indexer}[lane]

    def propose(self, subject: str, predicate: str, value: str, *, by: Credential | None = None, **more: Any) -> dict[str, Any]:
        """An agent's (or another's) contribution."""
        statement = Statement(
            kind=more.pop("kind", "fact"),
            subject=subject,
            predicate=predicate,
            value=value,
            sentence=f"{subject} {predicate} is {value}",
            **more,
        )
        with self.commands.begin(by or self.agent, self.brain) as acting:
            return contribute(acting, Contribution(statement=statement))

    def decide(
        self, claim: uuid.UUID, action: Any, *, by: Credential | None = None, reason: str = "because", **more: Any
    ) -> dict[str, Any]:
        """A person's decision about a claim."""
        with self.commands.begin(by or self.person, self.brain) as acting:
            return review(acting, claim, Decision(action=action, reason=reason, **more))

    def resolve(self, conflict: uuid.UUID, how: Any, **more: Any) -> dict[str, Any]:
        """A person's end of a conflict."""
        with self.commands.begin(self.person, self.brain) as acting:
            return resolve(acting, conflict, Resolution(how=how, reason="because", **more))

    @contextmanager
    def lens(
        self,
        mode: Mode = "accepted",
        *,
        at: datetime | None = None,
        when: datetime | None = None,
        scope: Scope = EVERYWHERE,
        by: Credential | None = None,
        brain: str | None = None,
    ) -> Generator[psycopg.Connection[DictRow]]:
        """A reading transaction of the gateway with the lens open."""
        with psycopg.Connection[DictRow].connect(self.database.dsn("memoranda_gateway"), row_factory=dict_row) as connection:
            opened = connection.execute(
                "select * from access.open_lens(%s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    (by or self.person).digest,
                    brain or self.brain,
                    mode,
                    when,
                    at,
                    list(scope.repositories),
                    list(scope.areas),
                    list(scope.environments),
                ),
            ).fetchone()
            assert opened is not None, "no standing in this brain"
            assert opened["refused"] is None, opened["refused"]
            yield connection

    def seen(self, mode: Mode = "accepted", **lens: Any) -> list[DictRow]:
        """The latest revisions that the mode lets through, oldest first."""
        with self.lens(mode, **lens) as connection:
            return connection.execute(
                "select * from lens.revision where withheld is null and is_latest order by recorded_at, id"
            ).fetchall()

    def values(self, mode: Mode = "accepted", **lens: Any) -> list[str]:
        """The values of them."""
        return [row["value"] for row in self.seen(mode, **lens)]

    def withheld(self, mode: Mode = "accepted", **lens: Any) -> dict[str, int]:
        """How many latest revisions are withheld, by reason."""
        with self.lens(mode, **lens) as connection:
            rows = connection.execute(
                "select withheld, count(*) as number from lens.revision where withheld is not null and is_latest group by 1"
            ).fetchall()
        return {row["withheld"]: row["number"] for row in rows}

    def chunks(self, mode: Mode = "investigation", **lens: Any) -> list[DictRow]:
        """The chunks, those that are withheld too."""
        with self.lens(mode, **lens) as connection:
            return connection.execute("select * from lens.chunk order by recorded_at, ordinal").fetchall()

    def claim_of(self, value: str) -> uuid.UUID:
        """The claim whose latest revision has this value."""
        found = self.rows("select claim_id from ledger.revision where value = %s order by recorded_at desc limit 1", value)
        return found[0]["claim_id"]

    def now(self) -> datetime:
        """The database's clock."""
        return self.rows("select clock_timestamp() as now")[0]["now"].astimezone(UTC)


def make(database: Database, *, policy: str = "person_stated") -> Generator[World]:
    """A world in a fresh database; closes its connections at the end."""
    session, csrf, token, reading = (secrets.token_hex(16) for _ in range(4))
    with psycopg.connect(database.dsn(), autocommit=True) as admin:
        person = _one(admin, "insert into access.principal (kind, name) values ('person', 'Ada') returning id")
        agent = _one(admin, "insert into access.principal (kind, name) values ('agent', 'agent') returning id")
        reader = _one(admin, "insert into access.principal (kind, name) values ('agent', 'reader') returning id")
        brain = _one(admin, "select access.add_brain('main', 'Main', %s, %s)", policy, person)
        admin.execute("insert into access.brain_grant (brain_id, principal_id, role) values (%s, %s, 'writer')", (brain, agent))
        admin.execute("insert into access.brain_grant (brain_id, principal_id, role) values (%s, %s, 'reader')", (brain, reader))
        _one(admin, "select access.issue_token(%s, %s, %s, 'writer', false, 'test', null)", digest(token), brain, agent)
        _one(admin, "select access.issue_token(%s, %s, %s, 'reader', false, 'test', null)", digest(reading), brain, reader)
        admin.execute(
            "insert into access.browser_session (digest, csrf_digest, principal_id, expires_at)"
            " values (%s, %s, %s, now() + interval '1 day')",
            (digest(session), digest(csrf), person),
        )
    connections = Connections(database.conninfo, pool_size=6)
    connections.open("command", "ingest", "learner", "indexer", "gateway")
    broker = Doorbell()
    announcer = Announcer(connections, "ingest", broker)
    try:
        yield World(
            database=database,
            connections=connections,
            commands=Commands(connections, announcer.run_once, timeout=30),
            broker=broker,
            announcer=announcer,
            ingest=Worker(connections, "ingest", announcer.run_once, ingest.handlers(), lease_seconds=30, timeout=30),
            learner=Worker(connections, "learner", announcer.run_once, learner.handlers(), lease_seconds=30, timeout=30),
            indexer=Worker(connections, "indexer", announcer.run_once, indexer.handlers(), lease_seconds=30, timeout=30),
            person=Credential(digest=digest(session), csrf_digest=digest(csrf)),
            agent=Credential(digest=digest(token)),
            reader=Credential(digest=digest(reading)),
            brain_id=brain,
            person_id=person,
            agent_id=agent,
            extra={"token": token, "session": session, "csrf": csrf, "reading": reading},
        )
    finally:
        connections.close()


def _one(connection: psycopg.Connection[Any], statement: str, *parameters: object) -> Any:
    row = connection.execute(statement.encode(), parameters).fetchone()
    assert row is not None
    return row[0]
