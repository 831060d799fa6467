"""A figure: what was measured, and whether it is within its limit."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value. ``limit`` is what it must not pass: from above unless ``at_least``; None where it is only told."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value is within its limit."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def row(self) -> dict[str, Any]:
        """As it is written to the file."""
        return asdict(self) | {"value": round(self.value, 4), "holds": self.holds}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    scale: Literal["small", "full"]
    few_revisions: int
    many_revisions: int
    rules: int
    questions: int
    import_megabytes: int
    captures: int


SMALL = Sizes(scale="small", few_revisions=10_000, many_revisions=100_000, rules=2000, questions=150, import_megabytes=10, captures=60)
FULL = Sizes(scale="full", few_revisions=100_000, many_revisions=1_000_000, rules=10_000, questions=400, import_megabytes=100, captures=300)

Tell = Callable[[str], None]
"""Told of what goes on, for whoever waits."""


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def percentile(seconds: Sequence[float], share: float) -> float:
    """The value that this share of them does not pass."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(seconds: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(seconds)


def machine() -> dict[str, Any]:
    """The machine that this was measured on."""
    model = next((line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {"cpu": model, "cores": os.cpu_count(), "memory_gb": round(int(memory) / 1e6, 1), "python": platform.python_version()}


def _lines(path: str) -> list[str]:
    place = Path(path)
    return place.read_text().splitlines() if place.exists() else []
