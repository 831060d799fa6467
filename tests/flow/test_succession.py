"""Three times: when it held, when it was learned, when it was said; and what replaces what."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from memoranda.domain.evidence import Role, Scope
from memoranda_api.review import Decision, review
from tests.world import World

DAY = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 15)]


def say(world: World, line: str, *, day: int, role: Role = "person", scope: Scope | None = None) -> None:
    world.capture([(role, line)], session=f"{role}-{day}-{line}", at=DAY[day], scope=scope or Scope())


@pytest.mark.guarantee(12)
def test_npm_then_pnpm_then_npm_again_leaves_npm(world: World) -> None:
    for day, tool in ((1, "npm"), (4, "pnpm"), (9, "npm")):
        say(world, f"shop.package-manager = {tool}", day=day)
        assert world.values() == [tool]
    assert world.values(when=DAY[2]) == ["npm"]
    assert world.values(when=DAY[6]) == ["pnpm"]
    assert world.values(when=DAY[10]) == ["npm"]
    assert world.rows("select count(*) as n from ledger.conflict where closed_at is null") == [{"n": 0}]


@pytest.mark.guarantee(12)
def test_what_was_said_earlier_and_imported_late_is_history_and_does_not_win(world: World) -> None:
    say(world, "shop.package-manager = pnpm", day=8)
    say(world, "shop.package-manager = npm", day=2)
    assert world.values() == ["pnpm"]
    assert world.values(when=DAY[4]) == ["npm"]
    assert world.withheld() == {"superseded": 1}


@pytest.mark.guarantee(12)
def test_at_every_knowledge_time_and_fact_time_exactly_one_value_holds(world: World) -> None:
    times: list[datetime] = []
    for day, tool in ((5, "npm"), (9, "pnpm"), (2, "yarn"), (12, "bun")):
        say(world, f"shop.package-manager = {tool}", day=day)
        times.append(world.now())
    for at in times:
        for when in DAY:
            assert len(world.values(at=at, when=when)) == 1, (at, when)


def test_an_author_of_a_lower_rank_does_not_replace_and_does_not_cloud(world: World) -> None:
    say(world, "billing.port = 8080", day=1)
    say(world, "billing.port = 9090", day=5, role="assistant")
    assert world.values() == ["8080"]
    assert world.rows("select admission from ledger.revision where value = '9090'") == [{"admission": "uncertain_evidence"}]
    assert world.seen("accepted")[0]["disputed"]


def test_a_person_replaces_what_an_assistant_proposed(world: World) -> None:
    say(world, "billing.port = 9090", day=1, role="assistant")
    say(world, "billing.port = 8080", day=5)
    assert world.values() == ["8080"]
    assert world.withheld() == {"superseded": 1}


def test_the_order_of_import_does_not_change_what_holds(world: World) -> None:
    say(world, "billing.port = 9090", day=5, role="assistant")
    say(world, "billing.port = 8080", day=1)
    assert world.values() == ["8080"]


def test_a_person_who_contradicts_what_was_reviewed_puts_it_in_conflict(world: World) -> None:
    say(world, "billing.port = 8080", day=1)
    world.decide(world.claim_of("8080"), "accept")
    say(world, "billing.port = 9090", day=5)
    assert world.values() == []
    assert world.withheld() == {"in_conflict": 1, "unreviewed": 1}
    assert sorted(world.values("investigation")) == ["8080", "9090"]


@pytest.mark.parametrize(("how", "left"), [("keep_one", ["9090"]), ("keep_both", ["8080"]), ("retract", []), ("replace", ["7070"])])
def test_a_person_ends_a_conflict_in_each_way(world: World, how: str, left: list[str]) -> None:
    say(world, "billing.port = 8080", day=1)
    world.decide(world.claim_of("8080"), "accept")
    say(world, "billing.port = 9090", day=5)
    conflict = world.rows("select id from ledger.conflict where closed_at is null")[0]["id"]
    world.resolve(conflict, how, keep=world.claim_of("9090"), value="7070")
    assert world.values() == left
    closed = world.rows("select resolution, closed_at is not null as closed, resolved_by from ledger.conflict where id = %s", conflict)
    assert closed == [{"resolution": how, "closed": True, "resolved_by": world.person_id}]
    assert world.rows("select count(*) as n from ledger.conflict where closed_at is null") == [{"n": 0}]


def test_claims_of_other_repositories_do_not_meet(world: World) -> None:
    say(world, "billing.port = 8080", day=1, scope=Scope(repositories=("shop",)))
    say(world, "billing.port = 9090", day=2, scope=Scope(repositories=("desk",)))
    assert sorted(world.values()) == ["8080", "9090"]
    assert world.values(scope=Scope(repositories=("desk",))) == ["9090"]


def test_a_second_session_that_says_the_same_adds_support_and_no_claim(world: World) -> None:
    say(world, "billing.port = 8080", day=1)
    say(world, "Billing.Port = 8,080", day=3)
    assert world.values() == ["8080"]
    with world.lens() as gateway:
        excerpts = gateway.execute(
            "select s.excerpt from lens.support s join lens.revision r on r.id = s.revision_id where r.is_latest"
        ).fetchall()
    assert [row["excerpt"] for row in excerpts] == ["billing.port = 8080", "Billing.Port = 8,080"]


def test_a_denial_and_an_affirmation_of_one_value_contradict(world: World) -> None:
    say(world, "Always squash commits", day=1)
    world.decide(world.claim_of("squash commits"), "accept")
    say(world, "Never squash commits", day=4)
    assert world.rows("select count(*) as n from ledger.conflict where closed_at is null") == [{"n": 1}]


def test_many_values_of_a_predicate_of_cardinality_many_stand_together(world: World) -> None:
    say(world, "Decision: use Postgres", day=1)
    say(world, "Decision: deploy with Kustomize", day=2)
    assert sorted(world.values()) == ["deploy with Kustomize", "use Postgres"]


@pytest.mark.guarantee(10)
def test_answers_as_of_a_time_stay_as_they_were_given(world: World) -> None:
    answers: list[tuple[datetime, list[str], dict[str, int]]] = []

    def note() -> None:
        at = world.now()
        answers.append((at, world.values(at=at), world.withheld(at=at)))

    note()
    say(world, "billing.port = 8080", day=1)
    note()
    say(world, "billing.port = 9090", day=5)
    note()
    world.decide(world.claim_of("9090"), "correct", value="7070")
    note()
    say(world, "billing.port = 9090", day=6)
    note()
    world.decide(world.claim_of("7070"), "withdraw")
    note()
    for at, values, withheld in answers:
        assert (world.values(at=at), world.withheld(at=at)) == (values, withheld)


@pytest.mark.guarantee(10)
def test_a_reader_waits_for_a_writer_that_took_its_time_before_so_that_its_answer_can_be_repeated(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    started, released = threading.Event(), threading.Event()
    answers: list[tuple[datetime, list[str]]] = []

    def write_slowly() -> None:
        with world.commands.begin(world.person, "main") as acting:
            review(acting, claim, Decision(action="correct", reason="slow", value="9090"))
            started.set()
            assert released.wait(20)

    def read() -> None:
        with world.lens() as gateway:
            known = gateway.execute("select lens.known_at() as at").fetchone()
            assert known is not None
            answers.append(
                (known["at"], [r["value"] for r in gateway.execute("select value from lens.revision where withheld is null").fetchall()])
            )

    writer, reader = threading.Thread(target=write_slowly), threading.Thread(target=read)
    writer.start()
    assert started.wait(20)
    reader.start()
    reader.join(0.5)
    assert reader.is_alive(), "the reader answered while a writer held an earlier time"
    released.set()
    writer.join()
    reader.join(20)
    at, values = answers[0]
    assert values == world.values(at=at) == ["9090"]


def test_the_later_line_of_two_said_at_the_same_moment_holds(world: World) -> None:
    world.capture([("person", "shop.database = mysql"), ("person", "shop.database = postgres")], at=DAY[3])
    assert world.values() == ["postgres"]


def test_a_time_in_the_future_does_not_win_for_ever(world: World) -> None:
    world.capture("shop.database = mysql", session="future", at=datetime.now(UTC) + timedelta(days=400))
    world.capture("shop.database = postgres", session="now", at=datetime.now(UTC) + timedelta(seconds=1))
    assert world.values() == ["postgres"]
