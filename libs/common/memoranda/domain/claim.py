"""Claims as values: what a writer states, and the head revision of a claim as a writer needs it to decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from memoranda.domain.evidence import EVERYWHERE, Role, Scope

Kind = Literal["fact", "decision", "procedure", "preference", "handover", "recap", "note"]
Polarity = Literal["affirms", "denies"]
Cardinality = Literal["one", "many"]
Policy = Literal["review", "literal", "person_stated", "autonomous"]
Origin = Literal["person", "agent", "model_extracted", "model_reconciled", "model_synthesized", "literal"]
Admission = Literal[
    "proposed", "blocked_by_rule", "uncertain_evidence", "needs_review", "accepted_by_policy", "retired_by_policy", "reviewed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is claimed: a subject, a predicate, a value, where and when it holds."""

    kind: Kind
    subject: str
    predicate: str
    value: str
    sentence: str
    polarity: Polarity = "affirms"
    cardinality: Cardinality = "one"
    scope: Scope = EVERYWHERE
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The latest revision of a claim, with how it compares to a candidate: the database says so, by its keys.

    ``same`` means the same value and polarity; ``contradicts`` that both cannot hold. ``reviewed`` means that a person did.
    ``said`` are the times at which its retained supports were said, in order; ``said_at`` is the last of them. ``disputes`` are the
    claims that it is in open conflict with.
    """

    claim_id: UUID
    revision_id: UUID
    ordinal: int
    statement: Statement
    author_role: Role
    said_at: datetime
    said: tuple[datetime, ...]
    disputes: frozenset[UUID]
    accepted: bool
    reviewed: bool
    live: bool
    same: bool
    contradicts: bool
    policy: str | None
    origin: str
    superseded_by: UUID | None

    def covers(self, moment: datetime) -> bool:
        """Whether it is said to hold at that moment. An unknown bound is an open one."""
        start, end = self.statement.valid_from, self.statement.valid_to
        return (start is None or start <= moment) and (end is None or moment < end)
