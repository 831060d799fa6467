"""Capture: what is acknowledged is stored once, however often it comes, and what was erased does not come back."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import psycopg
import pytest

from memoranda.domain.claim import Statement
from memoranda.errors import Erased, KeyReused
from memoranda.store import jobs, ledger
from memoranda_api.acting import Outcome
from memoranda_api.contribute import Contribution, contribute
from tests.world import World


def counts(world: World) -> dict[str, int]:
    return world.rows(
        "select (select count(*) from evidence.event) as events, (select count(*) from evidence.chunk) as chunks,"
        " (select count(*) from ledger.revision) as revisions, (select count(*) from ledger.support) as supports"
    )[0]


def test_the_same_session_captured_twice_adds_nothing(world: World) -> None:
    first = world.capture("billing.port = 8080")
    before = counts(world)
    second = world.capture("billing.port = 8080")
    assert (first["new"], first["duplicate"]) == (1, 0)
    assert (second["new"], second["duplicate"]) == (0, 1)
    assert counts(world) == before


def test_a_longer_copy_adds_only_what_is_new_and_goes_on_in_its_lines(world: World) -> None:
    world.capture([("person", "one"), ("assistant", "two")])
    told = world.capture([("person", "one"), ("assistant", "two"), ("person", "billing.port = 8080")])
    assert (told["new"], told["duplicate"]) == (1, 2)
    lines = world.rows("select first_line, last_line, text from evidence.chunk order by ordinal")
    assert [(row["first_line"], row["text"]) for row in lines] == [(1, "one\ntwo"), (3, "billing.port = 8080")]


def test_an_event_copied_into_another_session_adds_no_second_support(world: World) -> None:
    world.capture("billing.port = 8080", session="first", keys=["uuid-1"])
    told = world.capture("billing.port = 8080", session="resumed", keys=["uuid-1"])
    assert told["new"] == 0
    assert counts(world)["supports"] == 1


def test_a_key_that_comes_back_with_other_content_is_reported_and_the_rest_is_stored(world: World) -> None:
    world.capture([("person", "a")], keys=["k1"])
    told = world.capture([("person", "other"), ("person", "billing.port = 8080")], keys=["k1", "k2"])
    assert told["differing"] == [{"index": 0, "key": "k1"}]
    assert (told["new"], told["duplicate"]) == (1, 0)
    assert world.values() == ["8080"]
    again = world.capture([("person", "other"), ("person", "billing.port = 8080")], keys=["k1", "k2"])
    assert again["differing"] == told["differing"]
    assert (again["new"], again["duplicate"]) == (0, 1)


def test_a_document_that_changed_replaces_what_it_said(world: World) -> None:
    world.capture([("document", "billing.host = alpha")], session="README.md", kind="document", keys=["v1"])
    world.capture([("document", "billing.host = beta")], session="README.md", kind="document", keys=["v2"])
    pieces = {row["text"]: row["withheld"] for row in world.chunks()}
    assert pieces == {None: "superseded", "billing.host = beta": None}


@pytest.mark.guarantee(7)
def test_a_capture_that_was_acknowledged_is_there_when_nothing_was_published(world: World) -> None:
    world.capture("billing.port = 8080", session="x")
    assert world.rows("select count(*) as n from evidence.event")[0]["n"] == 1
    assert world.broker.rung


@pytest.mark.guarantee(7)
def test_two_clients_that_send_one_session_at_once_store_its_union_once(world: World) -> None:
    lines = [("person", f"line {number}") for number in range(40)]
    gate = threading.Barrier(4)
    failures: list[BaseException] = []

    def send(offset: int) -> None:
        try:
            gate.wait(20)
            for start in range(offset, 40, 4):
                part = lines[start : start + 8]
                world.capture(part, keys=[f"k{start + place}" for place in range(len(part))])  # pyright: ignore[reportArgumentType]
        except BaseException as error:  # noqa: BLE001  told to the test below
            failures.append(error)

    threads = [threading.Thread(target=send, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    world.work()
    assert world.rows("select count(*) as n from evidence.event")[0]["n"] == 40
    text = "\n".join(row["text"] for row in world.rows("select text from evidence.chunk order by ordinal"))
    assert sorted(text.split("\n")) == sorted(line for _, line in lines)


@pytest.mark.guarantee(13)
@pytest.mark.parametrize("times", [1, 5])
def test_recalled_text_that_comes_back_adds_no_claim_and_no_support(world: World, times: int) -> None:
    world.capture("billing.port = 8080")
    before = counts(world)
    for number in range(times):
        world.capture([("memoranda", "billing.port = 8080\nshop.color = red")], session=f"echo-{number}")
    after = counts(world)
    assert (after["revisions"], after["supports"]) == (before["revisions"], before["supports"])
    assert world.rows("select distinct state from pipeline.job where kind <> 'sample'") == [{"state": "done"}]
    with world.lens("investigation") as gateway:
        found = gateway.execute("select count(*) as n from lens.search_chunks('color red', 50)").fetchone()
    assert found == {"n": 0}


@pytest.mark.guarantee(13)
def test_the_store_refuses_recalled_text_as_evidence_from_any_writer(world: World) -> None:
    world.capture([("memoranda", "billing.port = 8080")])
    chunk = world.rows("select id from evidence.chunk")[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        with pytest.raises(psycopg.Error, match="recalled text is no evidence"):
            learner.execute(
                "insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line)"
                " values (%s, gen_random_uuid(), 1, %s, 1, 1)",
                [world.brain_id, chunk],
            )


def test_an_erased_source_leaves_no_text_and_is_not_taken_in_again(world: World) -> None:
    told = world.capture([("person", "billing.port = 8080"), ("person", "canary words")])
    world.capture("other.thing = stays", session="other")
    with world.commands.begin(world.person, "main") as acting:
        ledger.erase_source(acting.connection, told["source_id"], reason="asked to")
    assert world.values() == ["stays"]
    for table in (
        "evidence.event",
        "evidence.chunk",
        "evidence.chunk_lexeme",
        "ledger.revision",
        "ledger.revision_lexeme",
        "ledger.receipt",
    ):
        assert "canary" not in str(world.rows(f"select * from {table}"))
        assert "8080" not in str([{k: v for k, v in row.items() if k in ("body", "text", "value", "statement", "lexemes")}
                                  for row in world.rows(f"select * from {table}")])  # fmt: skip
    with pytest.raises(Erased):
        world.capture("billing.port = 8080")
    assert world.capture("billing.port = 8080", session="copy", keys=["session-1/0"])["new"] == 0
    assert world.values() == ["stays"]


def test_a_claim_with_support_from_elsewhere_outlives_the_erasure_of_one_source(world: World) -> None:
    first = world.capture("billing.port = 8080", session="one")
    world.capture("billing.port = 8080", session="two")
    with world.commands.begin(world.person, "main") as acting:
        ledger.erase_source(acting.connection, first["source_id"], reason="asked to")
    assert world.values() == ["8080"]


def test_an_erased_latest_revision_brings_no_older_one_back(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "correct", value="9090")
    world.decide(claim, "erase")
    for mode in ("accepted", "investigation", "history"):
        assert world.values(mode) == []
    assert world.withheld("history") == {"erased": 1}


@pytest.mark.guarantee(8)
def test_a_delayed_worker_cannot_write_an_erased_claim_or_cite_an_erased_line(world: World) -> None:
    told = world.capture("billing.port = 8080")
    version = world.rows("select id from evidence.version")[0]["id"]
    world.decide(world.claim_of("8080"), "erase")
    with world.commands.begin(world.person, "main") as acting:
        ledger.erase_source(acting.connection, told["source_id"], reason="asked to")
    with world.connections.transaction("learner", timeout=5) as connection:
        job = jobs.add(connection, brain_id=world.brain_id, lane="learn", kind="learn", subject_id=version)
    assert world.learner.run(job) == "done"
    assert world.values("history") == []


def _contribute(world: World, key: str, value: str) -> Outcome:
    statement = Statement(kind="fact", subject="billing", predicate="port", value=value, sentence="x")
    proposal = Contribution(statement=statement)
    return world.commands.run(
        world.agent, "main", command="contribute", key=key, payload=value.encode(), work=lambda acting: contribute(acting, proposal)
    )  # fmt: skip


@pytest.mark.guarantee(11)
def test_a_replayed_command_returns_its_first_result_and_does_nothing(world: World) -> None:
    first, second = _contribute(world, "k", "8080"), _contribute(world, "k", "8080")
    assert (first.replayed, second.replayed) == (False, True)
    assert second.result["revision_id"] == str(first.result["revision_id"])
    assert counts(world)["revisions"] == 1


@pytest.mark.guarantee(11)
def test_a_replayed_key_with_another_payload_is_refused(world: World) -> None:
    _contribute(world, "k", "8080")
    with pytest.raises(KeyReused):
        _contribute(world, "k", "9090")
    assert counts(world)["revisions"] == 1


@pytest.mark.guarantee(11)
def test_two_calls_with_one_key_at_once_have_one_effect_and_one_result(world: World) -> None:
    gate = threading.Barrier(6)
    results: list[Outcome] = []

    def call() -> None:
        gate.wait(20)
        results.append(_contribute(world, "k", "8080"))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcome.replayed for outcome in results) == [False, *[True] * 5]
    assert len({str(outcome.result["revision_id"]) for outcome in results}) == 1
    assert counts(world)["revisions"] == 1


def test_a_command_that_failed_leaves_its_key_unused(world: World) -> None:
    with pytest.raises(ValueError, match="broken"):
        world.commands.run(
            world.agent, "main", command="contribute", key="k", payload=b"1", work=lambda _: (_ for _ in ()).throw(ValueError("broken"))
        )
    assert not _contribute(world, "k", "8080").replayed


@pytest.mark.guarantee(9)
def test_derived_memory_falls_with_its_least_input(world: World) -> None:
    world.capture([("person", "billing.port = 8080"), ("person", "billing.host = alpha")])
    inputs = [row["id"] for row in world.rows("select id from ledger.revision order by recorded_at")]
    with world.admin() as admin:
        admin.execute("select * from access.act(%s, %s, 'main')", [world.person.digest, world.person.csrf_digest])
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, %s, 'main')", [world.person.digest, world.person.csrf_digest])
        command.execute("insert into ledger.claim (id, brain_id) values ('00000000-0000-7000-8000-000000000001', %s)", [world.brain_id])
        for place, revision in enumerate(inputs):
            command.execute(
                "insert into ledger.derivation (brain_id, revision_id, ordinal, input_revision_id)"
                " values (%s, '00000000-0000-7000-8000-000000000002', %s, %s)",
                [world.brain_id, place, revision],
            )
        command.execute(
            """insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, review, reviewer_id,
                 admission,
                 origin, family, rule_key, ordinal, recorded_at, said_at, author_role, digest)
               values ('00000000-0000-7000-8000-000000000002', %s, '00000000-0000-7000-8000-000000000001', 'handover', 'billing', 'summary',
                 'alpha on 8080', 'It runs on alpha, port 8080.', 'accepted', %s, 'reviewed', 'person', '', '', 0, now(), now(),
                 'person', '')""",
            [world.brain_id, world.person_id],
        )
    assert "alpha on 8080" in world.values()
    world.decide(world.claim_of("8080"), "reject")
    for mode in ("accepted", "investigation"):
        assert "alpha on 8080" not in world.values(mode)
    assert world.withheld("investigation")["input_not_eligible"] == 1


def test_a_time_without_a_zone_or_in_the_far_past_does_no_harm(world: World) -> None:
    world.capture("billing.port = 8080", at=datetime(1970, 1, 1, tzinfo=UTC))
    assert world.values() == ["8080"]
