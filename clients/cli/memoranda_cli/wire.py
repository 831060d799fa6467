"""The shapes that the REST API answers with, as far as the command line reads them."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Source(TypedDict):
    """Where something was captured."""

    id: str
    kind: str
    host: str
    external_id: str
    title: str | None


class Support(TypedDict):
    """A cited span and who wrote it. A withheld one has no excerpt."""

    role: str
    said_at: str | None
    excerpt: str | None
    withheld: str | None
    chunk_id: str
    first_line: int
    last_line: int
    source: Source | None


class Claim(TypedDict):
    """One revision of a claim as the lens shows it; where ``withheld`` is a reason, every content field is null."""

    claim_id: str
    revision_id: str
    ordinal: int
    recorded_at: str
    standing: str
    withheld: str | None
    kind: str
    subject: str | None
    predicate: str | None
    value: str | None
    polarity: str
    statement: str | None
    said_at: str | None
    author_role: str
    review: str
    lifecycle: str
    freshness: str
    admission: str
    origin: str
    reviewer: str | None
    acceptance_policy: str | None
    writer: str | None
    reason: str | None
    disputed: NotRequired[bool]
    supports: list[Support]


class Run(TypedDict):
    """A run of lines by one author: it begins at ``line`` and goes on to the next run."""

    line: int
    role: str
    said_at: str | None


class Evidence(TypedDict):
    """A raw chunk."""

    chunk_id: str
    source: Source
    first_line: int
    last_line: int
    text: str
    runs: list[Run]


class Coverage(TypedDict):
    """What an answer was made from and what it left out."""

    mode: str
    fact_time: str
    knowledge_time: str
    channels: list[str]
    candidates: int
    withheld: dict[str, int]
    truncated: bool
    bounds: list[Any]


class Recalled(TypedDict):
    """An answer: what is accepted, what is merely proposed, and raw evidence, apart."""

    accepted: list[Claim]
    proposed: list[Claim]
    evidence: list[Evidence]
    coverage: Coverage


class Learned(TypedDict):
    """What the learner made of a source."""

    learned: int
    accepted: int
    proposed: int
    blocked: int
    added_support: int
    replaced: int
    dropped: int


class Progress(TypedDict):
    """How far a source has come."""

    source_id: str
    events: int
    sealed_events: int
    versions: int
    chunks: int
    jobs: dict[str, int]
    done: bool
    claims: Learned
    error: NotRequired[str | None]


class Captured(TypedDict):
    """What became of a batch of events."""

    source_id: str
    received: int
    new: int
    duplicate: int
    differing: list[dict[str, Any]]
    masked: dict[str, int]
    job_id: str | None
