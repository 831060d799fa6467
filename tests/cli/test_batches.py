"""Packing events: no batch is larger than the API takes, and no text gets lost at a cut."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from memoranda_capture import Event, Heading
from memoranda_cli.batches import LONGEST_NAME, LONGEST_TEXT, MOST_BYTES, MOST_EVENTS, Packer, Wanted, source_of

SOURCE = {"host": "test", "external_id": "1"}


def event(key: str, text: str) -> Event:
    return Event(key=key, parent_key="before", role="person", kind="prompt", said_at=None, text=text, line=1)


def packed(*events: Event) -> list[dict[str, Any]]:
    packer = Packer(SOURCE)
    batches = [batch for each in events for batch in packer.add(each)] + packer.end()
    assert all(len(batch.body) <= MOST_BYTES for batch in batches)
    return [orjson.loads(batch.body) for batch in batches]


def test_only_the_last_batch_says_that_the_file_ends() -> None:
    batches = packed(*(event(str(number), "x") for number in range(MOST_EVENTS * 2 + 1)))
    assert [len(batch["events"]) for batch in batches] == [MOST_EVENTS, MOST_EVENTS, 1]
    assert [batch["last"] for batch in batches] == [False, False, True]


def test_texts_that_grow_by_escaping_are_sent_in_smaller_batches() -> None:
    batches = packed(*(event(str(number), "\x01" * 200_000) for number in range(12)))
    assert sum(len(batch["events"]) for batch in batches) == 12


@given(st.text(min_size=1, max_size=40), st.integers(min_value=LONGEST_TEXT // 8, max_value=LONGEST_TEXT // 2))
def test_a_long_text_is_cut_into_parts_that_make_it_up_again(unit: str, times: int) -> None:
    text = unit * (times // len(unit) + 1)
    parts = [each for batch in packed(event("k", text)) for each in batch["events"]]
    assert "".join(part["text"] for part in parts) == text
    assert all(len(part["text"].encode()) <= LONGEST_TEXT for part in parts)
    assert [part["key"] for part in parts] == ["k", *(f"k~{place}" for place in range(1, len(parts)))]
    assert parts[0]["parent_key"] == "before"


def test_a_name_that_is_too_long_is_cut_and_stays_apart_from_others() -> None:
    long = "x" * LONGEST_NAME
    cut = [source_of(heading(each), "session", Wanted()) for each in (long + "1", long + "2", long + "1", long)]
    ids = [each["external_id"] for each in cut]
    assert all(len(each["branch"]) <= LONGEST_NAME and len(each["external_id"]) <= LONGEST_NAME for each in cut)
    assert ids[0] == ids[2]
    assert len(set(ids)) == 3
    assert ids[3] == long


def heading(name: str) -> Heading:
    return Heading(host="test", external_id=name, title=name, repository=None, branch=name, started_at=None)
