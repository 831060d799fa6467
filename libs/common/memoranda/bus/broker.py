"""The broker as Memoranda needs it: it carries job ids, and may lose, double, delay or reorder them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

import dramatiq
from dramatiq.brokers.stub import StubBroker

from memoranda.domain.job import LANES, Lane

Handler = Callable[[UUID, str | None], None]
"""What a consumer does with a message: the job's id and the trace context it came with."""


class Broker(Protocol):
    """A doorbell. Nothing depends on a message's arrival: the sweeper rings again."""

    def publish(self, lane: Lane, job: UUID, traceparent: str | None) -> None:
        """Hands a message over. Raises Busy where the broker cannot take it; the job row waits."""
        ...

    def consume(self, lane: Lane, handler: Handler, *, threads: int) -> None:
        """Starts consuming a lane in threads of its own. The handler must not raise."""
        ...

    def idle(self) -> None:
        """Called by the publishing thread when there was nothing to publish for some seconds. Raises Busy where the broker is away."""
        ...

    def trouble(self) -> str:
        """What keeps this process from consuming, in a few words; empty when all is well."""
        ...

    def stop(self, *, seconds: float) -> None:
        """Takes no more messages and returns when the handlers under way have ended, or after so long."""
        ...

    def close(self) -> None:
        """Ends the connections, once nothing is published any more."""
        ...


class InProcessBroker:
    """Dramatiq's in-memory broker: for one process. A crash empties it; the job rows are still there."""

    def __init__(self) -> None:
        self._dramatiq = StubBroker(middleware=[])
        self._workers: list[dramatiq.Worker] = []
        for lane in LANES:
            self._dramatiq.declare_queue(lane)

    def publish(self, lane: Lane, job: UUID, traceparent: str | None) -> None:
        """Puts a message into the lane's queue."""
        message: dramatiq.Message[None] = dramatiq.Message(
            queue_name=lane, actor_name=lane, args=(), kwargs={"job": str(job), "traceparent": traceparent}, options={}
        )
        self._dramatiq.enqueue(message)  # pyright: ignore[reportUnknownMemberType]

    def consume(self, lane: Lane, handler: Handler, *, threads: int) -> None:
        """Runs a Dramatiq worker for one lane, so that a slow lane never holds up another."""

        def run(job: str, traceparent: str | None) -> None:
            handler(UUID(job), traceparent)

        dramatiq.Actor(run, broker=self._dramatiq, actor_name=lane, queue_name=lane, priority=0, options={})
        worker = dramatiq.Worker(self._dramatiq, queues={lane}, worker_threads=threads, worker_timeout=100)
        worker.start()
        self._workers.append(worker)

    def idle(self) -> None:
        """Nothing has to be looked after."""

    def trouble(self) -> str:
        """It cannot be away."""
        return ""

    def stop(self, *, seconds: float) -> None:
        """Stops the workers; each finishes the message it is on."""
        for worker in self._workers:
            worker.stop(timeout=int(seconds * 1000))
        self._workers.clear()

    def close(self) -> None:
        """There is no connection."""
