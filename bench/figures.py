"""What a measurement comes to: a named value, its unit, and the limit that it has to keep, if it has one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. ``keeps`` says on which side of the limit the value has to stay."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    keeps: Literal["at most", "at least"] = "at most"
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the limit holds; a figure without one always does."""
        if self.limit is None:
            return True
        return self.value <= self.limit if self.keeps == "at most" else self.value >= self.limit

    def as_json(self) -> dict[str, Any]:
        """The figure for bench.json."""
        return {
            "name": self.name,
            "value": round(self.value, 4),
            "unit": self.unit,
            "limit": self.limit,
            "holds": self.holds,
            **({"keeps": self.keeps} if self.limit is not None else {}),
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is made and asked. ``small`` fits a CI run; ``full`` is the one that counts."""

    revisions: int
    grown: int
    chunks: int
    rules: int
    questions: int
    import_megabytes: int
    stored_megabytes: int
    batches: int
    jobs: int
    captures: int


SCALES: dict[str, Sizes] = {
    "small": Sizes(
        revisions=10_000,
        grown=100_000,
        chunks=5_000,
        rules=1_000,
        questions=200,
        import_megabytes=10,
        # against a smaller import the start of the command would be what is measured
        stored_megabytes=400,
        batches=80,
        jobs=1_000,
        captures=20,
    ),
    "full": Sizes(
        revisions=100_000,
        grown=1_000_000,
        chunks=100_000,
        rules=10_000,
        questions=1_000,
        import_megabytes=100,
        stored_megabytes=400,
        batches=400,
        jobs=5_000,
        captures=100,
    ),
}

Say = Callable[[str], None]
"""Told what is being done, in a few words."""


def p50(seconds: Sequence[float]) -> float:
    """The median."""
    return statistics.median(seconds)


def p95(seconds: Sequence[float]) -> float:
    """The time that nineteen of twenty stay under."""
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]
