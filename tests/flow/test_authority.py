"""Who may move a claim: the author of a line is data, a token proposes, a person reviews."""

from __future__ import annotations

import uuid
from dataclasses import replace

import psycopg
import pytest

from memoranda.domain.claim import Statement
from memoranda.errors import Forbidden, NotFound, NotSignedIn, SupersedeOwn
from memoranda_api.acting import Credential
from memoranda_api.contribute import Contribution, retract, revise
from tests.databases import Database
from tests.world import World, digest, make

REVISION = """
insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, review, reviewer_id, acceptance_policy,
  admission, origin, family, rule_key, ordinal, recorded_at, said_at, author_role, digest)
values (%(id)s, %(brain)s, %(claim)s, 'fact', 's', 'p', 'v', 'x', 'accepted', %(reviewer)s, %(policy)s, %(admission)s, 'agent', '', '', 0,
  now(), now(), 'person', '')
"""


def _insert(connection: psycopg.Connection[tuple[object, ...]], world: World, *, reviewer: uuid.UUID | None, policy: str | None) -> None:
    chunk = world.rows("select id from evidence.chunk limit 1")[0]["id"]
    claim, revision = uuid.uuid4(), uuid.uuid4()
    connection.execute("insert into ledger.claim (id, brain_id) values (%s, %s)", [claim, world.brain_id])
    connection.execute(
        "insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line) values (%s, %s, 1, %s, 1, 1)",
        [world.brain_id, revision, chunk],
    )
    connection.execute(
        REVISION,
        {
            "id": revision,
            "brain": world.brain_id,
            "claim": claim,
            "reviewer": reviewer,
            "policy": policy,
            "admission": "reviewed" if reviewer else "accepted_by_policy",
        },
    )


@pytest.mark.guarantee(5)
def test_a_reviewer_is_refused_behind_a_token(world: World) -> None:
    world.capture("billing.port = 8080")
    for reviewer in (world.agent_id, world.person_id):
        with psycopg.connect(world.database.dsn("memoranda_command")) as command:
            command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only a person in a browser session can review"):
                _insert(command, world, reviewer=reviewer, policy=None)


@pytest.mark.guarantee(5)
def test_even_the_token_of_a_person_who_is_an_admin_cannot_review(world: World) -> None:
    world.capture("billing.port = 8080")
    world.rows("select access.issue_token(%s, %s, %s, 'admin', true, 'own', null)", digest("own"), world.brain_id, world.person_id)
    with pytest.raises(Forbidden):
        world.decide(world.claim_of("8080"), "accept", by=Credential(digest=digest("own")))
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [digest("own")])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only a person in a browser session can review"):
            _insert(command, world, reviewer=world.person_id, policy=None)


@pytest.mark.guarantee(5)
def test_a_browser_session_without_its_csrf_token_cannot_review(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    for csrf in (None, b"\0" * 32):
        with pytest.raises(Forbidden):
            world.decide(claim, "accept", by=replace(world.person, csrf_digest=csrf))
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.person.digest])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _insert(command, world, reviewer=world.person_id, policy=None)


@pytest.mark.guarantee(5)
def test_a_channel_that_is_only_said_and_not_signed_does_not_count(world: World) -> None:
    world.capture("billing.port = 8080")
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        command.execute(
            "select set_config('memoranda.channel', 'browser', true), set_config('memoranda.role', 'admin', true),"
            " set_config('memoranda.principal', %s, true)",
            [str(world.person_id)],
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="nobody is acting"):
            _insert(command, world, reviewer=world.person_id, policy=None)


@pytest.mark.guarantee(5)
def test_a_worker_cannot_name_a_reviewer(world: World) -> None:
    world.capture("billing.port = 8080")
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only a person"):
            _insert(learner, world, reviewer=world.person_id, policy=None)


@pytest.mark.guarantee(6)
@pytest.mark.parametrize("policy", ["review", "literal", "person_stated"])
@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_what_an_assistant_or_a_tool_wrote_is_accepted_under_no_policy(database: Database, policy: str, role: str) -> None:
    for world in make(database, policy=policy):
        world.capture([(role, "billing.port = 8080")])  # pyright: ignore[reportArgumentType]
        assert world.values() == []
        assert world.withheld() == {"unreviewed": 1}
        with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
            for forged in ("literal", "person_stated", "autonomous"):
                learner.rollback()
                learner.execute("select access.serve(%s)", [world.brain_id])
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="policy"):
                    _insert(learner, world, reviewer=None, policy=forged)


@pytest.mark.parametrize(
    ("policy", "accepted"), [("review", []), ("literal", ["person", "document"]), ("person_stated", ["person"]),
                             ("autonomous", ["person", "document", "tool", "assistant"])],
)  # fmt: skip
def test_each_policy_accepts_the_authors_that_it_names(database: Database, policy: str, accepted: list[str]) -> None:
    for world in make(database, policy=policy):
        for role in ("person", "document", "tool", "assistant"):
            world.capture([(role, f"{role}-thing.state = good")], session=role)  # pyright: ignore[reportArgumentType]
        assert sorted(row["author_role"] for row in world.seen()) == sorted(accepted)


@pytest.mark.guarantee(6)
def test_a_mixed_citation_counts_as_its_least_trusted_line(world: World) -> None:
    world.capture([("person", "billing.port = 8080"), ("assistant", "yes, that is so")])
    chunk = world.rows("select id from evidence.chunk")[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        learner.execute("select access.serve(%s)", [world.brain_id])
        row = learner.execute(
            "insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line, role) "
            "values (%s, %s, 1, %s, 1, 2, 'person') returning role",
            [world.brain_id, uuid.uuid4(), chunk],
        ).fetchone()
        assert row == ("assistant",)
        learner.rollback()


def test_a_contribution_over_a_token_is_by_an_assistant_whatever_it_says(world: World) -> None:
    world.propose("billing", "port", "8080")
    assert [row["author_role"] for row in world.seen("investigation")] == ["assistant"]
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.agent.digest])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="whoever is signed in"):
            command.execute(
                """insert into evidence.chunk (brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles,
                     run_said, digest) select %s, source_id, version_id, 9, 1, 1, 'x', '{1}', '{person}', '{now}', ''
                     from evidence.chunk limit 1""",
                [world.brain_id],
            )


def test_a_reader_can_write_nothing(world: World) -> None:
    with pytest.raises(Forbidden):
        world.propose("billing", "port", "8080", by=world.reader)
    with pytest.raises(Forbidden):
        world.capture("billing.port = 8080", credential=world.reader)
    with psycopg.connect(world.database.dsn("memoranda_command")) as command:
        command.execute("select * from access.act(%s, null, 'main')", [world.reader.digest])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            command.execute("insert into ledger.flag (brain_id, claim_id, made_by, reason) values (%s, %s, %s, 'x')",
                            [world.brain_id, uuid.uuid4(), world.agent_id])  # fmt: skip


def test_a_credential_that_does_not_hold_opens_nothing(world: World) -> None:
    with pytest.raises(NotSignedIn):
        world.propose("billing", "port", "8080", by=Credential(digest=b"\1" * 32))
    world.rows("update access.token set revoked_at = now() returning 1")
    with pytest.raises(NotSignedIn):
        world.propose("billing", "port", "8080")
    world.rows("update access.token set revoked_at = null, expires_at = now() returning 1")
    with pytest.raises(NotSignedIn):
        world.propose("billing", "port", "8080")


def test_an_agent_revises_and_retracts_its_own_proposals_only(world: World) -> None:
    own = world.propose("billing", "port", "8080")["claim_id"]
    other = world.propose("billing", "host", "a", by=world.person)["claim_id"]
    changed = Contribution(statement=Statement(kind="fact", subject="billing", predicate="port", value="9090", sentence="it is 9090"))
    with world.commands.begin(world.agent, "main") as acting:
        revise(acting, own, changed, reason="read it again")
    assert world.values("investigation") == ["a", "9090"]
    with pytest.raises(Forbidden, match="own unreviewed"), world.commands.begin(world.agent, "main") as acting:
        revise(acting, other, changed, reason="x")
    with pytest.raises(Forbidden, match="own unreviewed"), world.commands.begin(world.agent, "main") as acting:
        retract(acting, other, reason="x")
    world.decide(own, "accept")
    with pytest.raises(Forbidden), world.commands.begin(world.agent, "main") as acting:
        retract(acting, own, reason="x")
    with pytest.raises(NotFound), world.commands.begin(world.agent, "main") as acting:
        retract(acting, uuid.uuid4(), reason="x")


def test_an_agent_that_contradicts_its_own_live_claim_is_told_to_revise_it(world: World) -> None:
    own = world.propose("billing", "port", "8080")["claim_id"]
    with pytest.raises(SupersedeOwn) as caught:
        world.propose("billing", "port", "9090")
    assert caught.value.claim_id == str(own)
    assert world.values("investigation") == ["8080"]


def test_a_worker_does_not_touch_what_a_person_reviewed(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "accept")
    world.capture("billing.port = 9090", session="later")
    latest = world.rows(
        "select value, reviewer_id is not null as reviewed from ledger.revision where claim_id = %s order by ordinal desc", claim
    )
    assert latest[0] == {"value": "8080", "reviewed": True}
    assert world.rows("select admission from ledger.revision where value = '9090'") == [{"admission": "uncertain_evidence"}]
    assert world.rows("select count(*) as n from ledger.conflict where closed_at is null") == [{"n": 1}]


def test_every_change_is_audited_with_who_what_why_and_both_digests(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    world.decide(claim, "correct", value="9090", reason="the proxy moved")
    entries = world.rows(
        "select e.action, p.name, e.channel, e.reason, e.before_digest, e.after_digest from audit.entry e join access.principal p"
        " on p.id = e.principal_id where subject_id = %s order by e.id",
        claim,
    )
    digests = [row["digest"] for row in world.rows("select digest from ledger.revision where claim_id = %s order by ordinal", claim)]
    assert [(e["action"], e["name"], e["channel"], e["reason"]) for e in entries] == [
        ("propose", "memoranda_learner", "service", None),
        ("review", "Ada", "browser", "the proxy moved"),
    ]
    assert [(e["before_digest"], e["after_digest"]) for e in entries] == [(None, digests[0]), (digests[0], digests[1])]
