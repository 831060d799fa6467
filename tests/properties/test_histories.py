"""Random histories of a brain, read back in every mode and as of every time, against a plain model."""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.rows import DictRow, dict_row

from memoranda.domain.claim import Statement
from memoranda.domain.evidence import Role, Scope
from memoranda.errors import Refused
from memoranda.store import ledger
from memoranda_api.acting import Credential
from memoranda_api.capture import CapturedSource, capture
from memoranda_api.contribute import Contribution, retract, revise
from tests.databases import Server
from tests.properties import model
from tests.properties.asking import thorough
from tests.properties.model import Mode, Model
from tests.world import Sent, World, digest, make

FIRST_DAY: Final = datetime(2020, 1, 1, tzinfo=UTC)
DAYS: Final = (1, 2, 3, 4)
FAMILIES: Final = {
    "port": [("billing", "port"), ("Billing", "PORT"), ("BILLING", "Port")],
    "mode": [("shop-api", "mode"), ("Shop_API", "mode"), ("shop api", "Mode")],
}
SPELLINGS: Final = {
    "8080": ["8080", "8,080", "８０８０", "'8080'"],
    "90": ["90", "90.0", "+90"],
    "fast": ["fast", "FAST", '"Fast"'],
}
SCOPES: Final = [(), (), (), ("r1",), ("r2",)]
MODES: Final[list[Mode]] = ["accepted", "operational", "investigation", "history"]

families = st.sampled_from(["port", "port", "port", "port", "mode"])
values = st.sampled_from(["8080", "8080", "90", "fast"])
days = st.sampled_from(DAYS)
spelt = st.integers(0, 11)
scopes = st.sampled_from(SCOPES)
claims = st.integers(0, 3)
sessions = st.integers(0, 2)


def moment(day: float | None) -> datetime | None:
    return None if day is None else FIRST_DAY + timedelta(days=day)


@dataclass(frozen=True, slots=True)
class Said:
    """A line `subject.predicate = value`, or `!=`."""

    role: Role
    day: int
    family: str
    value: str
    denies: bool
    spelt: int

    def text(self) -> str:
        subject, predicate = _of(FAMILIES[self.family], self.spelt)
        return f"{subject}.{predicate} {'!=' if self.denies else '='} {_of(SPELLINGS[self.value], self.spelt)}"

    def stated(self, scope: tuple[str, ...]) -> model.Statement:
        return model.Statement(self.family, self.value, self.denies, frozenset(scope))


@dataclass(frozen=True, slots=True)
class Capture:
    """A session is captured and learned from."""

    lines: tuple[Said, ...]
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearnAgain:
    """The learning of an earlier session runs again, as a doubled or delayed job does. It must change nothing."""

    session: int


@dataclass(frozen=True, slots=True)
class CaptureAgain:
    """An earlier session comes in a second time."""

    session: int


@dataclass(frozen=True, slots=True)
class Propose:
    """An agent states something through the API."""

    said: Said
    scope: tuple[str, ...]
    many: bool
    days: tuple[int, int] | None

    def stated(self) -> model.Statement:
        start, end = self.days or (None, None)
        return replace(self.said.stated(self.scope), many=self.many, start=start, end=end)


@dataclass(frozen=True, slots=True)
class Own:
    """An agent revises or retracts a claim, its own or not."""

    act: str
    claim: int
    value: str


@dataclass(frozen=True, slots=True)
class Decide:
    """A person decides about a claim."""

    action: str
    claim: int
    value: str


@dataclass(frozen=True, slots=True)
class Resolve:
    """A person ends a conflict, where there is one."""

    how: str
    conflict: int
    value: str
    keep_left: bool


@dataclass(frozen=True, slots=True)
class EraseSource:
    """A person erases a session."""

    session: int


roles = st.sampled_from(["person", "person", "person", "assistant", "assistant", "tool", "document"])
said = st.builds(Said, roles, days, families, values, st.sampled_from([False, False, False, True]), spelt)
captures = st.builds(Capture, st.lists(said, min_size=1, max_size=2).map(tuple), scopes)
decisions = st.builds(
    Decide, st.sampled_from([*["accept"] * 4, *["reject"] * 3, "correct", "correct", "withdraw", "restore", *["revalidate"] * 2, "erase"]),
    claims, values,
)  # fmt: skip
proposals = st.builds(Propose, said, scopes, st.booleans(), st.sampled_from([None, None, None, (1, 3), (3, 4)]))
resolutions = st.builds(Resolve, st.sampled_from(["keep_one", "keep_both", "retract", "replace"]), st.integers(0, 2), values, st.booleans())
# most steps say or decide something; each kind is drawn as often as it stands here
steps = st.sampled_from(
    [
        *[captures] * 9,
        *[proposals] * 3,
        *[decisions] * 6,
        *[resolutions] * 3,
        st.builds(Own, st.sampled_from(["revise", "retract"]), claims, values),
        st.builds(LearnAgain, sessions),
        st.builds(CaptureAgain, sessions),
        st.builds(EraseSource, sessions),
    ]
).flatmap(lambda kind: kind)
Step = Capture | CaptureAgain | LearnAgain | Propose | Own | Decide | Resolve | EraseSource
policies = st.sampled_from(["person_stated", "person_stated", "literal", "autonomous", "review"])


def _of(ways: list[Any], number: int) -> Any:
    return ways[number % len(ways)]


Both = tuple[Callable[[], object], Callable[[Model], None]]
"""A step as it is done to the product and to the model."""


@dataclass(slots=True)
class Brain:
    """A brain in the database and the model of it, taking the same steps."""

    world: World
    model: Model
    admin: psycopg.Connection[DictRow]
    gateway: psycopg.Connection[DictRow]
    claims: list[uuid.UUID] = field(default_factory=list[uuid.UUID])
    sessions: list[Capture] = field(default_factory=list[Capture])
    known: list[datetime] = field(default_factory=list[datetime])
    freed: set[int] = field(default_factory=set[int])

    def take(self, step: Step) -> None:
        """Takes a step on both sides. They have to agree on whether it is refused, on the claims and on the conflicts."""
        to_product, to_model = self._both(step)
        refused: Refused | None = None
        try:
            to_product()
        except Refused as error:
            refused = error
        taken = self.model.attempt(to_model)
        self.claims = [
            row["claim_id"]
            for row in self.rows("select claim_id from ledger.revision where brain_id = %(brain)s and ordinal = 1 order by recorded_at")
        ]
        self.known.append(self.rows("select clock_timestamp() as now")[0]["now"])
        assert taken == (refused is None), f"the model {'takes' if taken else 'refuses'} it, the product: {refused!r}"
        assert len(self.claims) == len(self.model.claims), "as many claims as in the model"
        assert self.open_conflicts() == {frozenset({a.claim, b.claim}) for a, b in self.model.conflicts(self.model.tick)}

    def _both(self, step: Step) -> Both:
        match step:
            case Capture():
                name = f"session-{len(self.sessions)}"
                self.sessions.append(step)
                return lambda: self._capture(step, name), lambda m: m.capture(name, _stated(step))
            case CaptureAgain(session) if self.sessions:
                place = session % len(self.sessions)
                again, name = self.sessions[place], f"session-{place}"
                return lambda: self._capture(again, name), lambda m: m.capture(name, _stated(again))
            case LearnAgain(session) if self.sessions:
                return lambda: self._learn_again(f"session-{session % len(self.sessions)}"), lambda _: None
            case EraseSource(session) if self.sessions:
                name = f"session-{session % len(self.sessions)}"
                return lambda: self._erase_source(name), lambda m: m.erase_source(name)
            case Propose():
                return lambda: self._propose(step), lambda m: m.propose(step.stated())
            case Own() | Decide() if self.claims:
                return self._to_claim(step, step.claim % len(self.claims))
            case Resolve() if self.open_conflicts():
                return self._resolve(step)
            case _:
                return lambda: None, lambda _: None

    def _to_claim(self, step: Own | Decide, place: int) -> Both:
        claim = self.claims[place]
        if isinstance(step, Decide) and step.action in ("restore", "revalidate"):
            self.freed.add(place)
        match step:
            case Own("revise"):
                return lambda: self._revise(place, step.value), lambda m: m.revise(place, step.value)
            case Own():
                return lambda: self._retract(claim), lambda m: m.retract(place)
            case Decide("correct"):
                return lambda: self.world.decide(claim, "correct", value=step.value), lambda m: m.correct(place, step.value)
            case Decide("erase"):
                return lambda: self.world.decide(claim, "erase"), lambda m: m.erase_claim(place)
            case Decide(action):
                return lambda: self.world.decide(claim, action), lambda m: getattr(m, action)(place)

    def _capture(self, step: Capture, name: str) -> None:
        source = CapturedSource(host="test", external_id=name, kind="session", title=name, scope=Scope(repositories=step.scope))
        events = [
            Sent(key=f"{name}/{place}", parent_key=None, role=line.role, kind="prompt", said_at=moment(line.day), text=line.text())
            for place, line in enumerate(step.lines)
        ]
        with self.world.commands.begin(self.world.agent, self.world.brain) as acting:
            capture(acting, source, events, last=True)
        self._work()

    def _learn_again(self, name: str) -> None:
        self.rows(
            "update pipeline.job set state = 'ready', attempts = 0, finished_at = null where kind = 'learn' and subject_id in (select v.id"
            f" from evidence.version v join evidence.source s on s.id = v.source_id where s.external_id = '{name}'"
            " and s.brain_id = %(brain)s) returning 1"
        )
        self._work()

    def _work(self) -> None:
        while due := self.rows(
            "select id, lane from pipeline.job where brain_id = %(brain)s and state = 'ready' and not_before <= clock_timestamp()"
            " order by created_at"
        ):
            for row in due:
                assert self.world.worker(row["lane"]).run(row["id"]) == "done", self.rows(
                    "select kind, error from pipeline.job where brain_id = %(brain)s"
                )

    def _erase_source(self, name: str) -> None:
        found = self.rows(f"select id from evidence.source where brain_id = %(brain)s and external_id = '{name}'")
        with self.world.commands.begin(self.world.person, self.world.brain) as acting:
            ledger.erase_source(acting.connection, found[0]["id"], reason="because")

    def _propose(self, step: Propose) -> None:
        subject, predicate = _of(FAMILIES[step.said.family], step.said.spelt)
        start, end = step.days or (None, None)
        self.world.propose(
            subject,
            predicate,
            _of(SPELLINGS[step.said.value], step.said.spelt),
            polarity="denies" if step.said.denies else "affirms",
            cardinality="many" if step.many else "one",
            scope=Scope(repositories=step.scope),
            valid_from=moment(start),
            valid_to=moment(end),
        )

    def _revise(self, place: int, value: str) -> None:
        old = self.model.claims[place][-1].statement
        statement = Statement(
            kind="fact",
            subject="kept",
            predicate="kept",
            value=value,
            sentence=f"it is {value}",
            polarity="denies" if old.denies else "affirms",
            cardinality="many" if old.many else "one",
            scope=Scope(repositories=tuple(sorted(old.scope))),
            valid_from=moment(old.start),
            valid_to=moment(old.end),
        )
        with self.world.commands.begin(self.world.agent, self.world.brain) as acting:
            revise(acting, self.claims[place], Contribution(statement=statement), reason="because")

    def _retract(self, claim: uuid.UUID) -> None:
        with self.world.commands.begin(self.world.agent, self.world.brain) as acting:
            retract(acting, claim, reason="because")

    def _resolve(self, step: Resolve) -> Both:
        found = _of(self._conflicts(), step.conflict)
        left, right = self.claims.index(found["left_claim"]), self.claims.index(found["right_claim"])
        keep = found["left_claim"] if step.keep_left else found["right_claim"]
        return (
            lambda: self.world.resolve(found["id"], step.how, keep=keep, value=step.value),
            lambda m: m.resolve(left, right, step.how, step.value, step.keep_left),
        )

    def family(self, claim: int) -> str:
        """The family of a claim, erased or not."""
        return self.model.claims[claim][0].statement.family

    def rows(self, statement: str) -> list[DictRow]:
        """What the tables hold, past every wall."""
        return self.admin.execute(statement.encode(), {"brain": self.world.brain_id}).fetchall()

    def _conflicts(self) -> list[DictRow]:
        return self.rows(
            "select id, left_claim, right_claim from ledger.conflict where brain_id = %(brain)s and closed_at is null"
            " order by opened_at, id"
        )

    def open_conflicts(self) -> set[frozenset[int]]:
        """The claims that are in conflict, by number."""
        return {frozenset({self.claims.index(row["left_claim"]), self.claims.index(row["right_claim"])}) for row in self._conflicts()}

    def read(self, mode: Mode, *, known: int | None = None, fact: float | None = None, scope: tuple[str, ...] = ()) -> list[DictRow]:
        """The latest revisions as the gateway reads them, withheld ones too."""
        at = None if known is None else self.known[known - 1]
        with self.gateway.transaction():
            self.gateway.execute(OPEN, [self.world.person.digest, self.world.brain, mode, moment(fact), at, list(scope)])
            rows = self.gateway.execute(READ).fetchall()
        return [row | {"claim": self.claims.index(row["claim_id"])} for row in rows]

    def answer(self, mode: Mode, **asked: Any) -> dict[int, str]:
        """For each claim its value, or '(reason)'."""
        return {row["claim"]: _shown(row) for row in self.read(mode, **asked)}

    def wanted(self, mode: Mode, *, known: int | None = None, fact: float | None = None, scope: tuple[str, ...] = ()) -> dict[int, str]:
        """What the model answers."""
        return self.model.answer(mode, known or self.model.tick, fact, frozenset(scope))


OPEN: Final = b"select refused from access.open_lens(%s, %s, %s, %s, %s, %s, '{}', '{}')"
READ: Final = b"""
select claim_id, value, polarity, cardinality, repositories, withheld from lens.revision where is_latest
"""


def _stated(step: Capture) -> list[tuple[str, float, model.Statement]]:
    return [(line.role, line.day, line.stated(step.scope)) for line in step.lines]


def _shown(row: DictRow) -> str:
    if row["withheld"]:
        return f"({row['withheld']})"
    said = next(value for value, ways in SPELLINGS.items() if row["value"] in {way.strip("'\"") for way in ways} | set(ways))
    return ("not " if row["polarity"] == "denies" else "") + said


Founder = Callable[[str], Brain]


@pytest.fixture(scope="module")
def found(server: Server, template: str) -> Generator[Founder]:
    """Founds a brain with a policy, in one database for all of them."""
    with (
        server.new("histories", template=template) as database,
        contextmanager(make)(database) as world,
        _connected(database.dsn()) as admin,
        _connected(database.dsn("memoranda_gateway")) as gateway,
    ):
        agent = Credential(digest=digest(secrets.token_hex(16)))
        admin.execute("select access.issue_token(%s, null, %s, 'writer', false, 'every brain', null)", [agent.digest, world.agent_id])

        def brain(policy: str) -> Brain:
            slug = f"brain-{uuid.uuid4().hex[:12]}"
            made = admin.execute("select access.add_brain(%s, 'A brain', %s, %s) as id", [slug, policy, world.person_id]).fetchone()
            assert made is not None
            admin.execute(
                "insert into access.brain_grant (brain_id, principal_id, role) values (%s, %s, 'writer')", [made["id"], world.agent_id]
            )
            return Brain(
                world=replace(world, brain=slug, brain_id=made["id"], agent=agent), model=Model(policy=policy), admin=admin, gateway=gateway
            )

        yield brain


def _connected(dsn: str) -> psycopg.Connection[DictRow]:
    return psycopg.Connection[DictRow].connect(dsn, autocommit=True, row_factory=dict_row)


FACTS: Final = (None, 0.5, 1, 2.5, 3, 9)
PLACES: Final[list[tuple[str, ...]]] = [(), ("r1",), ("r2",)]


@pytest.mark.guarantee(1, 10, 12)
@pytest.mark.timeout(0)
@thorough(100)
@given(policy=policies, history=st.lists(steps, min_size=5, max_size=12))
def test_a_history_reads_as_the_model_says(found: Founder, policy: str, history: list[Step]) -> None:
    brain = found(policy)
    noted: list[dict[Mode, dict[int, str]]] = []
    for number, step in enumerate(history, start=1):
        before = [brain.answer("accepted", scope=scope) for scope in PLACES] if isinstance(step, Capture) else []
        brain.take(step)
        _never_none(brain, before)
        now: dict[Mode, dict[int, str]] = {}
        for mode in MODES[:3]:
            now[mode] = brain.answer(mode)
            assert now[mode] == brain.wanted(mode), f"{mode}, after step {number}"
            _never_again(brain, now[mode])
        noted.append(now)
        _never_two(brain, brain.read("accepted"))
    for place, (scope, fact) in enumerate(itertools.product(PLACES, FACTS)):
        modes: set[Mode] = {"accepted", MODES[place % 4]}
        for mode in modes:
            assert brain.answer(mode, fact=fact, scope=scope) == brain.wanted(mode, fact=fact, scope=scope), (mode, fact, scope)
        _never_two(brain, brain.read("accepted", fact=fact, scope=scope))
    for known, then in enumerate(noted, start=1):
        fact, scope = FACTS[known % len(FACTS)], SCOPES[known % len(SCOPES)]
        assert brain.answer("accepted", known=known, fact=fact, scope=scope) == brain.wanted(
            "accepted", known=known, fact=fact, scope=scope
        )
        for mode, answer in then.items():
            _only_erasure_changes(answer, brain.answer(mode, known=known))


def _never_two(brain: Brain, rows: list[DictRow]) -> None:
    """Of two affirmed values where there is room for one, both are told only if a person kept both."""
    told = [row for row in rows if row["withheld"] is None and row["polarity"] == "affirms" and row["cardinality"] == "one"]
    kept = {frozenset(claim for claim, _ in pair) for _, pair in brain.model.kept_both}
    for place, one in enumerate(told):
        for other in told[place + 1 :]:
            meet = not one["repositories"] or not other["repositories"] or set(one["repositories"]) & set(other["repositories"])
            if brain.family(one["claim"]) == brain.family(other["claim"]) and meet and _shown(one) != _shown(other):
                assert {one["claim"], other["claim"]} in kept, (one, other)


def _never_none(brain: Brain, before: list[dict[int, str]]) -> None:
    """Where a session replaced what was told, something of the family is told."""
    for scope, answer in zip(PLACES, before, strict=False):
        after = brain.answer("accepted", scope=scope)
        told = {brain.family(claim) for claim, said in after.items() if not said.startswith("(")}
        for claim, said in answer.items():
            assert said.startswith("(") or after[claim] != "(superseded)" or brain.family(claim) in told, (scope, claim)


def _never_again(brain: Brain, answer: dict[int, str]) -> None:
    """What a person turned down for all time is not told, but where a person revalidated or restored that very claim."""
    for rule in brain.model.rules:
        banned = rule.statement
        if banned.start is None and banned.end is None:
            for claim, said in answer.items():
                scope = brain.model.claims[claim][-1].statement.scope
                told = brain.family(claim) == banned.family and said == ("not " if banned.denies else "") + banned.value
                assert not told or not model.meet(banned.scope, scope) or claim in brain.freed, (rule, claim)


def _only_erasure_changes(then: dict[int, str], now: dict[int, str]) -> None:
    assert {claim: said for claim, said in now.items() if said != "(erased)"} == {
        claim: said for claim, said in then.items() if now[claim] != "(erased)"
    }


def say(role: Role, day: int, value: str, *, scope: tuple[str, ...] = ()) -> Capture:
    return Capture((Said(role, day, "port", value, denies=False, spelt=0),), scope)


def propose(value: str, days: tuple[int, int] | None = None) -> Propose:
    return Propose(Said("assistant", 0, "port", value, denies=False, spelt=0), (), many=False, days=days)


# Each is the smallest history of its kind: what it shows, the steps, what is then told, and what is asked.
SMALLEST: Final[dict[str, tuple[list[Step], set[str], dict[str, Any]]]] = {
    "npm, then pnpm, then npm again: npm holds": (
        [say("person", 1, "8080"), say("person", 2, "90"), say("person", 3, "8080")], {"8080"}, {}),
    "a third value does not stretch the first over the second": (
        [say("person", 1, "8080"), say("person", 2, "90"), say("person", 3, "fast")], {"90"}, {"fact": 2.5}),
    "what is said after a rejection does not meet what had ended before": (
        [say("person", 1, "8080"), say("person", 2, "90"), Decide("reject", 1, ""), say("person", 3, "fast")], {"fast"}, {}),
    "what was said earlier is history though what it would have ended is rejected": (
        [say("person", 1, "8080"), say("person", 3, "90"), Decide("reject", 0, ""), say("person", 2, "fast")], {"90"}, {}),
    "what was said before a rejected successor goes on": (
        [say("person", 1, "8080"), say("person", 3, "90"), Decide("reject", 1, ""), say("person", 2, "fast")], {"fast"}, {}),
    "a proposal of the same value does not keep a later word from replacing": (
        [propose("90"), say("person", 1, "8080"), say("person", 2, "90")], {"90"}, {}),
    "a proposal of the same value does not put an earlier word into conflict": (
        [propose("90"), say("person", 3, "8080"), say("person", 2, "90")], {"8080"}, {}),
    "a word of lower rank that nobody accepted does not keep a later word from replacing": (
        [say("person", 1, "8080"), say("assistant", 3, "90"), say("person", 2, "fast")], {"fast"}, {}),
    "a word of lower rank that nobody accepted does not end a person's": (
        [say("assistant", 1, "8080"), say("assistant", 3, "90"), say("person", 2, "fast")], {"fast"}, {}),
    "a word about one repository does not end what holds in all": (
        [say("person", 1, "8080"), say("person", 2, "90", scope=("r1",))], {"8080", "(out_of_scope)"}, {"scope": ("r2",)}),
    "a word about all repositories is kept though it was said of one before": (
        [say("person", 1, "8080", scope=("r1",)), say("person", 2, "8080")], {"8080", "(out_of_scope)"}, {"scope": ("r2",)}),
    "a proposal with a period of its own is not moved by an earlier word": (
        [propose("8080", (1, 3)), say("assistant", 2, "90")], {"8080", "(superseded)"}, {"fact": 1.5, "mode": "investigation"}),
    "said again, a contradiction of what a person accepted is still no more than a proposal": (
        [say("person", 1, "8080"), Decide("accept", 0, ""), say("person", 2, "90"), say("person", 3, "90")],
        {"(in_conflict)", "(unreviewed)"}, {}),
    "a claim that was cut in two lets a third word in before the cut": (
        [say("person", 1, "8080"), say("person", 4, "8080"), say("person", 3, "90"), say("person", 2, "fast")], {"90"}, {"fact": 3.5}),
    "more evidence for what was replaced leaves it replaced": (
        [say("person", 1, "8080"), say("person", 2, "90"), say("person", 1, "8080")], {"90", "(superseded)"}, {}),
    "learning again after a rejection adds nothing": (
        [say("person", 1, "8080"), Decide("reject", 0, ""), LearnAgain(0)], {"(rejected)"}, {}),
    "a delayed job does not write again what was erased": (
        [say("person", 1, "8080"), Decide("erase", 0, ""), LearnAgain(0)], {"(erased)"}, {}),
    "learning again what was replaced at the same moment does not bring it back": (
        [say("person", 1, "8080"), say("person", 2, "90"), say("person", 2, "fast"), LearnAgain(1)], {"fast"}, {}),
    "what was revalidated can be accepted again without a word about its rule": (
        [say("person", 1, "8080"), Decide("reject", 0, ""), Decide("revalidate", 0, ""), Decide("accept", 0, "")], {"8080"}, {}),
    "a conflict stays open when one of two sources of a claim is erased": (
        [say("person", 1, "8080"), say("person", 2, "8080"), propose("90"), EraseSource(0)], {"8080"}, {}),
    "a banned proposal does not stand in its author's way": (
        [say("person", 1, "8080"), propose("8080"), Decide("reject", 0, ""), propose("90")], {"90"}, {"mode": "investigation"}),
}  # fmt: skip


@pytest.mark.guarantee(1, 12)
@pytest.mark.parametrize(("steps", "told", "asked"), SMALLEST.values(), ids=SMALLEST.keys())
def test_a_short_history(found: Founder, steps: list[Step], told: set[str], asked: dict[str, Any]) -> None:
    brain = found("person_stated")
    for step in steps:
        brain.take(step)
    question: dict[str, Any] = {"mode": "accepted"} | asked
    answer = brain.answer(**question)
    assert {said for said in answer.values() if not said.startswith("(") or said in told} == told
    assert answer == brain.wanted(**question)
