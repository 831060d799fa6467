"""Rules: what a person turned down stays down, whoever repeats it, however it is spelt, in whatever text."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import psycopg
import pytest

from memoranda.domain.evidence import Scope
from memoranda.errors import BannedValue, Forbidden
from tests.world import World

SPELLINGS = ["8080", "8,080", " 8080 ", "'8080'", "8_080", "８０８０", "8080.", "8080.0", "+8080"]


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_rejected_value_is_blocked_in_every_spelling_from_every_writer(world: World, spelling: str) -> None:
    world.capture("billing-service.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    told = world.propose("Billing Service", "PORT", spelling)
    assert told["admission"] == "blocked_by_rule"
    world.capture(f"billing_service.Port = {spelling}", session="again")
    for mode in ("accepted", "operational", "investigation"):
        assert world.values(mode) == []


@pytest.mark.guarantee(1)
def test_a_rejected_value_stays_rejected_after_its_text_was_erased(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "reject")
    world.decide(claim, "erase")
    assert world.propose("billing", "port", "8,080")["admission"] == "blocked_by_rule"
    world.capture("again\nbilling.port = 8080", session="after")
    assert world.values("investigation") == []
    assert {row["withheld"] for row in world.chunks() if row["external_id"] == "after"} == {"repeats_rejected_value"}


@pytest.mark.guarantee(1)
def test_a_rejected_value_stays_rejected_when_every_index_is_rebuilt(world: World) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "correct", value="9090")
    world.run(f"reindex database {world.database.name}")
    with world.admin() as admin:
        admin.execute("truncate ledger.revision_lexeme, evidence.chunk_lexeme")
        admin.execute("select set_config('memoranda.brain', %s, false)", [str(world.brain_id)])
        admin.execute("select ledger.index_revision(r) from ledger.revision r")
        admin.execute("select evidence.index_chunks(id) from evidence.version")
    with world.lens("investigation") as gateway:
        found = gateway.execute(
            "select v.value, v.withheld from lens.search_revisions('billing port 8080', 50) s join lens.revision v on v.id = s.revision_id"
        ).fetchall()
        texts = gateway.execute("select v.withheld from lens.search_chunks('8080', 50) s join lens.chunk v on v.id = s.chunk_id").fetchall()
    assert [row["value"] for row in found] == ["9090"]
    assert {row["withheld"] for row in texts} == {"repeats_rejected_value"}


@pytest.mark.guarantee(1)
@pytest.mark.parametrize(
    "text",
    [
        "the billing port is 8080",
        "BILLING listens: port=8,080;",
        'config: {"billing": {"port": 8080}}',
        "billingPort: 8080",
        "billing/port -> ８０８０",
        "we set the port\nof billing\nto 8080",
    ],
)
def test_raw_text_that_repeats_a_rejected_value_is_withheld_by_words_and_by_meaning(world: World, text: str) -> None:
    world.capture([("tool", text)], session="before")
    world.capture("billing.port = 8080", session="claim")
    world.decide(world.claim_of("8080"), "reject")
    world.capture([("assistant", text)], session="after")
    withheld = {row["external_id"]: row["withheld"] for row in world.chunks()}
    assert withheld["before"] == withheld["after"] == "repeats_rejected_value"


@pytest.mark.parametrize(
    "text", ["the billing port is 80", "billing port 18080", "the port is 8080", "billing: 8080", "billing port 10.0.0.8080"]
)
def test_text_that_does_not_say_the_rejected_value_of_that_subject_is_shown(world: World, text: str) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    world.capture([("tool", text)], session="other")
    assert [row["withheld"] for row in world.chunks() if row["external_id"] == "other"] == [None]


def test_a_rejected_80_does_not_hide_8080(world: World) -> None:
    world.capture("billing.port = 80")
    world.decide(world.claim_of("80"), "reject")
    world.capture([("tool", "billing port 8080")], session="other")
    assert world.propose("billing", "port", "8080")["admission"] == "proposed"
    assert [row["withheld"] for row in world.chunks() if row["external_id"] == "other"] == [None]


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("rule_first", [True, False])
def test_a_rejected_value_said_across_the_edge_of_two_chunks_is_withheld_in_both(world: World, rule_first: bool) -> None:
    filler = "\n".join(f"line {number} says nothing of interest at all" for number in range(44))
    text = f"{filler}\nthe port that billing uses,\nas was said, would be\n8080 in the end\n{filler}"

    def reject() -> None:
        world.capture("billing.port = 8080", session="claim")
        world.decide(world.claim_of("8080"), "reject")

    if rule_first:
        reject()
    cut = text.index("\n8080 in the end")
    pad = "x" * max(0, 2000 - cut)
    world.capture([("tool", pad + text)], session="long")
    if not rule_first:
        reject()
    pieces = [row for row in world.chunks("history") if row["external_id"] == "long"]
    first = next(row for row in pieces if "billing uses" in row["text"])
    last = next(row for row in pieces if "8080 in the end" in row["text"])
    assert first["id"] != last["id"], "the text was to be cut between the name and the value"
    withheld = {row["id"]: row["withheld"] for row in world.chunks()}
    assert withheld[first["id"]] == withheld[last["id"]] == "repeats_rejected_value"


def test_a_rule_covers_the_scope_and_the_period_of_what_was_rejected(world: World) -> None:
    shop, desk = Scope(repositories=("shop",)), Scope(repositories=("desk",))
    world.capture("billing.port = 8080", scope=shop)
    world.decide(world.claim_of("8080"), "reject")
    assert world.propose("billing", "port", "8080", scope=desk)["admission"] == "proposed"
    assert world.propose("billing", "port", "8080", scope=shop)["admission"] == "blocked_by_rule"
    assert world.propose("billing", "port", "8080")["admission"] == "blocked_by_rule"


def test_a_later_period_is_not_banned_with_an_earlier_one(world: World) -> None:
    day = [datetime(2026, month, 1, tzinfo=UTC) for month in range(1, 5)]
    told = world.propose("billing", "port", "8080", valid_from=day[0], valid_to=day[1])
    world.decide(told["claim_id"], "reject")
    assert world.propose("billing", "port", "8080", valid_from=day[2])["admission"] == "proposed"
    assert world.propose("billing", "port", "8080", valid_from=day[0])["admission"] == "blocked_by_rule"


def test_the_denial_of_a_rejected_value_is_not_banned(world: World) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    assert world.propose("billing", "port", "8080", polarity="denies")["admission"] == "proposed"


def test_a_reviewer_who_accepts_a_banned_value_is_told_to_revalidate(world: World) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    told = world.propose("billing", "port", "8080")
    with pytest.raises(BannedValue, match="revalidate"):
        world.decide(told["claim_id"], "accept")


def test_a_revalidated_claim_is_exempt_and_every_other_copy_stays_banned(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "reject")
    world.decide(claim, "revalidate", reason="the firewall was changed")
    assert world.values() == ["8080"]
    assert world.propose("billing", "port", "8080")["admission"] == "blocked_by_rule"
    assert [row["withheld"] for row in world.chunks() if row["external_id"] == "session-1"] == [None]


def test_a_withdrawn_claim_is_banned_until_it_is_restored(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "withdraw")
    assert world.withheld() == {"withdrawn": 1}
    assert world.propose("billing", "port", "8080")["admission"] == "blocked_by_rule"
    world.decide(claim, "restore")
    assert world.values() == ["8080"]


@pytest.mark.guarantee(1)
def test_no_role_can_slip_a_banned_value_past_the_trigger(world: World) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    chunk = world.rows("select id from evidence.chunk limit 1")[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        claim, revision = uuid.uuid4(), uuid.uuid4()
        learner.execute("insert into ledger.claim (id, brain_id) values (%s, %s)", [claim, world.brain_id])
        learner.execute(
            "insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line) values (%s, %s, 1, %s, 1, 1)",
            [world.brain_id, revision, chunk],
        )
        row = learner.execute(
            """insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, review, acceptance_policy,
                 admission, origin, subject_key, predicate_key, value_key, family, rule_key, ordinal, recorded_at, said_at,
                 author_role, digest)
               values (%s, %s, %s, 'fact', 'Billing', 'port', '8080', 's', 'accepted', 'person_stated', 'accepted_by_policy', 'literal',
                 'forged', 'forged', 'forged', 'f', 'f', 99, '2000-01-01', '2000-01-01', 'person', 'd')
               returning review, admission, acceptance_policy, ordinal, value_key""",
            [revision, world.brain_id, claim],
        ).fetchone()
        assert row == ("proposed", "blocked_by_rule", None, 1, "num:8080")


def test_only_a_person_makes_a_rule(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    with pytest.raises(Forbidden, match="signed-in person"):
        world.decide(claim, "reject", by=world.agent)
    revision = world.rows("select id from ledger.revision")[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="browser session"):
            command.execute(
                """insert into ledger.rule (brain_id, revision_id, cause, rule_key, names, value_gram, value_words, value_length,
                     repositories,
                     areas, environments, made_by, recorded_at)
                   values (%s, %s, 'rejected', '', '{}', 0, '{}', 0, '{}', '{}', '{}', %s, now())""",
                [world.brain_id, revision, world.agent_id],
            )


def test_a_cited_line_is_withheld_for_what_it_says_itself_and_not_for_its_neighbours(world: World) -> None:
    world.capture([("person", "billing.port = 8080"), ("person", "billing.owner = payments"), ("person", "it listens on 8,080")])
    world.decide(world.claim_of("8080"), "correct", value="9090")
    world.propose("billing", "note", "see above", by=world.person)
    with world.lens("investigation") as gateway:
        rows = gateway.execute(
            "select s.excerpt, s.withheld from lens.support s join lens.revision r on r.id = s.revision_id"
            " where r.value = 'payments' and r.is_latest"
        ).fetchall()
    assert rows == [{"excerpt": "billing.owner = payments", "withheld": None}]
    revision, chunk = uuid.uuid4(), world.rows("select id from evidence.chunk where text like '%%it listens%%'")[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        claim = uuid.uuid4()
        learner.execute("insert into ledger.claim (id, brain_id) values (%s, %s)", [claim, world.brain_id])
        learner.execute(
            "insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line) values (%s, %s, 1, %s, 3, 3)",
            [world.brain_id, revision, chunk],
        )
        learner.execute(
            """insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, review, admission, origin,
                 family, rule_key, ordinal, recorded_at, said_at, author_role, digest)
               values (%s, %s, %s, 'fact', 'listening', 'state', 'on', 's', 'proposed', 'proposed', 'literal', '', '', 0, now(), now(),
                 'person', '')""",
            [revision, world.brain_id, claim],
        )
    with world.lens("investigation") as gateway:
        rows = gateway.execute("select excerpt, withheld from lens.support where revision_id = %s", [revision]).fetchall()
    assert rows == [{"excerpt": None, "withheld": "repeats_rejected_value"}]


@pytest.mark.guarantee(1)
@pytest.mark.parametrize(
    "line",
    [
        "pay-svc.port = **8080**",
        "pay-svc.port = 8080/tcp",
        "pay-svc.port = 8080 and 8081",
        "pay-svc.port = port 8080 again",
        "pay.svc.port = 8080",
        "paySvc.port = 8080",
        "Remember: the pay-svc port is 8080",
        "Decision: pay-svc port is 8080",
        "Always use port 8080 for pay-svc",
    ],
)
def test_a_rejected_value_in_other_words_is_accepted_by_no_policy_and_not_shown(world: World, line: str) -> None:
    world.capture("pay-svc.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    world.capture(line, session="again")
    for mode in ("accepted", "operational", "investigation"):
        assert world.values(mode) == [], mode


@pytest.mark.guarantee(1)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/opt/cache", "ci cache is at /opt/cache"),
        ("alice@example.com", "the ci cache owner, alice@example.com"),
        ("docker-compose up", "ci cache: run docker compose up"),
        ("us-east-1", "ci cache in us_east_1"),
        ("alpha-beta", "ci cache: alpha beta"),
        ("50%", "ci cache at 50% of it"),
        ("8080", "ci cache: \x1b[32m8080\x1b[0m"),
        ("8080", 'ci cache "x:\\n8080"'),
    ],
)
def test_raw_text_that_repeats_a_value_of_words_and_signs_is_withheld(world: World, value: str, text: str) -> None:
    world.capture(f"ci.cache = {value}", session="claim")
    world.decide(world.claim_of(value), "reject")
    world.capture([("tool", text)], session="after")
    withheld = {row["external_id"]: row["withheld"] for row in world.chunks()}
    assert withheld["claim"] == withheld["after"] == "repeats_rejected_value"


@pytest.mark.guarantee(10)
def test_an_edge_that_comes_later_does_not_change_what_was_answered_before(world: World) -> None:
    world.capture("edge-svc.port = 7070", session="claim")
    world.decide(world.claim_of("7070"), "reject")
    world.capture([("tool", "what edge-svc port is")], session="grows")
    before = world.now()
    shown = [(row["external_id"], row["withheld"]) for row in world.chunks(at=before)]
    world.capture([("tool", "what edge-svc port is"), ("tool", "7070 it is")], session="grows")
    assert [(row["external_id"], row["withheld"]) for row in world.chunks(at=before)] == shown
    assert {row["withheld"] for row in world.chunks() if row["external_id"] == "grows"} == {"repeats_rejected_value"}


def test_a_rejected_denial_bans_no_affirmation_and_hides_no_text(world: World) -> None:
    world.capture("billing.port != 8080", session="denial")
    world.decide(world.claim_of("8080"), "reject")
    world.capture("billing.port = 8080", session="affirmation")
    assert world.values() == ["8080"]
    assert {row["withheld"] for row in world.chunks()} == {None}
    assert world.propose("billing", "port", "8080", polarity="denies")["admission"] == "blocked_by_rule"
