"""RabbitMQ as the broker: Dramatiq's, with a queue for each lane, confirmed publishing, and nothing delayed in the broker."""

from __future__ import annotations

import logging
import ssl
from typing import Any, cast
from uuid import UUID

import dramatiq
import pika
import pika.exceptions
from dramatiq.brokers.rabbitmq import DEAD_MESSAGE_TTL, RabbitmqBroker
from dramatiq.common import xq_name
from dramatiq.errors import BrokerError
from dramatiq.middleware import Middleware

from memoranda.bus.broker import Handler
from memoranda.domain.job import LANES, Lane
from memoranda.errors import Busy, Misconfigured
from memoranda.settings import Settings

VERSION = "v1"
"""Part of every queue's name. The arguments of a queue can never change: other arguments need another version."""
PATIENCE_SECONDS = 10
"""A broker that has run into its memory or disk alarm takes nothing: a publisher waits so long and then leaves it to the sweeper."""
CONNECT_SECONDS = 5
POLL_MILLISECONDS = 1000
PRECONDITION_FAILED = 406


class DeadLetters(Middleware):
    """Rejects a message whose handling raised. Handlers of jobs never do: it is one that could not be read."""

    def after_process_message(
        self, broker: dramatiq.Broker, message: Any, *, result: object = None, exception: BaseException | None = None
    ) -> None:
        """Dramatiq leaves this to its retries, which are not used."""
        del broker, result
        if exception is not None:
            message.fail()


class Broker(RabbitmqBroker):
    """Dramatiq's broker, whose queues are quorum queues where that is wanted, and which has no queues for delayed messages.

    Dramatiq holds a delayed message unacknowledged in a worker until it is due; here the job's row says when that is.
    """

    def __init__(self, parameters: list[pika.URLParameters], *, quorum: bool) -> None:
        super().__init__(confirm_delivery=True, middleware=[DeadLetters()])
        self.parameters = parameters
        self._quorum = quorum

    def declare_queue(self, queue_name: str, *, ensure: bool = False) -> None:
        """Declares a lane's queue and its dead letters, on the server where ``ensure`` says so."""
        if queue_name not in self.queues:
            self.queues.add(queue_name)
            self.queues_pending.add(queue_name)
            self.emit_after("declare_queue", queue_name)
        if ensure:
            self._ensure_queue(queue_name)  # pyright: ignore[reportUnknownMemberType]

    def _build_queue_arguments(self, queue_name: str) -> dict[str, Any]:
        arguments = cast("dict[str, Any]", super()._build_queue_arguments(queue_name))  # pyright: ignore[reportUnknownMemberType]
        return arguments | {"x-queue-type": "quorum"} if self._quorum else arguments

    def _declare_dq_queue(self, queue_name: str) -> None:
        """Nothing is delayed here."""

    def _declare_xq_queue(self, queue_name: str) -> None:
        """Dead letters are kept as safely as what was alive."""
        arguments: dict[str, Any] = {"x-message-ttl": DEAD_MESSAGE_TTL}
        if self._quorum:
            arguments["x-queue-type"] = "quorum"
        self.channel.queue_declare(queue=xq_name(queue_name), durable=True, arguments=arguments)


class RabbitBroker:
    """One process' connections to RabbitMQ: one to publish, for the one thread that does, and one for each lane that it consumes.

    Each connection tries the given nodes in turn, and is made again when it breaks; what was delivered on it comes again.
    """

    def __init__(self, settings: Settings) -> None:
        """Connects on first use. Raises Misconfigured for an address that is none."""
        self._dramatiq = Broker(_parameters(settings), quorum=settings.broker_quorum)
        self._prefix = settings.broker_prefix
        self._kind = "quorum." if settings.broker_quorum else ""
        self._workers: dict[Lane, dramatiq.Worker] = {}
        for lane in LANES:
            self._dramatiq.declare_queue(self.queue(lane))

    def queue(self, lane: Lane) -> str:
        """The name of a lane's queue; that of its dead letters has .XQ at the end."""
        return f"{self._prefix}.{lane}.{self._kind}{VERSION}"

    def publish(self, lane: Lane, job: UUID, traceparent: str | None) -> None:
        """Publishes a persistent message, and returns when the broker has confirmed that it keeps it. Raises Busy where it does not."""
        message: dramatiq.Message[None] = dramatiq.Message(
            queue_name=self.queue(lane), actor_name=lane, args=(), kwargs={"job": str(job), "traceparent": traceparent}, options={}
        )
        try:
            self._dramatiq.enqueue(message)  # pyright: ignore[reportUnknownMemberType]
        except (BrokerError, pika.exceptions.AMQPError, OSError) as error:
            raise _away(error) from error

    def idle(self) -> None:
        """Answers heartbeats on the publishing connection, and makes it and the queues where they are not there.

        Raises Busy where the broker is away, or has one of the queues with other arguments.
        """
        try:
            for lane in LANES:
                self._dramatiq.declare_queue(self.queue(lane), ensure=True)
            self._dramatiq.connection.process_data_events(0)
        except (BrokerError, pika.exceptions.AMQPError, OSError) as error:
            del self._dramatiq.connection
            raise _away(error) from error

    def consume(self, lane: Lane, handler: Handler, *, threads: int) -> None:
        """Consumes a lane with twice as many messages fetched as threads. A broker that is away is tried again every few seconds."""

        def run(job: str, traceparent: str | None) -> None:
            handler(UUID(job), traceparent)

        queue = self.queue(lane)
        dramatiq.Actor(run, broker=self._dramatiq, actor_name=lane, queue_name=queue, priority=0, options={})
        worker = dramatiq.Worker(self._dramatiq, queues={queue}, worker_threads=threads, worker_timeout=POLL_MILLISECONDS)
        worker.start()
        self._workers[lane] = worker

    def trouble(self) -> str:
        """Names the lanes that are not consumed just now."""
        away = [lane for lane, worker in self._workers.items() if not all(map(_connected, worker.consumers.values()))]
        return f"the broker is away: not consuming {', '.join(away)}" if away else ""

    def stop(self, *, seconds: float) -> None:
        """Ends consuming. What was delivered and not begun goes back to the broker."""
        for worker in self._workers.values():
            worker.stop(timeout=int(seconds * 1000))
        self._workers.clear()

    def close(self) -> None:
        """Ends the connections."""
        self._dramatiq.close()


def _connected(thread: Any) -> bool:
    consumer = thread.consumer
    return consumer is not None and consumer.connection.is_open


def _away(error: Exception) -> Busy:
    cause = error
    while cause.args and isinstance(cause.args[0], Exception):
        cause = cause.args[0]
    if isinstance(cause, pika.exceptions.ChannelClosedByBroker) and cause.reply_code == PRECONDITION_FAILED:
        # the broker names the queue, the argument, what it has and what was asked for
        return Busy(
            f"a queue was declared with other arguments: {cause.reply_text}", mend="delete it in the broker; the jobs are in Postgres"
        )
    if isinstance(cause, (pika.exceptions.ProbableAuthenticationError, pika.exceptions.ProbableAccessDeniedError)):
        return Busy("the broker does not let us in", mend="correct the user, the password or the virtual host in MEMORANDA_BROKER")
    return Busy(f"the broker is away ({type(cause).__name__})")


def _parameters(settings: Settings) -> list[pika.URLParameters]:
    addresses = [address.strip() for address in settings.broker.split(";") if address.strip()]
    if not addresses:
        raise Misconfigured(
            "no broker is named", mend="set MEMORANDA_BROKER to amqp://user:password@host:5672/vhost, several with ';' between them"
        )
    return [_of(address, settings) for address in addresses]


def _of(address: str, settings: Settings) -> pika.URLParameters:
    try:
        parameters = pika.URLParameters(address)
    except (ValueError, TypeError) as error:
        # the address may hold a password
        raise Misconfigured(
            "an address in MEMORANDA_BROKER cannot be read", mend="write it as amqp://user:password@host:5672/vhost"
        ) from error
    if address.startswith("amqps:") and settings.broker_ca_file:
        try:
            context = ssl.create_default_context(cafile=settings.broker_ca_file)
        except OSError as error:
            raise Misconfigured(f"MEMORANDA_BROKER_CA_FILE: {error.strerror} ({settings.broker_ca_file})") from error
        parameters.ssl_options = pika.SSLOptions(context, parameters.host)
    parameters.heartbeat = settings.broker_heartbeat
    parameters.blocked_connection_timeout = PATIENCE_SECONDS
    parameters.socket_timeout = CONNECT_SECONDS
    parameters.stack_timeout = CONNECT_SECONDS * 2
    return parameters


def quiet_logs() -> None:
    """Keeps the libraries' own account of every lost connection out of the log: what matters is said once, by us."""
    for name in ("pika", "dramatiq", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
