"""Jobs: the row is the outbox and the lease; an effect and its completion commit together or not at all."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import timedelta

import pytest

from memoranda.bus import sweep
from memoranda.bus.announce import Announcer
from memoranda.bus.broker import InProcessBroker
from memoranda.bus.work import Work, Worker
from memoranda.domain.job import Lane, Lease, Line, backoff
from memoranda.errors import Busy, LeaseLost
from memoranda.store import jobs
from memoranda_ingest.seal import seal
from memoranda_learner.learn import learn
from tests.world import Doorbell, World

EFFECT = "insert into pipeline.job (brain_id, lane, kind, subject_id, state) values (%s, 'graph', 'effect', %s, 'done')"
STATE = "select state, attempts, error from pipeline.job where id = %s"


def add(world: World, kind: str = "probe", subject: uuid.UUID | None = None) -> uuid.UUID:
    with world.connections.transaction("ingest", timeout=5) as connection:
        return jobs.add(connection, brain_id=world.brain_id, lane="ingest", kind=kind, subject_id=subject or uuid.uuid4())


def take(world: World, job: uuid.UUID, seconds: float = 30) -> Lease | None:
    with world.connections.transaction("ingest", timeout=5) as connection:
        return jobs.take(connection, job, worker="test", lease=timedelta(seconds=seconds))


def worker(world: World, handler: object, *, lease: float = 30, role: str = "ingest") -> Worker:
    kinds = {"probe": handler, "seal": handler, "learn": handler}
    return Worker(world.connections, role, world.announcer.run_once, kinds, lease_seconds=lease, timeout=10)  # pyright: ignore[reportArgumentType]


def mark(world: World) -> object:
    """A handler whose effect can be counted: one flag-like row for each run that commits."""

    def run(work: Work) -> None:
        with work.effect() as effect:
            effect.connection.execute(EFFECT, [work.lease.brain_id, work.lease.id])

    return run


def effects(world: World, job: uuid.UUID) -> int:
    return world.rows("select count(*) as n from pipeline.job where kind = 'effect' and subject_id = %s", job)[0]["n"]


@pytest.mark.guarantee(7)
def test_a_message_delivered_twice_is_done_once(world: World) -> None:
    job = add(world)
    probe = worker(world, mark(world))
    assert [probe.run(job), probe.run(job)] == ["done", "not_mine"]
    assert effects(world, job) == 1


@pytest.mark.guarantee(7)
def test_of_ten_workers_that_get_one_message_at_once_one_does_it(world: World) -> None:
    job = add(world)
    gate = threading.Barrier(10)
    outcomes: list[str] = []

    def run() -> None:
        gate.wait(20)
        outcomes.append(worker(world, mark(world)).run(job))

    threads = [threading.Thread(target=run) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["done", *["not_mine"] * 9]
    assert effects(world, job) == 1


@pytest.mark.guarantee(7)
def test_a_worker_whose_lease_was_taken_writes_nothing(world: World) -> None:
    job = add(world)
    stalled, taken = threading.Event(), threading.Event()

    def slow(work: Work) -> None:
        stalled.set()
        assert taken.wait(20)
        with work.effect() as effect:
            effect.connection.execute(EFFECT, [work.lease.brain_id, work.lease.id])

    first: list[str] = []
    thread = threading.Thread(target=lambda: first.append(worker(world, slow).run(job)))
    thread.start()
    assert stalled.wait(20)
    world.run("update pipeline.job set leased_until = clock_timestamp() - interval '1 second' where kind = 'probe'")
    assert worker(world, mark(world)).run(job) == "done"
    taken.set()
    thread.join(30)
    assert first == ["lost"]
    assert effects(world, job) == 1


@pytest.mark.guarantee(7)
def test_a_lease_that_ran_out_and_that_nobody_took_cannot_commit_either(world: World) -> None:
    job = add(world)

    def late(work: Work) -> None:
        world.run("update pipeline.job set leased_until = clock_timestamp() - interval '1 second' where kind = 'probe'")
        with work.effect():
            pass

    assert worker(world, late).run(job) == "lost"
    assert world.rows(STATE, job)[0]["state"] == "leased"


def test_a_lease_is_renewed_while_work_goes_on(world: World) -> None:
    job = add(world)

    def long(work: Work) -> None:
        deadline = time.monotonic() + 20
        first = work.lease.leased_until
        while world.rows("select leased_until from pipeline.job where id = %s", job)[0]["leased_until"] <= first:
            assert time.monotonic() < deadline, "the lease was not renewed"
            time.sleep(0.02)
        with work.effect():
            pass

    assert worker(world, long, lease=1).run(job) == "done"


def test_a_failure_waits_longer_each_time_and_ends_dead_with_its_error(world: World) -> None:
    job = add(world)

    def broken(work: Work) -> None:
        raise ValueError("a text that could quote captured content")

    outcomes: list[str] = []
    for _ in range(6):
        world.run("update pipeline.job set not_before = clock_timestamp()")
        outcomes.append(worker(world, broken).run(job))
    assert outcomes == ["retry"] * 4 + ["dead", "not_mine"]
    assert world.rows(STATE, job) == [{"state": "dead", "attempts": 5, "error": "ValueError"}]
    with world.connections.transaction("command", timeout=5) as connection:
        connection.execute("select * from access.act(%s, %s, 'main')", [world.person.digest, world.person.csrf_digest])
        assert jobs.requeue(connection, job)
    assert worker(world, mark(world)).run(job) == "done"


def test_back_off_doubles_up_to_five_minutes_and_has_jitter() -> None:
    for attempts in range(1, 20):
        step = min(300, 2 ** (attempts - 1))
        assert all(step / 2 <= backoff(attempts).total_seconds() <= step for _ in range(50))
    assert len({backoff(9) for _ in range(20)}) > 1


def test_a_job_handed_back_counts_no_attempt(world: World) -> None:
    job = add(world)
    lease = take(world, job)
    assert lease is not None
    with world.connections.transaction("ingest", timeout=5) as connection:
        assert jobs.hand_back(connection, lease) == "ready"
    assert world.rows(STATE, job)[0]["attempts"] == 0


@pytest.mark.guarantee(7)
def test_the_sweeper_finds_what_was_never_published_and_what_a_dead_worker_held(world: World) -> None:
    lost, held = add(world), add(world)
    assert take(world, held, seconds=0) is not None
    done = sweep.run_once(world.connections, "ingest", world.announcer.run_once)
    assert (done.leader, done.taken_back) == (True, 1)
    assert {lost, held} <= set(world.broker.rung)
    assert sweep.run_once(world.connections, "ingest", world.announcer.run_once).lines == 0


def test_a_job_that_kills_its_worker_each_time_ends_dead(world: World) -> None:
    job = add(world)
    for _ in range(5):
        world.run("update pipeline.job set not_before = clock_timestamp()")
        assert take(world, job, seconds=0) is not None
        sweep.run_once(world.connections, "ingest", world.announcer.run_once)
    assert world.rows(STATE, job) == [{"state": "dead", "attempts": 5, "error": "the lease of its worker ran out"}]


def test_of_two_sweepers_at_once_one_sweeps(world: World) -> None:
    add(world)
    with world.connections.transaction("learner", timeout=5) as connection:
        assert jobs.sweep_lock(connection)
        assert not sweep.run_once(world.connections, "ingest", world.announcer.run_once).leader
    assert sweep.run_once(world.connections, "ingest", world.announcer.run_once).leader


def test_a_broker_that_is_away_loses_nothing(world: World) -> None:
    class Away(Doorbell):
        def publish(self, lane: Lane, job: uuid.UUID, traceparent: str | None) -> None:
            raise Busy(f"the broker is away: {lane} {job} {traceparent}")

    job = add(world)
    with pytest.raises(Busy):
        Announcer(world.connections, "ingest", Away()).run_once([Line(world.brain_id, "ingest")])
    assert world.rows("select state, published_at, announcements from pipeline.job where id = %s", job) == [
        {"state": "ready", "published_at": None, "announcements": 0}
    ]
    assert world.announcer.run_once([Line(world.brain_id, "ingest")]) == 1


@pytest.mark.guarantee(7)
@pytest.mark.parametrize("kind", ["seal", "learn"])
def test_a_real_job_that_dies_before_its_commit_is_done_again_with_the_same_end(world: World, kind: str) -> None:
    """The worker is stopped where its effect is written and not committed: what follows is as if it had never begun."""

    class Killed(BaseException):
        pass

    real = {"seal": seal, "learn": learn}

    def killed(*_: object) -> bool:
        raise Killed

    def dying(work: Work) -> None:
        original = jobs.complete
        try:
            jobs.complete = killed
            real[kind](work)
        finally:
            jobs.complete = original

    world.broker.rung.clear()
    killer = worker(world, dying, role="ingest" if kind == "seal" else "learner")
    original_run = world.ingest.run if kind == "seal" else world.learner.run
    seen: list[uuid.UUID] = []

    def once_dying(job: uuid.UUID, parent: str | None = None) -> str:
        if not seen:
            seen.append(job)
            with pytest.raises(Killed):
                killer.run(job)
            world.run("update pipeline.job set leased_until = clock_timestamp() - interval '1 s' where state = 'leased'")
            sweep.run_once(world.connections, "ingest", world.announcer.run_once)
        return original_run(job)

    target = world.ingest if kind == "seal" else world.learner
    target.run = once_dying  # pyright: ignore[reportAttributeAccessIssue]
    world.capture("billing.port = 8080")
    assert seen
    assert world.values() == ["8080"]
    counts = world.rows(
        "select (select count(*) from evidence.version) as versions, (select count(*) from evidence.chunk) as chunks,"
        " (select count(*) from ledger.revision) as revisions, (select count(*) from ledger.support) as supports"
    )
    assert counts == [{"versions": 1, "chunks": 1, "revisions": 1, "supports": 1}]


@pytest.mark.guarantee(7)
def test_learning_a_version_twice_adds_nothing(world: World) -> None:
    world.capture([("person", "billing.port = 8080"), ("assistant", "billing.port = 9090"), ("person", "Never push on Fridays")])
    before = world.rows("select id from ledger.revision order by 1"), world.rows("select id from ledger.support order by 1")
    version = world.rows("select id from evidence.version")[0]["id"]
    with world.connections.transaction("learner", timeout=5) as connection:
        job = jobs.add(connection, brain_id=world.brain_id, lane="learn", kind="learn", subject_id=version)
    assert world.learner.run(job) == "done"
    assert before == (world.rows("select id from ledger.revision order by 1"), world.rows("select id from ledger.support order by 1"))


def test_a_job_of_an_unknown_kind_waits_and_says_so(world: World) -> None:
    job = add(world, kind="from-a-newer-release")
    assert world.ingest.run(job) == "retry"
    assert "no handler" in world.rows(STATE, job)[0]["error"]


def test_the_in_process_broker_carries_a_job_to_its_lane_and_stops_cleanly(world: World) -> None:
    broker = InProcessBroker()
    came: list[tuple[uuid.UUID, str | None]] = []
    arrived = threading.Event()

    def handler(job: uuid.UUID, parent: str | None) -> None:
        came.append((job, parent))
        arrived.set()

    broker.consume("ingest", handler, threads=2)
    job = uuid.uuid4()
    broker.publish("ingest", job, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    assert arrived.wait(20)
    broker.stop(seconds=10)
    assert came == [(job, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]


def test_an_error_in_the_effect_rolls_back_with_its_completion(world: World) -> None:
    job = add(world)

    def half(work: Work) -> None:
        with work.effect() as effect:
            effect.connection.execute(EFFECT, [work.lease.brain_id, work.lease.id])
            raise LeaseLost("as if")

    assert worker(world, half).run(job) == "lost"
    assert effects(world, job) == 0
