"""Sending batches: two at once, and never so that the outcome tells."""

from __future__ import annotations

import random
import threading
import time

import pytest

from memoranda_cli.batches import Batch
from memoranda_cli.errors import Failure, Unreachable
from memoranda_cli.sending import Sender

LIMIT = 10


def batch(source: str, *keys: str) -> Batch:
    return Batch(body=",".join(keys).encode(), source=("test", source), keys=frozenset(keys))


def test_batches_of_two_sources_are_under_way_at_once() -> None:
    both = threading.Barrier(2, timeout=LIMIT)
    with Sender[str](lambda _owner, _body: void(both.wait())) as sender:
        sender.put("a", [batch("a", "1")])
        sender.put("b", [batch("b", "2")])
    assert not both.broken


@pytest.mark.parametrize(
    ("second", "owner"),
    [(batch("b", "2", "shared"), "b"), (batch("a", "3"), "b"), (batch("c", "4"), "a")],
    ids=["an event that is in both", "the same source", "the same file"],
)
def test_a_batch_waits_for_one_under_way_with(second: Batch, owner: str) -> None:
    begun, release, order = threading.Event(), threading.Event(), list[str]()

    def deliver(_owner: str, body: bytes) -> None:
        if not order:
            order.append("first begins")
            begun.set()
            assert release.wait(LIMIT)
            order.append("first ends")
        else:
            order.append(body.decode())

    with Sender(deliver) as sender:
        sender.put("a", [batch("a", "1", "shared")])
        assert begun.wait(LIMIT)
        sender.put(owner, [second])
        time.sleep(0.05)  # the other thread has had its chance to begin it
        release.set()
    assert order == ["first begins", "first ends", second.body.decode()]


def test_what_is_stored_is_what_one_after_the_other_would_have_stored() -> None:
    draw = random.Random(7)
    parcels = [(str(draw.randrange(12)), [f"k{number + draw.randrange(6)}" for _ in range(draw.randrange(1, 4))]) for number in range(400)]
    alone: dict[str, str] = {}
    for owner, keys in parcels:
        for key in keys:
            alone.setdefault(key, owner)
    stored: dict[str, str] = {}
    most, under_way = 0, list[str]()

    def deliver(owner: str, body: bytes) -> None:
        nonlocal most
        under_way.append(owner)
        most = max(most, len(under_way))
        time.sleep(draw.random() / 500)
        for key in body.decode().split(","):
            stored.setdefault(key, owner)
        under_way.remove(owner)

    with Sender(deliver) as sender:
        for owner, keys in parcels:
            sender.put(owner, [batch(owner, *keys)])
    assert stored == alone
    assert most == 2


def test_a_failure_ends_the_sending_and_is_raised_to_who_puts_or_leaves() -> None:
    delivered: list[str] = []

    def deliver(_owner: str, body: bytes) -> None:
        delivered.append(body.decode())
        raise Unreachable("nobody there", mend="start it")

    def send() -> None:
        with Sender(deliver) as sender:
            for number in range(100):
                sender.put("a", [batch("a", str(number))])

    with pytest.raises(Failure, match="nobody there"):
        send()
    assert delivered == ["0"]


def test_what_waits_is_dropped_when_the_reading_fails() -> None:
    begun, release, delivered = threading.Event(), threading.Event(), list[str]()

    def deliver(_owner: str, body: bytes) -> None:
        delivered.append(body.decode())
        begun.set()
        assert release.wait(LIMIT)

    def read_and_fail() -> None:
        with Sender(deliver) as sender:
            sender.put("a", [batch("a", "1")])
            assert begun.wait(LIMIT)
            sender.put("a", [batch("a", "2")])
            threading.Timer(0.05, release.set).start()
            raise ValueError("not readable")

    with pytest.raises(ValueError, match="not readable"):
        read_and_fail()
    assert delivered == ["1"]


def void(_: object) -> None:
    return None
