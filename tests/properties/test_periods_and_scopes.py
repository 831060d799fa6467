"""Periods, scopes and contradiction against models that count by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.asking import Connection, ask, thorough

FIRST_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)
DAYS: Final = range(8)

Period = tuple[int | None, int | None]
"""From a day on, and up to a day, which is not in it. None is without end."""


def _in_order(period: Period) -> bool:
    return period[0] is None or period[1] is None or period[0] <= period[1]


days = st.none() | st.sampled_from(DAYS)
periods = st.tuples(days, days).filter(_in_order)


def batch(one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Many examples for one question."""
    return st.lists(one, min_size=1, max_size=100)


def moment(day: int | None) -> str | None:
    return None if day is None else (FIRST_DAY + timedelta(days=day)).isoformat()


def days_of(period: Period) -> set[int]:
    """The days of a period, counted; a period without an end goes on beyond every day that is written here."""
    low = -1 if period[0] is None else period[0]
    high = len(DAYS) + 1 if period[1] is None else period[1]
    return set(range(low, high))


PERIODS_MEET: Final = """
ledger.period((x->>'a_from')::timestamptz, (x->>'a_to')::timestamptz)
  && ledger.period((x->>'b_from')::timestamptz, (x->>'b_to')::timestamptz)
"""


def periods_meet(asked: Connection, pairs: Sequence[tuple[Period, Period]]) -> list[bool]:
    rows = [{"a_from": moment(a[0]), "a_to": moment(a[1]), "b_from": moment(b[0]), "b_to": moment(b[1])} for a, b in pairs]
    return ask(asked, PERIODS_MEET, rows)


@thorough(40)
@given(pairs=batch(st.tuples(periods, periods)))
def test_periods_overlap_exactly_if_they_have_a_day_in_common(asked: Connection, pairs: list[tuple[Period, Period]]) -> None:
    assert periods_meet(asked, pairs) == [bool(days_of(a) & days_of(b)) for a, b in pairs]
    assert periods_meet(asked, pairs) == periods_meet(asked, [(b, a) for a, b in pairs])


def test_periods_that_touch_do_not_overlap_and_an_empty_one_overlaps_nothing(asked: Connection) -> None:
    pairs: list[tuple[Period, Period]] = [
        ((None, 3), (3, None)),
        ((1, 3), (3, 5)),
        ((3, 3), (None, None)),
        ((3, 3), (3, 3)),
        ((3, 3), (2, 4)),
    ]
    assert periods_meet(asked, pairs) == [False] * len(pairs)
    assert periods_meet(asked, [((None, None), (None, None)), ((None, 3), (2, None)), ((3, 4), (3, 4))]) == [True] * 3


Scope = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Repositories, areas, environments."""

everywhere: Final = st.just(frozenset[str]())
scopes = st.tuples(*(everywhere | st.frozensets(st.sampled_from([f"{kind}{n}" for n in range(3)]), max_size=3) for kind in "rae"))


def in_common(one: Scope, other: Scope) -> bool:
    return all(not mine or not theirs or mine & theirs for mine, theirs in zip(one, other, strict=True))


def arrays(letter: str) -> str:
    return ", ".join(f"array(select jsonb_array_elements_text(x->'{letter}'->{place}))" for place in range(3))


def _scope_rows(pairs: Sequence[tuple[Scope, Scope]]) -> list[dict[str, Any]]:
    return [{"a": [sorted(part) for part in a], "b": [sorted(part) for part in b]} for a, b in pairs]


@thorough(40)
@given(pairs=batch(st.tuples(scopes, scopes)))
def test_scopes_meet_exactly_if_no_dimension_keeps_them_apart(asked: Connection, pairs: list[tuple[Scope, Scope]]) -> None:
    wanted = [in_common(a, b) for a, b in pairs]
    for one, other in (("a", "b"), ("b", "a")):
        assert ask(asked, f"evidence.scopes_meet({arrays(one)}, {arrays(other)})", _scope_rows(pairs)) == wanted
        assert ask(asked, f"access.in_scope({arrays(one)}, x->'{other}')", _scope_rows(pairs)) == wanted


def test_an_empty_scope_meets_every_other(asked: Connection) -> None:
    nowhere_else: Scope = (frozenset({"r0"}), frozenset({"a0"}), frozenset({"e0"}))
    empty: Scope = (frozenset(), frozenset(), frozenset())
    assert ask(asked, f"evidence.scopes_meet({arrays('a')}, {arrays('b')})", _scope_rows([(empty, nowhere_else), (empty, empty)])) == [
        True,
        True,
    ]


CLAIMS: Final = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(3)]
revisions = st.fixed_dictionaries(
    {
        "claim": st.sampled_from(CLAIMS),
        "family": st.sampled_from(["\\x01", "\\x01", "\\x01", "\\x02"]),
        "value": st.sampled_from(["num:1", "num:2"]),
        "polarity": st.sampled_from(["affirms", "affirms", "denies"]),
        "cardinality": st.sampled_from(["one", "one", "many"]),
        "scope": st.just((frozenset[str](), frozenset[str](), frozenset[str]())) | scopes,
        "period": st.just((None, None)) | periods,
        "superseded_by": st.none() | st.none() | st.sampled_from(CLAIMS),
    }
)
CONTRADICT: Final = (
    "ledger.contradict(jsonb_populate_record(null::ledger.revision, x->'a'), jsonb_populate_record(null::ledger.revision, x->'b'))"
)


def contradict(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """The table of DESIGN: +X and +Y meet where there is room for one, +X and -X meet, +X and -Y and -X and -Y do not."""
    if a["family"] != b["family"] or a["claim"] == b["claim"]:
        return False
    if not in_common(a["scope"], b["scope"]) or not days_of(a["period"]) & days_of(b["period"]):
        return False
    if a["superseded_by"] == b["claim"] or b["superseded_by"] == a["claim"]:
        return False
    same = a["value"] == b["value"]
    match (a["polarity"], b["polarity"]):
        case ("affirms", "affirms"):
            return not same and a["cardinality"] == b["cardinality"] == "one"
        case ("denies", "denies"):
            return False
        case _:
            return same


def as_row(revision: dict[str, Any]) -> dict[str, Any]:
    return {
        "claim_id": revision["claim"],
        "family": revision["family"],
        "value_key": revision["value"],
        "polarity": revision["polarity"],
        "cardinality": revision["cardinality"],
        "superseded_by": revision["superseded_by"],
        **dict(zip(("repositories", "areas", "environments"), map(sorted, revision["scope"]), strict=True)),
        **dict(zip(("valid_from", "valid_to"), map(moment, revision["period"]), strict=True)),
    }


@thorough(60)
@given(pairs=batch(st.tuples(revisions, revisions)))
def test_two_revisions_contradict_exactly_as_the_table_says(asked: Connection, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    wanted = [contradict(a, b) for a, b in pairs]
    assert ask(asked, CONTRADICT, [{"a": as_row(a), "b": as_row(b)} for a, b in pairs]) == wanted
    assert ask(asked, CONTRADICT, [{"a": as_row(b), "b": as_row(a)} for a, b in pairs]) == wanted


PLAIN: Final[dict[str, Any]] = {
    "claim": CLAIMS[0],
    "family": "\\x01",
    "value": "num:1",
    "polarity": "affirms",
    "cardinality": "one",
    "scope": (frozenset(), frozenset(), frozenset()),
    "period": (None, None),
    "superseded_by": None,
}


CASES: Final[list[tuple[dict[str, Any], dict[str, Any], bool]]] = [
    ({}, {"value": "num:2"}, True),
    ({}, {}, False),
    ({}, {"polarity": "denies"}, True),
    ({}, {"polarity": "denies", "value": "num:2"}, False),
    ({"polarity": "denies"}, {"polarity": "denies"}, False),
    ({"polarity": "denies"}, {"polarity": "denies", "value": "num:2"}, False),
    ({"cardinality": "many"}, {"value": "num:2", "cardinality": "many"}, False),
    ({"cardinality": "many"}, {"polarity": "denies", "cardinality": "many"}, True),
    ({}, {"value": "num:2", "family": "\\x02"}, False),
    ({}, {"value": "num:2", "claim": CLAIMS[0]}, False),
    ({"period": (None, 3)}, {"value": "num:2", "period": (3, None)}, False),
    ({"period": (None, 4)}, {"value": "num:2", "period": (3, None)}, True),
    ({"scope": ({"r0"}, set(), set())}, {"value": "num:2", "scope": ({"r1"}, set(), set())}, False),
    ({"scope": ({"r0"}, set(), set())}, {"value": "num:2", "scope": ({"r0", "r1"}, {"a0"}, set())}, True),
]


@pytest.mark.parametrize(("left", "right", "wanted"), CASES)
def test_what_contradicts_what(asked: Connection, left: dict[str, Any], right: dict[str, Any], wanted: bool) -> None:
    a, b = PLAIN | left, PLAIN | {"claim": CLAIMS[1]} | right
    assert ask(asked, CONTRADICT, [{"a": as_row(a), "b": as_row(b)}, {"a": as_row(b), "b": as_row(a)}]) == [wanted, wanted]
