"""What a brain must answer after a history of steps: lists and loops, written from the design and not from the SQL.

Times are numbers: days that lines speak of are small, and the n-th step is written at 1000 + n. None is without end.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Time = float
Mode = Literal["accepted", "operational", "investigation", "history"]
RANK = {"assistant": 1, "tool": 2, "document": 3, "person": 4}
ACCEPTS = {"review": (), "literal": ("person", "document"), "person_stated": ("person",), "autonomous": tuple(RANK)}


Pair = frozenset[tuple[int, tuple[str, str, bool]]]
"""Two claims with what they said when a person kept both."""


class Refusal(Exception):
    """The step has to be refused, and nothing of it stays."""


@dataclass(eq=False, slots=True)
class Line:
    """A cited line. ``private`` is what a writer wrote down for one claim alone: it goes with the claim."""

    role: str
    said: Time
    source: str
    private: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """What is claimed. A scope without repositories is everywhere."""

    family: str
    value: str
    denies: bool = False
    scope: frozenset[str] = frozenset()
    start: Time | None = None
    end: Time | None = None
    many: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """What a rule bans."""
        return self.family, self.value, self.denies


def meet(a: frozenset[str], b: frozenset[str]) -> bool:
    return not a or not b or bool(a & b)


def within(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether b is wherever a is."""
    return not b or (bool(a) and a <= b)


def overlap(a: Statement, b: Statement) -> bool:
    start = max(-math.inf if s.start is None else s.start for s in (a, b))
    end = min(math.inf if s.end is None else s.end for s in (a, b))
    return start < end


def covers(a: Statement, at: Time) -> bool:
    return (a.start is None or a.start <= at) and (a.end is None or at < a.end)


def contradict(a: Statement, b: Statement) -> bool:
    """+X and +Y meet where there is room for one, +X and -X meet, and no others; in one family, place and time."""
    if a.family != b.family or not meet(a.scope, b.scope) or not overlap(a, b):
        return False
    if a.denies != b.denies:
        return a.value == b.value
    return not a.denies and a.value != b.value and not a.many and not b.many


@dataclass(eq=False, slots=True)
class Revision:
    """One state of a claim. It never changes, but that it can be erased."""

    claim: int
    tick: int
    statement: Statement
    lines: list[Line]
    by: Literal["person", "agent", "learner"]
    review: Literal["proposed", "accepted", "rejected"] = "proposed"
    reviewed: bool = False
    withdrawn: bool = False
    superseded: bool = False
    superseded_by: int | None = None
    blocked: bool = False
    exempt: frozenset[int] = frozenset()
    erased: int | None = None

    @property
    def rank(self) -> int:
        return max(RANK[line.role] for line in self.lines)

    @property
    def said(self) -> Time:
        return max(line.said for line in self.lines)


@dataclass(frozen=True, slots=True)
class Rule:
    statement: Statement
    tick: int


@dataclass(slots=True)
class Model:
    """A brain. Steps come in through ``attempt``; ``answer`` says what is read, and why the rest is not."""

    policy: str
    tick: int = 0
    claims: list[list[Revision]] = field(default_factory=list[list[Revision]])
    rules: list[Rule] = field(default_factory=list[Rule])
    kept_both: list[tuple[int, Pair]] = field(default_factory=list[tuple[int, Pair]])
    sources: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])

    def attempt(self, step: Callable[[Model], None]) -> bool:
        """Takes a step, whole or not at all. Whether it was taken."""
        self.tick += 1
        before = copy.deepcopy((self.claims, self.rules, self.kept_both, self.sources))
        try:
            step(self)
        except Refusal:
            self.claims, self.rules, self.kept_both, self.sources = before
            return False
        return True

    # -- reading

    def answer(self, mode: Mode, known: int, fact: Time | None = None, scope: frozenset[str] = frozenset()) -> dict[int, str]:
        """For each claim known by then its value, or '(reason)' where it is withheld."""
        fact = 1000.5 + known if fact is None else fact
        return {r.claim: _shown(r, self._why(r, mode, known, fact, scope)) for r in self.heads(known)}

    def _why(self, r: Revision, mode: Mode, known: int, fact: Time, scope: frozenset[str]) -> str | None:
        if r.erased:
            return "erased"
        if not meet(r.statement.scope, scope):
            return "out_of_scope"
        if mode == "history":
            return None
        return self._not_to_be_read(r, known, fact) or (
            None
            if mode == "investigation"
            else self._not_accepted(r, known, scope) or ("unverified_in_operation" if mode == "operational" else None)
        )

    def _not_to_be_read(self, r: Revision, known: int, fact: Time) -> str | None:
        s = r.statement
        if r.review == "rejected":
            return "rejected"
        if r.withdrawn:
            return "withdrawn"
        if r.blocked or self.banned(s, r.exempt, known):
            return "blocked_by_rule"
        if r.superseded:
            return "superseded"
        if s.start is not None and s.start > fact:
            return "not_yet_valid"
        if s.end is not None and s.end <= fact:
            return "no_longer_valid" if r.superseded_by is None else "superseded"
        return None

    def _not_accepted(self, r: Revision, known: int, scope: frozenset[str]) -> str | None:
        if r.review != "accepted":
            return "unreviewed"
        return "in_conflict" if self.clouded(r, r.rank, known, scope) else None

    def clouded(self, r: Revision, rank: int, known: int, scope: frozenset[str] = frozenset()) -> bool:
        """Whether a conflict counts against it. The word of a lower rank that nobody accepted does not, nor one of another scope."""
        others = [b if a is r else a for a, b in self.conflicts(known) if r in (a, b)]
        return any((other.review == "accepted" or other.rank >= rank) and meet(other.statement.scope, scope) for other in others)

    def heads(self, known: int) -> Iterator[Revision]:
        """The revision of each claim that held at a knowledge time."""
        for claim in self.claims:
            upto = [r for r in claim if r.tick <= known]
            if upto:
                yield upto[-1]

    def banned(self, s: Statement, exempt: frozenset[int], known: int) -> bool:
        return any(
            rule.tick <= known and number not in exempt and rule.statement.key == s.key and meet(rule.statement.scope, s.scope)
            and overlap(rule.statement, s)
            for number, rule in enumerate(self.rules)
        )  # fmt: skip

    def live(self, r: Revision, known: int) -> bool:
        """Whether it can contradict: what is turned down, ended as a whole, banned or erased by then cannot."""
        gone = r.review == "rejected" or r.withdrawn or r.superseded or r.blocked or (r.erased is not None and r.erased <= known)
        return not gone and not self.banned(r.statement, r.exempt, known)

    def conflicts(self, known: int) -> list[tuple[Revision, Revision]]:
        """The open conflicts: every two live heads that contradict each other, unless a person said that both may stand."""
        live = [r for r in self.heads(known) if self.live(r, known)]
        kept = {pair for tick, pair in self.kept_both if tick <= known}
        return [
            (a, b)
            for place, a in enumerate(live)
            for b in live[place + 1 :]
            if contradict(a.statement, b.statement)
            and a.superseded_by != b.claim
            and b.superseded_by != a.claim
            and _pair(a, b) not in kept
        ]

    # -- writing

    def write(
        self, statement: Statement, lines: list[Line], *, claim: int | None = None, exempt: frozenset[int] = frozenset(), **standing: Any
    ) -> Revision:
        """Appends a revision. A rule that binds it blocks it, and refuses a reviewer."""
        if claim is None:
            claim = len(self.claims)
            self.claims.append([])
        before = self.claims[claim][-1] if self.claims[claim] else None
        new = Revision(claim=claim, tick=self.tick, statement=statement, lines=lines, exempt=exempt, **standing)
        if (
            before
            and before.statement.key == statement.key
            and before.statement.scope == statement.scope
            and _inside(statement, before.statement)
        ):
            new.exempt |= before.exempt
        if new.review != "rejected" and not new.withdrawn and self.banned(statement, new.exempt, self.tick):
            if new.reviewed:
                raise Refusal
            new.review, new.blocked = "proposed", True
        self.claims[claim].append(new)
        return new

    def head(self, claim: int) -> Revision:
        """The latest revision of a claim, for a step that goes on from it."""
        if self.claims[claim][-1].erased:
            raise Refusal
        return self.claims[claim][-1]

    def _now(self) -> Time:
        return 1000.0 + self.tick

    # -- what an agent may do

    def propose(self, s: Statement) -> None:
        """Its own unreviewed copy gains the support; it may not contradict itself."""
        line = Line("assistant", self._now(), f"own-{self.tick}", private=True)
        for r in self.heads(self.tick):
            same = r.statement.key == s.key and r.statement.scope == s.scope and overlap(r.statement, s)
            if same and self.live(r, self.tick) and r.review == "proposed" and r.by == "agent":
                self._own(s, [*_retained(r), line], claim=r.claim)
                return
        self._own(s, [line], claim=None)

    def revise(self, claim: int, value: str) -> None:
        s = replace(self._proposal(claim).statement, value=value)
        self._own(s, [Line("assistant", self._now(), f"own-{self.tick}", private=True)], claim=claim)

    def retract(self, claim: int) -> None:
        r = self._proposal(claim)
        self.write(
            r.statement, _retained(r), claim=claim, by="agent", withdrawn=True, superseded=r.superseded, superseded_by=r.superseded_by
        )

    def _proposal(self, claim: int) -> Revision:
        r = self.head(claim)
        if r.by != "agent" or r.review != "proposed":
            raise Refusal
        return r

    def _own(self, s: Statement, lines: list[Line], *, claim: int | None) -> None:
        new = self.write(s, lines, claim=claim, by="agent")
        if not new.blocked and any(
            r.by == "agent" and r.review == "proposed" and r.claim != new.claim and self.live(r, self.tick) and contradict(r.statement, s)
            for r in self.heads(self.tick)
        ):
            raise Refusal

    # -- what a person may do

    def accept(self, claim: int) -> None:
        r = self.head(claim)
        if r.withdrawn or r.review == "rejected":
            raise Refusal
        self._decide(r, review="accepted")

    def reject(self, claim: int) -> None:
        self._ban(self._decide(self.head(claim), review="rejected", superseded_by=self.head(claim).superseded_by))

    def correct(self, claim: int, value: str) -> None:
        r = self.head(claim)
        if value == r.statement.value:
            raise Refusal
        self._ban(r)
        line = Line("person", self._now(), f"own-{self.tick}", private=True)
        self._decide(r, statement=replace(r.statement, value=value), lines=[line], review="accepted")

    def withdraw(self, claim: int) -> None:
        r = self.head(claim)
        if r.withdrawn:
            raise Refusal
        self._ban(self._decide(r, review=r.review, withdrawn=True, superseded_by=r.superseded_by))

    def restore(self, claim: int) -> None:
        if not self.head(claim).withdrawn:
            raise Refusal
        self.revalidate(claim)

    def revalidate(self, claim: int) -> None:
        """Accepts what rules ban: this one revision is free of those that there are now."""
        self._decide(self.head(claim), review="accepted", exempt=frozenset(range(len(self.rules))))

    def resolve(self, left: int, right: int, how: str, value: str, keep_left: bool) -> None:
        """Ends a conflict: keep one, keep both, retract both, or replace both by another value."""
        match how:
            case "keep_both":
                self.kept_both.append((self.tick, _pair(self.head(left), self.head(right))))
            case "retract":
                self.withdraw(left)
                self.withdraw(right)
            case "keep_one":
                self.reject(right if keep_left else left)
                self.accept(left if keep_left else right)
            case _:
                self.reject(right)
                self.correct(left, value)

    def erase_claim(self, claim: int) -> None:
        """Blanks a claim, with what was written down for it alone, and what that alone supported."""
        for r in self.claims[claim]:
            for line in r.lines:
                line.erased = line.erased or line.private
            r.erased = r.erased or self.tick
        self._blank_unsupported()

    def erase_source(self, source: str) -> None:
        for line in self.sources.get(source, []):
            line.erased = True
        self._blank_unsupported()

    def _blank_unsupported(self) -> None:
        for claim in self.claims:
            for r in claim:
                if all(line.erased for line in r.lines):
                    r.erased = r.erased or self.tick

    def _decide(self, r: Revision, *, statement: Statement | None = None, lines: list[Line] | None = None, **standing: Any) -> Revision:
        return self.write(statement or r.statement, lines or _retained(r), claim=r.claim, by="person", reviewed=True, **standing)

    def _ban(self, r: Revision) -> None:
        self.rules.append(Rule(r.statement, self.tick))

    # -- what the learner does

    def capture(self, source: str, said: list[tuple[str, Time, Statement]]) -> None:
        """A session of stated lines. Captured again it adds nothing; once erased it is refused."""
        if source in self.sources:
            if all(line.erased for line in self.sources[source]):
                raise Refusal
            return
        lines = [(Line(role, at, source), s) for role, at, s in said]
        self.sources[source] = [line for line, _ in lines]
        for line, s in sorted(lines, key=lambda pair: pair[0].said):
            self.learn(line, s)

    def learn(self, line: Line, s: Statement) -> None:
        """One stated line. What restates a banned value is kept once; the rest takes its place in its family's succession."""
        heads = list(self.heads(self.tick))
        if self.banned(s, frozenset(), self.tick):
            copies = [
                r
                for r in heads
                if not r.erased and r.statement.key == s.key and meet(r.statement.scope, s.scope) and overlap(r.statement, s)
            ]
            if not any(not r.reviewed and not self.live(r, self.tick) for r in copies):
                self.write(s, [line], by="learner")
            return
        live = [r for r in heads if self.live(r, self.tick)]
        place = self._place([r for r in live if contradict(r.statement, s)], line, s)
        for r in sorted(live, key=lambda r: r.said):
            # a proposal does not keep a line from the place that it has of its own right
            free = r.review == "accepted" or place is None or not self.clouded(r, RANK[line.role], self.tick)
            if r.statement.key == s.key and covers(r.statement, line.said) and within(s.scope, r.statement.scope) and free:
                self._same(r, line)
                return
        if place is None:
            self.write(s, [line], by="learner")  # a conflict: it is not accepted, and a person decides
        else:
            place()

    def _place(self, rivals: list[Revision], line: Line, s: Statement) -> Callable[[], None] | None:
        """Where a line belongs. Said later by the same or a higher rank it replaces what holds then, and lasts until the next.

        Said earlier it is history. None where it is neither.
        """
        at, rank = line.said, RANK[line.role]

        def gives_way(r: Revision) -> bool:
            return not r.reviewed and r.rank <= rank and r.said <= at and within(r.statement.scope, s.scope)

        def outlasts(r: Revision) -> bool:
            return r.said > at and r.rank >= rank and within(s.scope, r.statement.scope)

        past = [r for r in rivals if r.statement.end is not None and r.statement.end <= at]
        ended = [r for r in rivals if covers(r.statement, at) and gives_way(r)]
        # what counts against it: a word of lower rank that nobody accepted does not
        against = [r for r in rivals if r not in past and r not in ended and (r.review == "accepted" or r.rank >= rank)]
        present = [r for r in against if covers(r.statement, at)]
        following = [r for r in against if r not in present]
        if len(present) == 1 and not ended and outlasts(present[0]):
            return lambda: self._history(present[0], line, s)
        if present or not all(outlasts(r) for r in following):
            return None
        return lambda: self._replace(ended, following, line, replace(s, start=at if ended or past else None))

    def _replace(self, ended: list[Revision], following: list[Revision], line: Line, s: Statement) -> None:
        """One step: the old ones end where the new one begins. It lasts until the next one begins."""
        claim = len(self.claims)
        self.claims.append([])
        for r in ended:
            self._end(r, line.said, claim)
        until = min(following, key=lambda r: r.statement.start or 0, default=None)
        end, successor = (until.statement.start, until.claim) if until else (None, None)
        self._accepted(replace(s, end=end), line, claim=claim, superseded_by=successor)

    def _history(self, r: Revision, line: Line, s: Statement) -> None:
        """It held until what holds now was next said; where that was also said before, it held before and again.

        What a person reviewed, and what was said to hold from a time on, stays as it is.
        """
        at, start, end = line.said, r.statement.start, r.statement.end
        before = [m for m in _retained(r) if m.said <= at]
        after = [m for m in _retained(r) if m.said > at]
        until = min((m.said for m in after if end is None or m.said < end), default=None)
        if r.reviewed or until is None or (start is not None and not before):
            self._accepted(s, line, superseded=True, superseded_by=r.claim)
        elif not before:
            self._revise(r, replace(r.statement, start=until), after, superseded_by=r.superseded_by)
            self._accepted(replace(s, end=until), line, superseded_by=r.claim)
        else:
            claim = len(self.claims)
            self.claims += [[], []]
            self._end(r, at, claim, before)
            self._accepted(replace(s, start=at, end=until), line, claim=claim, superseded_by=claim + 1)
            again = replace(r.statement, start=until, end=end)
            self.write(again, after, claim=claim + 1, by="learner", review=r.review, superseded_by=r.superseded_by)

    def _end(self, r: Revision, at: Time, successor: int, lines: list[Line] | None = None) -> None:
        nothing_left = r.statement.start is not None and r.statement.start >= at
        ended = r.statement if nothing_left else replace(r.statement, end=at)
        self._revise(r, ended, _retained(r) if lines is None else lines, superseded=nothing_left, superseded_by=successor)

    def _revise(self, r: Revision, s: Statement, lines: list[Line], **standing: Any) -> None:
        self.write(s, lines, claim=r.claim, by="learner", review=r.review, **standing)

    def _same(self, r: Revision, line: Line) -> None:
        """More evidence. It may make a proposal accepted, which then rests on it alone, unless the proposal is in conflict."""
        welcome = line.role in ACCEPTS[self.policy]
        if r.reviewed or (r.review == "accepted" and not welcome):
            return
        if welcome and r.review == "proposed" and not self.clouded(r, RANK[line.role], self.tick):
            self._revise(r, r.statement, [line], superseded_by=r.superseded_by)
            self.claims[r.claim][-1].review = "accepted"
            return
        self._revise(r, r.statement, [*_retained(r), line], superseded_by=r.superseded_by)

    def _accepted(self, s: Statement, line: Line, **standing: Any) -> None:
        """As the policy has it: the author's role decides."""
        self.write(s, [line], by="learner", review="accepted" if line.role in ACCEPTS[self.policy] else "proposed", **standing)


def _shown(r: Revision, why: str | None) -> str:
    return f"({why})" if why else ("not " if r.statement.denies else "") + r.statement.value


def _pair(a: Revision, b: Revision) -> Pair:
    return frozenset({(a.claim, a.statement.key), (b.claim, b.statement.key)})


def _retained(r: Revision) -> list[Line]:
    return [line for line in r.lines if not line.erased]


def _inside(a: Statement, b: Statement) -> bool:
    return (b.start is None or (a.start is not None and a.start >= b.start)) and (b.end is None or (a.end is not None and a.end <= b.end))
