"""The broker's promises, kept by the one in this process and by a real RabbitMQ with classic and with quorum queues."""

from __future__ import annotations

import threading
import time
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


GOOD = '{"queue_name": "%s", "actor_name": "%s", "args": [], "kwargs": %s, "options": {}, "message_id": "1", "message_timestamp": 1}'
BAD = {
    "no text": b"\xff not a message",
    "nothing": b"",
    "no JSON": b"not json",
    "no message": b"[1, 2]",
    "no actor": b'{"queue_name": "q"}',
    "an unknown actor": (GOOD % ("%s", "from-a-newer-release", "{}")).encode(),
    "other arguments": (GOOD % ("%s", "ingest", '{"payload": 1}')).encode(),
    "no id": (GOOD % ("%s", "ingest", '{"job": "no-uuid", "traceparent": null}')).encode(),
    "ten megabytes": b"x" * 10_000_000,
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_a_message_that_cannot_be_read_goes_to_the_dead_letters_and_holds_nobody_up(rabbit_url: str, body: bytes) -> None:
    broker = RabbitBroker(settings(rabbit_url, prefix=f"test{uuid.uuid4().hex[:8]}"))
    heard = Heard(11)
    broker.consume("ingest", heard, threads=1)
    broker.publish("ingest", uuid.uuid4(), None)
    connection = pika.BlockingConnection(pika.URLParameters(rabbit_url))
    channel = connection.channel()
    channel.basic_publish("", broker.queue("ingest"), body.replace(b"%s", broker.queue("ingest").encode()))
    for _ in range(10):
        broker.publish("ingest", uuid.uuid4(), None)
    assert heard.all.wait(LIMIT)
    dead = None
    for _ in range(100):
        _, _, dead = channel.basic_get(f"{broker.queue('ingest')}.XQ", auto_ack=True)
        if dead is not None:
            break
        connection.sleep(0.05)
    assert dead is not None
    assert broker.trouble() == ""
    connection.close()
    broker.stop(seconds=5)
    broker.close()


@pytest.mark.parametrize(
    "arguments",
    [{"x-max-priority": 5}, {"x-queue-type": "quorum"}, {}],
    ids=["with priorities", "of another type", "without dead letters"],
)
def test_a_queue_that_was_declared_otherwise_is_named(rabbit_url: str, arguments: dict[str, object]) -> None:
    broker = RabbitBroker(settings(rabbit_url, prefix=f"test{uuid.uuid4().hex[:8]}"))
    connection = pika.BlockingConnection(pika.URLParameters(rabbit_url))
    connection.channel().queue_declare(broker.queue("learn"), durable=True, arguments=arguments)
    for _ in range(2):
        with pytest.raises(Busy, match=broker.queue("learn")) as raised:
            broker.idle()
        assert "delete it" in raised.value.mend
    with pytest.raises(Busy, match=broker.queue("learn")):
        broker.publish("learn", uuid.uuid4(), None)
    connection.channel().queue_delete(broker.queue("learn"))
    broker.idle()
    connection.close()
    broker.close()


def test_a_queue_that_is_deleted_is_made_again_by_whoever_publishes_and_by_whoever_consumes(rabbit_url: str) -> None:
    broker = RabbitBroker(settings(rabbit_url, prefix=f"test{uuid.uuid4().hex[:8]}"))
    heard = Heard(1)
    broker.consume("ingest", heard, threads=1)
    broker.publish("ingest", uuid.uuid4(), None)
    assert heard.all.wait(LIMIT)
    connection = pika.BlockingConnection(pika.URLParameters(rabbit_url))
    connection.channel().queue_delete(broker.queue("ingest"))
    heard.all.clear()
    broker.publish("ingest", uuid.uuid4(), None)
    assert heard.all.wait(LIMIT)
    connection.close()
    broker.stop(seconds=5)
    broker.close()


def test_a_publisher_that_was_idle_for_three_heartbeats_publishes_at_once(rabbit_url: str) -> None:
    """Whoever publishes looks after the connection in between; nothing has to be tried twice."""
    broker = RabbitBroker(replace(settings(rabbit_url, prefix=f"test{uuid.uuid4().hex[:8]}"), broker_heartbeat=1))
    broker.publish("ingest", uuid.uuid4(), None)
    connection = broker._dramatiq.connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    for _ in range(8):
        time.sleep(0.5)
        broker.idle()
    broker.publish("ingest", uuid.uuid4(), None)
    assert broker._dramatiq.connection is connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    broker.close()


@pytest.mark.parametrize("address", ["wrong-password@", "/no-such-host"])
def test_a_broker_that_refuses_us_says_so_without_the_password(rabbit_url: str, address: str) -> None:
    user = rabbit_url.partition("//")[2].partition(":")[0]
    host = rabbit_url.rpartition("@")[2]
    url = f"amqp://{user}:wrong-password@{host}" if "password" in address else rabbit_url.rpartition("/")[0] + address
    with pytest.raises(Busy, match="does not let us in") as raised:
        RabbitBroker(settings(url)).idle()
    assert "wrong-password" not in str(raised.value)
    assert "MEMORANDA_BROKER" in raised.value.mend


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
