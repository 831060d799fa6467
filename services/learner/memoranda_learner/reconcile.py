"""Reconciliation: what a candidate is to the claims that its family has. Pure; the caller holds the brain's write lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memoranda.domain.claim import Head
from memoranda.domain.evidence import RANKS, Role, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The claim is there already: this is more evidence for it."""

    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """Nothing stands against it, or only what does not count against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaces:
    """It was said later, by an author of the same or a higher rank: it ends these at ``at`` and holds until ``next`` begins.

    ``start`` is ``at`` where something held before, and None where nothing is known of the time before.
    """

    heads: tuple[Head, ...]
    at: datetime
    start: datetime | None
    next: Head | None


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
class Outlived:
    """It was said before ``head`` was, which leaves it no time in which it held: it is kept, superseded."""

    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """It contradicts what it cannot replace: both stay, and a person decides."""

    heads: tuple[Head, ...] = field(default=())


Place = New | Replaces | Between | Earlier | Outlived | Conflicts
Decision = Same | Place


def reconcile(heads: Sequence[Head], *, role: Role, at: datetime, scope: Scope) -> Decision:
    """What to do with a candidate that ``role`` said to hold at ``at`` in ``scope``.

    The same value, where it holds at that moment and throughout the scope, is more evidence for it; but a mere proposal that is
    disputed does not keep the candidate from a place of its own right. Everything else is a matter of ``_place``.
    """
    rank = RANKS[role]
    live = [head for head in heads if head.live]
    place = _place([head for head in live if head.contradicts], rank, at, scope)
    for head in live:
        free = head.accepted or isinstance(place, Conflicts) or not clouded(head, heads, role)
        if head.same and free and head.covers(at) and _within(scope, head.statement.scope):
            return Same(head=head)
    return place


def clouded(head: Head, heads: Sequence[Head], role: Role) -> bool:
    """Whether a head is in open conflict with one that counts against a word of this role."""
    return any(other.claim_id in head.disputes and _weighs(other, RANKS[role]) for other in heads)


def _place(rivals: Sequence[Head], rank: int, at: datetime, scope: Scope) -> Place:
    """Where a candidate belongs among what contradicts it.

    Said later by the same or a higher rank it ends what holds at that moment within its scope, and lasts until what was said
    still later begins. Said earlier it is history, or a time between. What a person reviewed is ended by a person's review
    only. A word of lower rank that nobody accepted counts for nothing. The rest are conflicts.
    """

    def gives_way(head: Head) -> bool:
        return not head.reviewed and RANKS[head.author_role] <= rank and head.said_at <= at and _within(head.statement.scope, scope)

    def outlasts(head: Head) -> bool:
        return head.said_at > at and RANKS[head.author_role] >= rank and _within(scope, head.statement.scope)

    past = [head for head in rivals if head.statement.valid_to is not None and head.statement.valid_to <= at]
    ended = [head for head in rivals if head.covers(at) and gives_way(head)]
    against = [head for head in rivals if head not in past and head not in ended and _weighs(head, rank)]
    present = [head for head in against if head.covers(at)]
    following = [head for head in against if head not in present]
    if len(present) == 1 and not ended and outlasts(present[0]):
        return _history(present[0], at)
    if present or not all(outlasts(head) for head in following):
        return Conflicts(heads=tuple(against))
    if not (past or ended or following):
        return New()
    begins = {head.statement.valid_from or at: head for head in reversed(following)}
    successor = begins[min(begins)] if begins else None
    return Replaces(heads=tuple(ended), at=at, start=at if ended or past else None, next=successor)


def _history(head: Head, at: datetime) -> Between | Earlier | Outlived:
    start, end = head.statement.valid_from, head.statement.valid_to
    later = [moment for moment in head.said if moment > at and (end is None or moment < end)]
    before = [moment for moment in head.said if moment <= at]
    if head.reviewed or not later or (start is not None and not before):
        return Outlived(head=head)
    if before:
        return Between(head=head, at=at, until=min(later))
    return Earlier(head=head, until=min(later))


def _weighs(head: Head, rank: int) -> bool:
    return head.accepted or RANKS[head.author_role] >= rank


def _within(inner: Scope, outer: Scope) -> bool:
    """Whether a scope lies in another, in each of its dimensions. An empty list is everywhere."""
    pairs = (
        (inner.repositories, outer.repositories),
        (inner.areas, outer.areas),
        (inner.environments, outer.environments),
    )
    return all(not there or (here and set(here) <= set(there)) for here, there in pairs)
