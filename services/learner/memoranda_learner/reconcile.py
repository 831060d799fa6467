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
    """It was said later, by an author of the same or a higher rank: it ends these at ``at``, and lasts until ``until`` if they did."""

    heads: tuple[Head, ...]
    at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """It was said between two times at which ``head`` was said: that holds before ``at`` and again from ``until`` on."""

    head: Head
    at: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """It was said before ``head`` was, which began only when it was said (``until``): it enters as history."""

    head: Head
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """It contradicts what it cannot replace: both stay, and a person decides."""

    heads: tuple[Head, ...] = field(default=())


Decision = Same | New | Replaces | Between | Earlier | Conflicts


def reconcile(heads: Sequence[Head], *, role: Role, at: datetime) -> Decision:
    """What to do with a candidate that ``role`` said to hold at ``at``.

    Only what is said to hold at that moment stands beside it or against it. In this order: the same value is more evidence; said
    later by the same or a higher rank replaces; said earlier by the same or a lower rank is history, or a time between; what a
    person reviewed is replaced by a person in review only; a word of lower rank that nobody accepted does not count against the
    candidate; the rest are conflicts.
    """
    present = [head for head in heads if head.live and head.covers(at)]
    for head in present:
        if head.same:
            return Same(head=head)
    against = [head for head in present if head.contradicts]
    if not against:
        return New()
    rank = RANKS[role]
    if all(_gives_way(head, rank, at) for head in against):
        ends = [head.statement.valid_to for head in against if head.statement.valid_to is not None]
        return Replaces(heads=tuple(against), at=at, until=min(ends, default=None))
    if len(against) == 1 and _outlasts(against[0], rank, at):
        return _history(against[0], at)
    weighty = tuple(head for head in against if head.accepted or RANKS[head.author_role] >= rank)
    return Conflicts(heads=weighty) if weighty else New()


def _gives_way(head: Head, rank: int, at: datetime) -> bool:
    return not head.reviewed and RANKS[head.author_role] <= rank and head.said_at <= at


def _outlasts(head: Head, rank: int, at: datetime) -> bool:
    return head.said_at > at and RANKS[head.author_role] >= rank


def _history(head: Head, at: datetime) -> Between | Earlier:
    until = min(moment for moment in head.said if moment > at)
    if any(moment <= at for moment in head.said) and not head.reviewed:
        return Between(head=head, at=at, until=until)
    return Earlier(head=head, until=until)
