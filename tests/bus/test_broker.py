"""The broker's promises, kept by the one in this process and by a real RabbitMQ with classic and with quorum queues."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator
from dataclasses import replace

import pika
import pika.exceptions
import pytest

from memoranda.bus.broker import Broker, InProcessBroker
from memoranda.bus.rabbit import RabbitBroker
from memoranda.errors import Busy, Misconfigured
from memoranda.settings import Settings

LIMIT = 20
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def settings(url: str, *, quorum: bool = False, prefix: str = "test") -> Settings:
    return Settings(database="", broker=url, broker_quorum=quorum, broker_prefix=prefix)


@pytest.fixture(params=["in this process", "classic", "quorum"])
def brokers(request: pytest.FixtureRequest) -> Generator[Callable[[], Broker]]:
    """Makes brokers over the same queues; in this process there is only one."""
    made: list[Broker] = []
    if request.param == "in this process":
        one = InProcessBroker()
        made.append(one)
        yield lambda: one
    else:
        given = settings(request.getfixturevalue("rabbit_url"), quorum=request.param == "quorum", prefix=f"test{uuid.uuid4().hex[:8]}")

        def make() -> Broker:
            made.append(RabbitBroker(given))
            return made[-1]

        yield make
    for broker in made:
        broker.stop(seconds=5)
        broker.close()


class Heard:
    """A handler that remembers, and can be waited for."""

    def __init__(self, wanted: int) -> None:
        self.messages: list[tuple[uuid.UUID, str | None]] = []
        self.all = threading.Event()
        self._wanted = wanted
        self._turn = threading.Lock()

    def __call__(self, job: uuid.UUID, traceparent: str | None) -> None:
        with self._turn:
            self.messages.append((job, traceparent))
            if len(self.messages) >= self._wanted:
                self.all.set()


def test_a_message_reaches_its_lane_with_its_trace(brokers: Callable[[], Broker]) -> None:
    broker, jobs = brokers(), [uuid.uuid4() for _ in range(3)]
    learn, index = Heard(1), Heard(2)
    broker.consume("learn", learn, threads=2)
    broker.consume("index", index, threads=2)
    broker.publish("learn", jobs[0], TRACE)
    broker.publish("index", jobs[1], None)
    broker.publish("index", jobs[2], None)
    assert learn.all.wait(LIMIT)
    assert index.all.wait(LIMIT)
    assert learn.messages == [(jobs[0], TRACE)]
    assert {job for job, _ in index.messages} == set(jobs[1:])
    assert broker.trouble() == ""


def test_what_was_published_before_anybody_consumes_is_kept(brokers: Callable[[], Broker]) -> None:
    jobs = [uuid.uuid4() for _ in range(50)]
    publisher = brokers()
    for job in jobs:
        publisher.publish("ingest", job, None)
    heard = Heard(50)
    brokers().consume("ingest", heard, threads=1)
    assert heard.all.wait(LIMIT)
    assert {job for job, _ in heard.messages} == set(jobs)


def test_a_lane_is_worked_by_as_many_threads_as_were_asked_for(brokers: Callable[[], Broker]) -> None:
    broker = brokers()
    together = threading.Barrier(3, timeout=LIMIT)
    heard = Heard(3)

    def handler(job: uuid.UUID, traceparent: str | None) -> None:
        together.wait()
        heard(job, traceparent)

    broker.consume("ingest", handler, threads=3)
    for _ in range(3):
        broker.publish("ingest", uuid.uuid4(), None)
    assert heard.all.wait(LIMIT)


def test_stopping_waits_for_the_handler_under_way(brokers: Callable[[], Broker]) -> None:
    broker = brokers()
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def handler(job: uuid.UUID, traceparent: str | None) -> None:
        begun.set()
        assert go_on.wait(LIMIT)
        ended.set()

    broker.consume("ingest", handler, threads=1)
    broker.publish("ingest", uuid.uuid4(), None)
    assert begun.wait(LIMIT)
    threading.Timer(0.2, go_on.set).start()
    broker.stop(seconds=LIMIT)
    assert ended.is_set()


def test_a_broker_that_looks_after_itself_is_not_away(brokers: Callable[[], Broker]) -> None:
    brokers().idle()


@pytest.mark.parametrize("quorum", [False, True], ids=["classic", "quorum"])
def test_what_was_delivered_and_not_begun_goes_to_the_next_consumer(rabbit_url: str, quorum: bool) -> None:
    given = settings(rabbit_url, quorum=quorum, prefix=f"test{uuid.uuid4().hex[:8]}")
    first, second = RabbitBroker(given), RabbitBroker(given)
    begun, go_on = threading.Event(), threading.Event()
    seen: list[uuid.UUID] = []

    def slow(job: uuid.UUID, traceparent: str | None) -> None:
        seen.append(job)
        begun.set()
        assert go_on.wait(LIMIT)

    first.consume("ingest", slow, threads=1)
    jobs = [uuid.uuid4() for _ in range(2)]
    for job in jobs:
        first.publish("ingest", job, None)
    assert begun.wait(LIMIT)
    threading.Timer(0.2, go_on.set).start()
    first.stop(seconds=LIMIT)
    first.close()
    assert len(seen) == 1
    heard = Heard(1)
    second.consume("ingest", heard, threads=1)
    assert heard.all.wait(LIMIT)
    assert {*seen, heard.messages[0][0]} == set(jobs)
    second.stop(seconds=5)
    second.close()


def test_a_message_that_cannot_be_read_goes_to_the_dead_letters_and_holds_nobody_up(rabbit_url: str) -> None:
    broker = RabbitBroker(settings(rabbit_url, prefix=f"test{uuid.uuid4().hex[:8]}"))
    heard = Heard(1)
    broker.consume("ingest", heard, threads=1)
    job = uuid.uuid4()
    broker.publish("graph", job, None)  # declares the queues
    connection = pika.BlockingConnection(pika.URLParameters(rabbit_url))
    channel = connection.channel()
    broker.publish("ingest", job, None)
    assert heard.all.wait(LIMIT)
    channel.basic_publish("", broker.queue("ingest"), b"\xff not a message")
    heard.all.clear()
    broker.publish("ingest", job, None)
    assert heard.all.wait(LIMIT)
    dead = None
    for _ in range(100):
        _, _, dead = channel.basic_get(f"{broker.queue('ingest')}.XQ", auto_ack=True)
        if dead:
            break
        connection.sleep(0.05)
    assert dead == b"\xff not a message"
    connection.close()
    broker.stop(seconds=5)
    broker.close()


def test_queues_are_durable_and_of_the_wanted_type(rabbit_url: str) -> None:
    given = settings(rabbit_url, quorum=True, prefix=f"test{uuid.uuid4().hex[:8]}")
    broker = RabbitBroker(given)
    broker.publish("ingest", uuid.uuid4(), None)
    connection = pika.BlockingConnection(pika.URLParameters(rabbit_url))
    arguments = {
        "x-queue-type": "quorum",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": f"{broker.queue('ingest')}.XQ",
    }
    # declaring it again with the same arguments is the only question that AMQP has
    connection.channel().queue_declare(broker.queue("ingest"), durable=True, arguments=arguments)
    with pytest.raises(pika.exceptions.ChannelClosedByBroker):
        connection.channel().queue_declare(broker.queue("ingest"), durable=True)
    connection.close()
    broker.close()


def test_a_broker_that_is_away_is_busy_and_of_several_addresses_one_that_answers_is_taken(rabbit_url: str) -> None:
    away = settings("amqp://guest:secret-word@127.0.0.1:1/%2F", prefix=f"test{uuid.uuid4().hex[:8]}")
    with pytest.raises(Busy) as raised:
        RabbitBroker(away).publish("ingest", uuid.uuid4(), None)
    assert "secret-word" not in str(raised.value)
    both = RabbitBroker(replace(away, broker=f"{away.broker}; {rabbit_url}"))
    both.publish("ingest", uuid.uuid4(), None)
    both.close()


@pytest.mark.parametrize("url", ["", "  ;", "amqp://host:port", "amqp://h/?heartbeat=never"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        RabbitBroker(settings(url))
    assert "MEMORANDA_BROKER" in f"{raised.value.message} {raised.value.mend}"
    assert "never" not in raised.value.message
