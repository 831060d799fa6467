"""Fusion of ranked channels: reciprocal rank, with what the question names outright first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
PINNED = 1 / K
"""A pin counts like one more first rank in a channel: it lifts a claim among its like, and past no exact match."""
NAME = f"reciprocal_rank(k={K}), exact first"


@dataclass(slots=True)
class Fused:
    """A candidate with its score and its rank in each channel that found it, from 1 on."""

    id: UUID
    score: float = 0.0
    channels: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def exact(self) -> bool:
        """Whether the question names it outright."""
        return "exact" in self.channels


def fuse(channels: Mapping[str, Sequence[UUID]], *, pinned: frozenset[UUID] = frozenset()) -> list[Fused]:
    """Candidates of all channels, best first. Each adds 1 / (k + rank); ties are broken by id, so that an answer can be repeated."""
    found: dict[UUID, Fused] = {}
    for name, ids in channels.items():
        for rank, candidate in enumerate(ids, start=1):
            fused = found.setdefault(candidate, Fused(candidate))
            fused.channels[name] = rank
            fused.score += 1 / (K + rank)
    for candidate in pinned & found.keys():
        found[candidate].score += PINNED
    return sorted(found.values(), key=lambda fused: (not fused.exact, -fused.score, str(fused.id)))
