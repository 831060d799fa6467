"""Whatever breaks on the way, the store ends as that of an undisturbed run, byte for byte but for ids and times."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from typing import Any

import pika
import pika.exceptions
import psutil
import psycopg
import pytest

from tests.flow.faults.cable import Cable
from tests.flow.faults.dying import POINTS
from tests.flow.faults.site import DIALOGUES, END_CONNECTIONS, LATER_ON, WORKERS, Place, Site, second_brain, until

pytestmark = [pytest.mark.guarantee(7), pytest.mark.xdist_group("faults")]
LANES = {"ingest": "ingest", "learner": "learn", "indexer": "index"}


def ended_as_undisturbed(site: Site) -> None:
    """Waits for quiet, goes on with what comes later, and compares everything."""
    site.quiet()
    site.capture(LATER_ON)
    site.quiet()
    assert site.rows("select kind, error from pipeline.job where state = 'dead'") == []
    assert site.ledger() == site.place.reference


def queue_of(site: Site, lane: str) -> str:
    return f"{site.prefix}.{lane}.v1"


def depth(site: Site, lane: str) -> int:
    with pika.BlockingConnection(pika.URLParameters(site.place.rabbit.url)) as connection:
        try:
            return connection.channel().queue_declare(queue_of(site, lane), passive=True).method.message_count
        except pika.exceptions.ChannelClosedByBroker:
            return 0  # nobody has published yet


def test_an_undisturbed_run_learns_what_was_said_and_two_such_runs_have_the_same(site: Site) -> None:
    site.start("api", *WORKERS)
    site.capture()
    ended_as_undisturbed(site)
    reference = "\n".join(site.place.reference)
    assert all(word in reference for word in ("payments team", "platform team", "pnpm 10", "service-39"))
    assert "ledger.conflict" in reference or "supersede" in reference


@pytest.mark.parametrize("point", POINTS)
def test_each_worker_is_killed(site: Site, point: str) -> None:
    site.start("api")
    site.start_dying(*WORKERS, at=point)
    site.capture()
    site.quiet()
    assert all(site.died(name) for name in WORKERS)
    assert all(site.children[name].starts == 2 for name in WORKERS)
    ended_as_undisturbed(site)


def test_the_api_is_killed_between_commit_and_publish(site: Site) -> None:
    site.start_dying("api", at="after the commit")
    site.start(*WORKERS)
    site.capture()
    assert site.died("api")
    ended_as_undisturbed(site)


def test_the_broker_is_stopped_for_the_whole_capture(site: Site) -> None:
    site.start("api", *WORKERS)
    site.place.rabbit.stop()
    try:
        site.capture()
        assert site.rows("select count(*) as n from pipeline.job where kind = 'seal' and state = 'ready'") == [{"n": len(DIALOGUES)}]
        found = site.doctor()
        assert found["broker"]["verdict"] == "wrong"
        assert "RabbitMQ" in found["broker"]["mend"]
    finally:
        site.place.rabbit.start()
    ended_as_undisturbed(site)


def test_the_broker_is_killed_with_messages_in_flight(site: Site) -> None:
    site.start("api")
    site.capture()
    until(lambda: depth(site, "ingest") == len(DIALOGUES), "messages in the queue")
    site.start(*WORKERS)
    until(lambda: site.rows("select from pipeline.job where state in ('leased', 'done')"), "work under way")
    site.place.rabbit.kill()
    site.place.rabbit.start()
    ended_as_undisturbed(site)


@pytest.mark.parametrize("size", [300, 900, 1500, 4000])
def test_connections_to_the_broker_are_cut_in_the_middle(site: Site, size: int) -> None:
    cable = Cable(site.place.rabbit.port)
    try:
        site.broker = site.place.rabbit.url.replace(f":{site.place.rabbit.port}/", f":{cable.port}/")
        site.start("api", *WORKERS)
        until(lambda: all(site.health(name)["status"] == "ready" for name in WORKERS), "ready workers")
        cable.cut_within(size)
        site.capture()
        site.quiet()
        assert cable.cuts >= 1
        cable.cut_within(size)
        ended_as_undisturbed(site)
    finally:
        cable.close()


def test_every_connection_is_closed_by_the_broker_and_a_queue_is_deleted(site: Site) -> None:
    site.start("api", *WORKERS)
    site.capture(DIALOGUES[:2])
    until(lambda: site.rows("select from pipeline.job where state in ('leased', 'done')"), "work under way")
    site.place.rabbit.control("close_all_connections", "--global", "as a test")
    with pika.BlockingConnection(pika.URLParameters(site.place.rabbit.url)) as connection:
        connection.channel().queue_delete(queue_of(site, "learn"))
    site.capture(DIALOGUES[2:])
    ended_as_undisturbed(site)
    until(lambda: all(site.health(name)["status"] == "ready" for name in WORKERS), "ready workers")


@pytest.mark.parametrize("how", ["in order", "by a kill", "by ending every connection"])
def test_postgres_is_restarted_during_work(site: Site, how: str) -> None:
    site.start("api", *WORKERS)
    site.capture(DIALOGUES[:2])
    until(lambda: site.rows("select from pipeline.job where state in ('leased', 'done')"), "work under way")
    if how == "by ending every connection":
        site.run(END_CONNECTIONS)
    else:
        site.place.restart_postgres(kill=how == "by a kill")
    site.capture(DIALOGUES[2:])
    ended_as_undisturbed(site)


def test_one_of_the_apis_processes_is_killed_again_and_again(site: Site) -> None:
    site.more["MEMORANDA_API_WORKERS"] = "2"
    site.start("api", *WORKERS)
    for dialogue in DIALOGUES:
        site.capture([dialogue])
        serving = until(lambda: pair if len(pair := _serving(site)) == 2 else None, "two processes")
        serving[0].kill()
        until(lambda dead=serving[0]: dead.pid not in [each.pid for each in _serving(site)], "its end")
    assert site.children["api"].starts == 1
    ended_as_undisturbed(site)


def _serving(site: Site) -> list[psutil.Process]:
    """The processes of the API that answer requests."""
    found: list[psutil.Process] = []
    for each in psutil.Process(site.children["api"].pid).children():
        with suppress(psutil.Error):
            if "spawn_main" in " ".join(each.cmdline()):
                found.append(each)
    return found


def test_every_message_is_delivered_twice(site: Site) -> None:
    site.start_dying("api", *WORKERS, twice=True)
    site.capture()
    ended_as_undisturbed(site)


def test_messages_are_delivered_twice_and_in_reverse_order(site: Site) -> None:
    site.start("api")
    site.capture()
    until(lambda: depth(site, "ingest") == len(DIALOGUES), "messages in the queue")
    for name, lane in LANES.items():
        reversed_twice(site, lane)
        site.start(name)
        until(
            lambda lane=lane: not site.rows("select from pipeline.job where lane = %s and kind <> 'sample' and state <> 'done'", lane), lane
        )
    ended_as_undisturbed(site)


def reversed_twice(site: Site, lane: str) -> None:
    """Takes every message of a lane out and puts it back twice, the last one first."""
    with pika.BlockingConnection(pika.URLParameters(site.place.rabbit.url)) as connection:
        channel = connection.channel()
        bodies: list[bytes] = []
        while (got := channel.basic_get(queue_of(site, lane), auto_ack=True))[0] is not None:
            bodies.append(got[2] or b"")
        assert len(bodies) > 1
        for body in [*reversed(bodies), *reversed(bodies)]:
            channel.basic_publish("", queue_of(site, lane), body, pika.BasicProperties(delivery_mode=2))


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_frozen_past_its_lease_and_its_commit_is_refused(site: Site, name: str) -> None:
    """It holds a lease when it is frozen; another does its job meanwhile, and it finds its lease gone when it goes on."""
    lane = LANES[name]
    site.start("api", *(other for other in WORKERS if other != name))
    site.start_dying(name, at="after the lease", freezes=True)
    site.capture()
    until(lambda: site.died(name), "its freezing")
    frozen = site.children[name]
    taken = site.rows("select id, fencing_token from pipeline.job where lane = %s and state = 'leased'", lane)
    assert taken
    site.start(name)
    site.quiet()
    for job in taken:
        again = site.rows("select state, fencing_token from pipeline.job where id = %s", job["id"])
        assert again[0]["state"] == "done"
        assert again[0]["fencing_token"] > job["fencing_token"]
    frozen.freeze(frozen=False)
    until(lambda: "lease lost" in site.log(name), "the refusal of its commit")
    frozen.end()
    assert frozen.wait(20)
    ended_as_undisturbed(site)


def test_a_worker_is_frozen_in_its_transaction_and_its_locks_are_taken_from_it(site: Site) -> None:
    """What it has written and not committed would hold the others up for as long as it is frozen."""
    site.start("api", "learner", "indexer")
    with psycopg.connect(site.database.dsn()) as admin:
        admin.execute("lock table evidence.version in access exclusive mode")
        site.start("ingest")
        site.capture()
        until(lambda: site.rows("select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"), "its wait")
        frozen = site.children["ingest"]
        frozen.freeze(frozen=True)
        admin.rollback()
    site.start("ingest")
    site.quiet()
    frozen.freeze(frozen=False)
    frozen.end()
    assert frozen.wait(20)
    ended_as_undisturbed(site)


def test_the_doctor_sees_a_frozen_worker(site: Site) -> None:
    site.start("api", *WORKERS, "graph")
    until(lambda: not site.doctor(), "a healthy system")
    site.children["learner"].freeze(frozen=True)
    found = until(lambda: site.doctor().get("lane learn"), "the finding")
    assert "last seen" in found["found"]
    assert found["verdict"] == "wrong"
    site.children["learner"].freeze(frozen=False)
    until(lambda: not site.doctor(), "a healthy system")


def test_the_doctor_sees_that_nobody_works_a_lane(site: Site) -> None:
    site.start("api", "ingest", "indexer", "graph")
    site.capture(DIALOGUES[:1])
    found = until(lambda: site.doctor().get("lane learn"), "the finding")
    assert found["mend"] == "start memoranda-learner"
    assert list(site.doctor()) == ["lane learn"]


def test_a_poison_job_ends_dead_with_its_error_and_holds_nobody_up(site: Site) -> None:
    site.run("create function public.poison() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$")
    site.run(
        "create trigger poison before insert on evidence.version for each row"
        " when (new.source_id = '00000000-0000-0000-0000-00000000dead') execute function public.poison()"
    )
    source = "00000000-0000-0000-0000-00000000dead"
    brain = site.rows("select id from access.brain")[0]["id"]
    site.run(
        "insert into evidence.source (id, brain_id, kind, host, external_id) values (%s, %s, 'session', 'test', 'poison')", source, brain
    )
    site.run(
        "insert into evidence.event (brain_id, source_id, key, role, kind, body, digest)"
        " values (%s, %s, decode(repeat('00', 16), 'hex'), 'person', 'prompt', 'poison', decode(repeat('00', 16), 'hex'))",
        brain,
        source,
    )
    site.run(
        "insert into pipeline.job (brain_id, lane, kind, subject_id, max_attempts) values (%s, 'ingest', 'seal', %s, 3)", brain, source
    )
    site.start("api", *WORKERS)
    site.capture(DIALOGUES[:2])
    until(
        lambda: (
            not site.rows("select from pipeline.job where state in ('ready', 'leased') and kind <> 'sample' and subject_id <> %s", source)
        ),
        "the others",
    )
    until(lambda: site.rows("select from pipeline.job where state = 'ready' and attempts > 0"), "a failed attempt")
    assert "error" in site.doctor()["jobs to ingest"]["found"]
    until(lambda: site.rows("select from pipeline.job where state = 'dead'"), "its end")
    dead = site.rows("select attempts, error from pipeline.job where state = 'dead'")
    assert dead == [{"attempts": 3, "error": "error: the database refused this"}]
    assert "failed for good" in site.doctor()["jobs to ingest"]["found"]
    assert "requeue" in site.doctor()["jobs to ingest"]["mend"]
    site.run("drop trigger poison on evidence.version")
    job = site.rows("select id from pipeline.job where state = 'dead'")[0]["id"]
    site.post(f"/v1/brains/main/jobs/{job}/requeue", {}, key="requeue")
    site.quiet()
    assert site.rows("select state, attempts from pipeline.job where id = %s", job) == [{"state": "done", "attempts": 1}]


@pytest.mark.parametrize("hours", [1, -1], ids=["ahead", "behind"])
def test_the_clock_of_one_worker_is_an_hour_off(site: Site, hours: int) -> None:
    site.start("api", "ingest", "indexer")
    site.start("learner", module="tests.flow.faults.wrong_clock", WRONG_SERVICE="learner", WRONG_SECONDS=str(hours * 3600))
    site.capture()
    ended_as_undisturbed(site)
    found = site.doctor()["clock"]
    assert "learner" in found["found"]
    assert ("ahead of" if hours > 0 else "behind") in found["found"]


def test_messages_are_lost_and_several_sweepers_find_them(site: Site) -> None:
    """Every worker sweeps; of those that sweep at once one does, and each lost job is published again once."""
    site.start("api")
    site.capture()
    until(lambda: depth(site, "ingest") == len(DIALOGUES), "messages in the queue")
    with pika.BlockingConnection(pika.URLParameters(site.place.rabbit.url)) as connection:
        connection.channel().queue_purge(queue_of(site, "ingest"))
    site.run("update pipeline.job set published_at = published_at - interval '31 seconds'")
    site.start(*WORKERS, "graph")
    site.quiet()
    assert {row["announcements"] for row in site.rows("select announcements from pipeline.job where lane = 'ingest' and attempts = 1")} <= {
        1,
        2,
    }
    assert sum(site.log(name).count('"swept"') for name in (*WORKERS, "graph")) == 1
    ended_as_undisturbed(site)


@pytest.mark.parametrize(("state", "said"), [("53100", "disk is full"), ("53300", "takes no more connections")])
def test_postgres_answers_that_it_is_full(site: Site, state: str, said: str) -> None:
    """The first five writes of versions and of claims are refused with what Postgres says then."""
    site.run("create sequence public.refusals")
    site.run("grant usage on sequence public.refusals to public")
    site.run(
        "create function public.full() returns trigger language plpgsql as $$ begin"
        f" if nextval('public.refusals') <= 5 then raise exception 'full' using errcode = '{state}'; end if; return null; end $$"
    )
    for table in ("evidence.version", "ledger.claim"):
        site.run(f"create trigger refusing before insert on {table} for each statement execute function public.full()")
    site.start("api", *WORKERS)
    site.capture()
    until(lambda: site.rows("select from pipeline.job where state = 'ready' and error like %s", f"%{said}%"), "its words")
    assert said in site.doctor()["jobs to ingest"]["found"]
    ended_as_undisturbed(site)


def test_postgres_has_no_connection_left_for_a_worker(site: Site) -> None:
    site.start("api", *WORKERS)
    site.capture(DIALOGUES[:1])
    site.quiet()
    site.run("alter role memoranda_learner connection limit 0")
    site.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'memoranda_learner' and datname = current_database()")
    try:
        site.capture(DIALOGUES[1:])
        until(lambda: site.health("learner")["status"] != "ready", "its trouble")
        found = until(lambda: site.doctor().get("lane learn"), "the doctor's finding")
        assert "cut off from the database" in found["found"]
    finally:
        site.run("alter role memoranda_learner connection limit -1")
    ended_as_undisturbed(site)


def test_sigterm_under_load(site: Site) -> None:
    """Each worker is told to end while it works; it drains within its grace period, and what it had not begun is done by the next."""
    site.start("api", *WORKERS)
    site.capture()
    for name in WORKERS:
        until(lambda name=name: site.rows("select from pipeline.job where lane = %s and state in ('leased', 'done')", LANES[name]), name)
        begun = time.monotonic()
        site.children[name].end()
        assert site.children[name].wait(12), f"{name} did not end within its grace period"
        assert site.children[name].code == 0
        assert time.monotonic() - begun < 12
        assert not site.rows("select from pipeline.job where lane = %s and state = 'leased'", LANES[name])
    assert site.rows("select state, count(*) as n from pipeline.worker group by 1") == [{"state": "stopped", "n": 3}]
    ended_as_undisturbed(site)


def test_a_worker_that_cannot_finish_in_its_grace_period_gives_its_job_back(site: Site) -> None:
    site.more["MEMORANDA_GRACE_SECONDS"] = "1"
    site.start("api", "ingest")
    with psycopg.connect(site.database.dsn()) as admin:
        admin.execute("lock table evidence.version in access exclusive mode")
        site.capture()
        until(lambda: site.rows("select from pipeline.job where state = 'leased'"), "a lease")
        site.children["ingest"].end()
        until(lambda: not site.rows("select from pipeline.job where state = 'leased'"), "the jobs given back")
        assert site.rows("select distinct attempts from pipeline.job where kind = 'seal'") == [{"attempts": 0}]
        admin.rollback()
    assert site.children["ingest"].wait(20)
    site.start(*WORKERS)
    ended_as_undisturbed(site)


def test_services_start_in_any_order_and_say_what_they_wait_for(place: Place, site: Site) -> None:
    place.rabbit.stop()
    place.postgres.stop()
    try:
        site.start("ingest", "learner", "indexer", "api")
        waiting = until(lambda: _waiting(site.health("ingest")), "what it waits for")
        assert waiting["status"] == "not ready"
        assert "database" in waiting["checks"]["database"]
        assert site.health("ingest", "live")["status"] == "live"
    finally:
        place.rabbit.start()
        place.restart_postgres(kill=False)
    site.capture()
    until(lambda: all(site.health(name)["status"] == "ready" for name in WORKERS), "ready workers")
    ended_as_undisturbed(site)


def _waiting(health: dict[str, Any]) -> dict[str, Any] | None:
    return health if health["checks"].get("database", "ok") not in ("ok", "not reached yet") else None


def test_a_trace_goes_on_from_the_request_to_the_claim(site: Site) -> None:
    """The row and the message of each job carry the trace of the request that caused it."""
    trace = uuid.uuid4().hex
    site.start("api")
    body = {
        "source": {"host": "test", "external_id": "traced", "kind": "session", "title": "traced"},
        "events": [{"key": "1", "role": "person", "kind": "prompt", "text": "billing.port = 8080"}],
    }
    site.post("/v1/brains/main/captures", body, key="traced", traceparent=f"00-{trace}-00f067aa0ba902b7-01")
    until(lambda: depth(site, "ingest") == 1, "the message")
    with pika.BlockingConnection(pika.URLParameters(site.place.rabbit.url)) as connection:
        message = connection.channel().basic_get(queue_of(site, "ingest"))[2] or b""
    assert trace.encode() in message
    site.start(*WORKERS)
    site.quiet()
    traces = site.rows("select lane, traceparent from pipeline.job where kind <> 'sample'")
    assert {row["lane"] for row in traces} == {"ingest", "learn", "index"}
    assert {row["traceparent"][3:35] for row in traces} == {trace}
    audited = site.rows("select traceparent from audit.entry where traceparent is not null")
    assert trace in {row["traceparent"][3:35] for row in audited}


def test_one_brain_that_floods_a_lane_does_not_starve_another(site: Site) -> None:
    token = second_brain(site)
    brain = site.rows("select id from access.brain where slug = 'main'")[0]["id"]
    site.start("api", "ingest")
    until(lambda: site.health("ingest")["status"] == "ready", "a ready worker")
    site.run(
        "insert into pipeline.job (brain_id, lane, kind, subject_id)"
        " select %s, 'ingest', 'seal', gen_random_uuid() from generate_series(1, 5000)",
        brain,
    )
    until(lambda: site.rows("select from pipeline.job where state = 'done' limit 1"), "the flood's first")
    site.capture([("one", ["other.port = 1"])], brain="other", token=token)
    until(lambda: site.rows("select from evidence.version"), "the other brain's version")
    waiting = site.rows("select count(*) as n from pipeline.job where state in ('ready', 'leased') and brain_id = %s", brain)[0]["n"]
    assert waiting > 2000, "the flood was over before: nothing is shown"
