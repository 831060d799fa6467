"""Jobs: units of work in Postgres, and the time-limited right to do one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

Lane = Literal["ingest", "learn", "index", "graph"]
LANES: tuple[Lane, ...] = ("ingest", "learn", "index", "graph")


@dataclass(frozen=True, slots=True)
class Line:
    """A brain's jobs in one lane: they are done in the order in which they came due, and take turns with those of other brains."""

    brain_id: UUID
    lane: Lane


Ring = Callable[[Iterable[Line]], object]
"""Is told of lines in which jobs may be due. Returns soon and does not raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to do a job until ``leased_until``, under a fencing token that no later lease shares."""

    id: UUID
    brain_id: UUID
    lane: Lane
    kind: str
    subject_id: UUID
    attempts: int
    max_attempts: int
    fencing_token: int
    leased_until: datetime
    traceparent: str | None

    @property
    def line(self) -> Line:
        """The line that the job stood in."""
        return Line(self.brain_id, self.lane)


def backoff(attempts: int, *, jitter: random.Random | None = None) -> timedelta:
    """How long a failed job waits: 1, 2, 4 … 300 seconds, each drawn from the upper half of its step.

    The half-open jitter keeps jobs that failed together from coming back together.
    """
    step = min(300.0, 2.0 ** max(0, attempts - 1))
    draw = (jitter or random).uniform(0.5, 1.0)
    return timedelta(seconds=step * draw)
