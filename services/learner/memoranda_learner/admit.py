"""Admission: whether a candidate is accepted by the brain's policy. The author's role decides; it is data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memoranda.domain.claim import Policy
from memoranda.domain.evidence import Role

STATED: dict[Policy, frozenset[Role]] = {
    "review": frozenset(),
    "literal": frozenset({"person", "document"}),
    "person_stated": frozenset({"person"}),
    "autonomous": frozenset({"person", "document", "tool", "assistant"}),
}
"""Whose lines each policy accepts without a person. ``literal`` also needs the line to state the value literally."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """How a candidate comes in: its review, its admission, and the policy where one accepted it."""

    review: Literal["proposed", "accepted"]
    admission: Literal["proposed", "uncertain_evidence", "accepted_by_policy"]
    policy: Policy | None


def accepts(policy: Policy, role: Role, *, literal: bool) -> bool:
    """Whether a policy accepts what an author of this role wrote."""
    return role in STATED[policy] and (literal or policy != "literal")


def admit(policy: Policy, role: Role, *, literal: bool, in_conflict: bool) -> Admitted:
    """Conflict before policy. (A rule comes before both; the database applies it to whatever is written.)"""
    if in_conflict:
        return Admitted(review="proposed", admission="uncertain_evidence", policy=None)
    if accepts(policy, role, literal=literal):
        return Admitted(review="accepted", admission="accepted_by_policy", policy=policy)
    return Admitted(review="proposed", admission="proposed", policy=None)
