"""Erasure against whoever is on the way: what was erased is not written again, whichever comes first."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta

import psycopg
import pytest

from memoranda.bus.work import Work, Worker
from memoranda.domain.evidence import EVERYWHERE
from memoranda.store import evidence, jobs, ledger
from memoranda_api.acting import Acting
from memoranda_api.capture import CapturedSource, capture
from memoranda_ingest import seal as sealing
from tests.world import Sent, World

SOURCE = CapturedSource(host="test", external_id="racing", kind="session", title="racing", scope=EVERYWHERE)


def send(acting: Acting, text: str) -> uuid.UUID:
    event = Sent(key="racing/0", parent_key=None, role="person", kind="prompt", said_at=None, text=text)
    return capture(acting, SOURCE, [event], last=True)["source_id"]


def erase(world: World, source: uuid.UUID) -> int:
    with world.commands.begin(world.person, "main") as acting:
        return ledger.erase_source(acting.connection, source, reason="asked to")


def text_left(world: World) -> str:
    rows = [world.rows(f"select * from {table}") for table in ("evidence.event", "evidence.chunk", "ledger.revision")]
    return str([{name: row[name] for name in ("body", "text", "value") if name in row} for table in rows for row in table])


def test_a_seal_that_read_before_an_erasure_writes_nothing_after_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.commands.begin(world.agent, "main") as acting:
        source = send(acting, "canary.port = 8080")
    read = evidence.unsealed

    def then_erased(*arguments: object, **more: object) -> object:
        found = read(*arguments, **more)  # pyright: ignore[reportArgumentType]
        erase(world, source)
        return found

    monkeypatch.setattr(sealing.evidence, "unsealed", then_erased)
    job = world.rows("select id from pipeline.job where kind = 'seal'")[0]["id"]
    assert world.ingest.run(job) == "retry"
    monkeypatch.undo()
    world.run("update pipeline.job set not_before = clock_timestamp()")
    world.work()
    assert "canary" not in text_left(world)
    assert "8080" not in text_left(world)


def test_an_erasure_waits_for_a_capture_that_is_not_committed_and_takes_it_too(world: World) -> None:
    erased = threading.Event()
    with world.commands.begin(world.agent, "main") as acting:
        first = send(acting, "canary one")
    with world.commands.begin(world.agent, "main") as acting:
        event = Sent(key="racing/1", parent_key=None, role="person", kind="prompt", said_at=None, text="canary two")
        capture(acting, SOURCE, [event], last=True)
        thread = threading.Thread(target=lambda: (erase(world, first), erased.set()))
        thread.start()
        assert not erased.wait(0.5), "the erasure did not wait"
    thread.join(20)
    assert erased.is_set()
    assert "canary" not in text_left(world)


def test_an_erasure_under_the_seal_of_the_same_source_ends_without_a_ring(world: World) -> None:
    with world.commands.begin(world.agent, "main") as acting:
        source = send(acting, "canary.port = 8080")
    writing, going = threading.Event(), threading.Event()

    def slow(work: Work) -> None:
        original = evidence.add_version

        def pausing(connection: object, **more: object) -> None:
            writing.set()
            assert going.wait(20)
            original(connection, **more)  # pyright: ignore[reportArgumentType]

        evidence.add_version = pausing  # pyright: ignore[reportAttributeAccessIssue]
        try:
            sealing.seal(work)
        finally:
            evidence.add_version = original

    worker = Worker(world.connections, "ingest", world.announcer.run_once, {"seal": slow}, lease_seconds=30, timeout=20)
    job = world.rows("select id from pipeline.job where kind = 'seal'")[0]["id"]
    sealer = threading.Thread(target=lambda: worker.run(job))
    eraser = threading.Thread(target=lambda: erase(world, source))
    sealer.start()
    assert writing.wait(20)
    eraser.start()
    eraser.join(0.5)
    going.set()
    sealer.join(20)
    eraser.join(20)
    assert not sealer.is_alive()
    assert not eraser.is_alive()
    world.work()
    assert "canary" not in text_left(world)


def test_a_sealed_version_takes_no_more_chunks_and_a_reviewed_claim_no_more_inputs(world: World) -> None:
    world.capture("billing.port = 8080")
    world.propose("billing", "host", "alpha")
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        with pytest.raises(psycopg.Error, match="takes no more chunks"):
            command.execute(
                """insert into evidence.chunk (brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles,
                     run_said, digest) select brain_id, source_id, version_id, 9, 1, 1, 'x', '{1}', '{assistant}', '{now}', ''
                     from evidence.chunk limit 1"""
            )
        command.rollback()
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        with pytest.raises(psycopg.Error, match="written before it"):
            command.execute(
                "insert into ledger.derivation (brain_id, revision_id, ordinal, input_revision_id)"
                " select brain_id, id, 1, id from ledger.revision limit 1"
            )
        command.rollback()
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only a worker seals"):
            command.execute(
                "insert into evidence.version (brain_id, source_id, ordinal, last_event, line_count, digest, replaces, recorded_at)"
                " select brain_id, id, 9, 0, 1, '', true, now() from evidence.source where kind = 'session' limit 1"
            )


def test_a_revision_without_a_cited_line_is_accepted_by_no_policy(world: World) -> None:
    world.capture("billing.port = 8080")
    revision = uuid.uuid4()
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        claim = uuid.uuid4()
        learner.execute("insert into ledger.claim (id, brain_id) values (%s, %s)", [claim, world.brain_id])
        learner.execute(
            "insert into ledger.derivation (brain_id, revision_id, ordinal, input_revision_id)"
            " select brain_id, %s, 1, id from ledger.revision limit 1",
            [revision],
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="does not accept"):
            learner.execute(
                """insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, review,
                     acceptance_policy, admission, origin, family, rule_key, ordinal, recorded_at, said_at, author_role, digest)
                   values (%s, %s, %s, 'recap', 's', 'p', 'v', 'x', 'accepted', 'person_stated', 'accepted_by_policy',
                     'model_synthesized', '', '', 0, now(), now(), 'person', '')""",
                [revision, world.brain_id, claim],
            )


def test_an_event_without_a_time_was_said_when_the_one_before_it_was(world: World) -> None:
    from datetime import UTC, datetime

    day = datetime(2026, 3, 1, tzinfo=UTC)
    with world.commands.begin(world.agent, "main") as acting:
        events = [
            Sent(key="racing/0", parent_key=None, role="person", kind="prompt", said_at=day, text="shop.tool = npm"),
            Sent(key="racing/1", parent_key=None, role="person", kind="prompt", said_at=None, text="shop.color = red"),
        ]
        capture(acting, SOURCE, events, last=True)
    world.work()
    assert {row["said_at"] for row in world.seen()} == {day}


def test_a_job_is_moved_and_not_doubled(world: World) -> None:
    subject = uuid.uuid4()
    with world.connections.transaction("ingest", timeout=5) as connection:
        made = {
            jobs.add(connection, brain_id=world.brain_id, lane="ingest", kind="probe", subject_id=subject, delay=timedelta(seconds=seconds))
            for seconds in (5, 9)
        }
    assert len(made) == 1
