"""Reconciliation: what a candidate is to the claims that its family has. Pure; the caller holds the brain's write lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memoranda.domain.claim import Head
from memoranda.domain.evidence import RANKS, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The claim is there already: this is more evidence for it."""

    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """Nothing stands against it, or only what does not count against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaces:
    """It was said later, by an author of the same or a higher rank: it ends these at ``at``."""

    heads: tuple[Head, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """It was said before what holds now: it enters as history, ended by ``head`` at ``until``. ``begins`` marks heads without a start."""

    head: Head
    until: datetime
    begins: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """It contradicts what it cannot replace: both stay, and a person decides."""

    heads: tuple[Head, ...] = field(default=())


Decision = Same | New | Replaces | Earlier | Conflicts


def reconcile(heads: Sequence[Head], *, role: Role, said_at: datetime) -> Decision:
    """What to do with a candidate said by ``role`` at ``said_at``.

    The order is that of succession: said later by the same or a higher rank replaces; said earlier by the same or a lower rank
    is history; what a person reviewed is replaced by a person in review only; a word of lower rank that nobody accepted does
    not count against the candidate; the rest are conflicts.
    """
    live = [head for head in heads if head.live]
    for head in live:
        if head.same:
            return Same(head=head)
    against = [head for head in live if head.contradicts]
    if not against:
        return New()
    rank = RANKS[role]
    if all(_gives_way(head, rank, said_at) for head in against):
        return Replaces(heads=tuple(against), at=said_at)
    later = [head for head in against if said_at < head.said_at and RANKS[head.author_role] >= rank]
    if later:
        earliest = min(later, key=lambda head: head.said_at)
        until = earliest.statement.valid_from or earliest.said_at
        return Earlier(head=earliest, until=until, begins=earliest.statement.valid_from is None)
    weighty = tuple(head for head in against if head.accepted or RANKS[head.author_role] >= rank)
    return Conflicts(heads=weighty) if weighty else New()


def _gives_way(head: Head, rank: int, said_at: datetime) -> bool:
    return not head.reviewed and RANKS[head.author_role] <= rank and head.said_at <= said_at
