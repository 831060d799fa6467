"""The shapes of the REST API. A field that is not named here is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from memoranda.domain.evidence import Scope

Mode = Literal["accepted", "operational", "investigation", "history"]
EARLIEST, LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""Times beyond leave no room for arithmetic with time zones: in UTC they may lie where Python has no years."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Moment = Annotated[AwareDatetime, Field(ge=EARLIEST, lt=LATEST)]
Name = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_not_blank)]
Reason = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_not_blank)]
Value = Annotated[str, Field(min_length=1, max_length=8000), AfterValidator(_not_blank)]
Sentence = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_not_blank)]


class Wire(BaseModel):
    """A request's shape."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(BaseModel):
    """An answer's shape."""

    model_config = ConfigDict(from_attributes=True)


class Problem(BaseModel):
    """RFC 9457, with what became of the command. ``not_applied``: nothing was stored, the idempotency key is not used up."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    mend: str = ""
    field: str | None = None
    outcome: Literal["not_applied", "unknown"]
    retry: bool
    claim_id: str | None = None
    incident: str | None = None


class ScopeIn(Wire):
    """Where something applies. An empty list means everywhere."""

    repositories: list[Name] = Field(default=[], max_length=50)
    areas: list[Name] = Field(default=[], max_length=50)
    environments: list[Name] = Field(default=[], max_length=50)

    def scope(self) -> Scope:
        """As the domain has it."""
        return Scope(repositories=tuple(self.repositories), areas=tuple(self.areas), environments=tuple(self.environments))


class ScopeOut(Answer):
    """Where something applies."""

    repositories: list[str]
    areas: list[str]
    environments: list[str]


class SignIn(Wire):
    """The secret of a one-time link."""

    link: Annotated[str, Field(min_length=10, max_length=200)]


class SignedIn(Answer):
    """Who signed in, and the token that every write of this browser session must carry in X-CSRF-Token."""

    name: str
    csrf_token: str


class NewBrain(Wire):
    """A brain to make. Under the policy ``review`` nothing is accepted without a person."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    policy: Literal["review", "literal", "person_stated", "autonomous"] = "review"


class BrainOut(Answer):
    """A brain and the caller's role in it."""

    slug: str
    name: str
    policy: str
    role: str
    created_at: datetime


class Brains(Answer):
    """The caller's brains."""

    items: list[BrainOut]


class Me(Answer):
    """Who the credential belongs to."""

    name: str
    kind: str
    channel: str
    brains: list[BrainOut]


class NewToken(Wire):
    """A token to give an agent."""

    agent: Annotated[str, Field(min_length=1, max_length=200)]
    role: Literal["reader", "writer"] = "writer"
    reads_history: bool = False
    label: Annotated[str, Field(min_length=1, max_length=200)] = "token"
    expires_at: Moment | None = None


class TokenGiven(Answer):
    """A token, shown this once: null where an idempotency key is replayed. Revoke it then, and give another."""

    id: UUID
    token: str | None = None


class TokenOut(Answer):
    """What is known of a token."""

    id: UUID
    agent: str
    role: str
    reads_history: bool
    label: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class Tokens(Answer):
    """The brain's tokens."""

    items: list[TokenOut]


class SourceIn(Wire):
    """What a capture comes from. ``external_id`` names it within its host and never changes."""

    host: Annotated[str, Field(min_length=1, max_length=100)]
    external_id: Annotated[str, Field(min_length=1, max_length=500)]
    kind: Literal["session", "document"] = "session"
    title: Annotated[str, Field(max_length=2000)] = ""
    repositories: list[Name] = Field(default=[], max_length=50)
    areas: list[Name] = Field(default=[], max_length=50)
    environments: list[Name] = Field(default=[], max_length=50)
    branch: Annotated[str, Field(max_length=500)] | None = None


class EventIn(Wire):
    """One thing that one author said or did, in the order of the list."""

    key: Annotated[str, Field(min_length=1, max_length=500)]
    parent_key: Annotated[str, Field(max_length=500)] | None = None
    role: Literal["person", "assistant", "tool", "document", "memoranda"]
    kind: Literal["prompt", "reply", "tool_call", "tool_result", "summary", "notice", "document"]
    said_at: Moment | None = None
    text: Annotated[str, Field(max_length=2_000_000)]
    abandoned: bool = False


class CaptureIn(Wire):
    """A batch of one source's events. ``last`` says that nothing follows for now, so that it is sealed at once."""

    source: SourceIn
    events: list[EventIn] = Field(max_length=2000)
    last: bool = True


class Differing(Answer):
    """An event whose key is known with other content. It was not stored."""

    index: int
    key: str


class Captured(Answer):
    """What became of a batch."""

    source_id: UUID
    received: int
    new: int
    duplicate: int
    differing: list[Differing]
    masked: dict[str, int]
    job_id: UUID | None


class SourceOut(Answer):
    """A captured source."""

    id: UUID
    kind: str
    host: str
    external_id: str
    title: str | None
    repositories: list[str]
    areas: list[str]
    environments: list[str]
    branch: str | None
    recorded_at: datetime
    erased_at: datetime | None
    withheld: str | None
    events: int
    versions: int
    chunks: int


class Sources(Answer):
    """A page of sources."""

    items: list[SourceOut]
    next: str | None


class Progress(Answer):
    """How far a source has come."""

    source_id: UUID
    events: int
    sealed_events: int
    versions: int
    chunks: int
    jobs: dict[str, int]
    done: bool
    claims: dict[str, int]
    error: str | None


class Erasure(Answer):
    """What an erasure reached."""

    erased_revisions: int


class SupportIn(Wire):
    """Cited lines of a chunk that recall showed."""

    chunk_id: UUID
    first_line: int = Field(ge=1, le=2**31 - 1)
    last_line: int = Field(ge=1, le=2**31 - 1)


class _Stated(Wire):
    value: Value
    statement: Sentence | None = None
    kind: Literal["fact", "decision", "procedure", "preference", "note"] = "fact"
    polarity: Literal["affirms", "denies"] = "affirms"
    cardinality: Literal["one", "many"] = "one"
    scope: ScopeIn = ScopeIn()
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    evidence: Annotated[str, Field(max_length=20_000)] | None = None
    supports: list[SupportIn] = Field(default=[], max_length=20)
    operational: Literal["declared", "implemented", "deployed", "verified"] = "declared"
    observed_at: Moment | None = None
    outcome: Annotated[str, Field(max_length=2000)] | None = None


class ClaimIn(_Stated):
    """A claim to propose."""

    subject: Name
    predicate: Name


class ReviseIn(_Stated):
    """What one of the writer's own unreviewed proposals is to say instead. Its subject and predicate stay."""

    reason: Reason | None = None


class ReasonIn(Wire):
    """Why."""

    reason: Reason


class Told(Answer):
    """What a writer is told of what it wrote."""

    claim_id: UUID
    revision_id: UUID | None = None
    ordinal: int | None = None
    recorded_at: datetime | None = None
    review: str | None = None
    admission: str | None = None
    conflicts: list[UUID] = []
    rule_id: UUID | None = None
    exempted_from: list[UUID] | None = None
    pinned: bool | None = None
    flagged: bool | None = None
    erased_revisions: int | None = None
    erased: bool | None = None


class ReviewIn(Wire):
    """A person's decision about a claim. ``revision_id`` refuses it where the claim moved on since it was shown."""

    action: Literal["accept", "reject", "correct", "withdraw", "restore", "revalidate", "pin", "unpin", "erase"]
    reason: Reason
    value: Value | None = None
    statement: Sentence | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    scope: ScopeIn | None = None
    revision_id: UUID | None = None


class ResolutionIn(Wire):
    """How a person ends a conflict."""

    how: Literal["keep_one", "keep_both", "retract", "replace"]
    reason: Reason
    keep: UUID | None = None
    value: Value | None = None


class Resolved(Answer):
    """How a conflict ended."""

    conflict_id: UUID
    resolution: str
    claims: list[Told]


class SourceRef(Answer):
    """Where a span comes from."""

    id: UUID
    kind: str
    host: str
    external_id: str
    title: str | None


class SupportOut(Answer):
    """A cited span, who wrote it and when it was said."""

    role: str
    said_at: datetime | None
    excerpt: str | None
    withheld: str | None
    chunk_id: UUID
    first_line: int
    last_line: int
    source: SourceRef


class ClaimOut(Answer):
    """A revision of a claim with its standing. Where ``withheld`` is a reason, every field with content is null."""

    claim_id: UUID
    revision_id: UUID
    ordinal: int
    recorded_at: datetime
    standing: str
    withheld: str | None
    kind: str
    subject: str | None
    predicate: str | None
    value: str | None
    polarity: str
    statement: str | None
    cardinality: str
    scope: ScopeOut
    valid_from: datetime | None
    valid_to: datetime | None
    said_at: datetime
    author_role: str
    review: str
    lifecycle: str
    freshness: str
    operational: str
    observed_at: datetime | None
    outcome: str | None
    admission: str
    origin: str
    superseded_by: UUID | None
    reviewer: str | None
    acceptance_policy: str | None
    writer: str | None
    reason: str | None
    disputed: bool
    pinned: bool
    supports: list[SupportOut] = []
    score: float | None = None
    channels: dict[str, int] | None = None


class Claims(Answer):
    """A page of claims."""

    items: list[ClaimOut]
    next: str | None


class ConflictOut(Answer):
    """Two claims that cannot both hold."""

    id: UUID
    left: ClaimOut | None
    right: ClaimOut | None
    opened_at: datetime
    closed_at: datetime | None
    resolution: str | None
    resolved_by: str | None
    reason: str | None


class Conflicts(Answer):
    """A page of conflicts."""

    items: list[ConflictOut]
    next: str | None


class RuleOut(Answer):
    """A ban that a claim's revision left."""

    id: UUID
    revision_id: UUID
    cause: str
    made_by: str
    reason: str | None
    recorded_at: datetime


class History(Answer):
    """A claim's whole chain, oldest first."""

    items: list[ClaimOut]
    conflicts: list[ConflictOut]
    rules: list[RuleOut]


class RecallIn(Wire):
    """A question."""

    question: Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_not_blank)]
    mode: Mode = "accepted"
    fact_time: Moment | None = None
    knowledge_time: Moment | None = None
    scope: ScopeIn = ScopeIn()
    limit: int = Field(default=10, ge=1, le=50)
    budget_bytes: int = Field(default=16_384, ge=1024, le=65_536)


class RunOut(Answer):
    """A run of lines by one author."""

    line: int
    role: str
    said_at: datetime | None


class EvidenceOut(Answer):
    """Raw lines of a source. Nobody reviewed them."""

    chunk_id: UUID
    source: SourceRef
    first_line: int
    last_line: int
    text: str
    cut: bool
    abandoned: bool
    runs: list[RunOut]
    score: float


class Framing(Answer):
    """The mark before recalled text, and what it is."""

    open: str
    note: str


class Coverage(Answer):
    """What the answer was made of, and what was left out."""

    mode: str
    fact_time: datetime
    knowledge_time: datetime
    scope: ScopeOut
    channels: list[str]
    fusion: str
    candidates: int
    withheld: dict[str, int]
    truncated: bool
    bounds: list[str]


class Recalled(Answer):
    """An answer. What is accepted, what is only proposed, and raw evidence stand apart."""

    framing: Framing
    accepted: list[ClaimOut]
    proposed: list[ClaimOut]
    evidence: list[EvidenceOut]
    coverage: Coverage
    close: str


class JobOut(Answer):
    """A job."""

    id: UUID
    lane: str
    kind: str
    subject_id: UUID
    state: str
    attempts: int
    max_attempts: int
    not_before: datetime
    leased_by: str | None
    leased_until: datetime | None
    created_at: datetime
    finished_at: datetime | None
    error: str | None
    result: dict[str, Any] | None


class Jobs(Answer):
    """Jobs, newest first, and how many are in each state."""

    items: list[JobOut]
    counts: dict[str, int]


class LaneOut(Answer):
    """The brain's jobs in a lane: due and not taken, in work, in work beyond their lease, waiting for another attempt, and dead."""

    lane: str
    waiting: int
    oldest_seconds: float
    leased: int
    overrun: int
    retrying: int
    dead: int
    errors: list[str]


class WorkerOut(Answer):
    """A worker's process, when it was last seen, how wrong its clock is, and what keeps it from working."""

    name: str
    lane: str
    version: str
    state: str
    holds: int
    silent_seconds: float
    clock_ahead_seconds: float
    trouble: str


class Pipeline(Answer):
    """What waits, who works, and what keeps this API from publishing jobs. Without a bus the lanes are worked in the same process."""

    bus: Literal["in this process", "rabbitmq"]
    bus_trouble: str
    lanes: list[LaneOut]
    workers: list[WorkerOut]


class Requeued(Answer):
    """A dead job that has its attempts back."""

    id: UUID
    state: str


class EntryOut(Answer):
    """One line of the audit. Digests are hexadecimal."""

    id: int
    recorded_at: datetime
    principal: str | None
    principal_kind: str | None
    channel: str | None
    action: str
    subject_type: str
    subject_id: UUID
    reason: str | None
    before_digest: str | None
    after_digest: str | None
    traceparent: str | None


class Audit(Answer):
    """A page of the audit, newest first."""

    items: list[EntryOut]
    next: int | None


class Health(Answer):
    """Whether the process lives, or is ready."""

    status: str
    checks: dict[str, str] = {}
