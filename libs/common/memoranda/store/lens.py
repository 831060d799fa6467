"""Reading through the lens: every statement selects from its views, in a transaction that a credential opened."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row

from memoranda.domain.evidence import EVERYWHERE, Scope
from memoranda.errors import Forbidden, Invalid, NotFound, NotSignedIn
from memoranda.store import access
from memoranda.store.database import Connection, Database

Mode = Literal["accepted", "operational", "investigation", "history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a reader asks to see: how trusted, when it held (fact time), as known when (knowledge time), and where."""

    mode: Mode = "accepted"
    fact_time: datetime | None = None
    knowledge_time: datetime | None = None
    scope: Scope = EVERYWHERE


ACCEPTED = View()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An open reading transaction. ``knowledge_time`` is the one that its answers are as of: asked again, they are the same."""

    connection: Connection
    brain_id: UUID
    principal_id: UUID
    kind: str
    role: str
    channel: str
    view: View
    fact_time: datetime
    knowledge_time: datetime


OPEN = """
select brain_id, principal_id, kind, role, channel, knowledge_time, refused, clock_timestamp(),
       current_setting('memoranda.fact_time', true)
  from access.open_lens(%(credential)s, %(brain)s, %(mode)s, %(fact_time)s, %(known_at)s, %(repositories)s::text[], %(areas)s::text[],
                        %(environments)s::text[])
"""


@contextmanager
def reading(database: Database, credential: bytes, brain: str, view: View, *, timeout: float) -> Generator[Reading]:
    """Opens the lens for a credential in a brain, for one transaction.

    Waits for whoever writes in the brain at that moment. Raises NotSignedIn, NotFound (unknown brain, or not the caller's),
    Forbidden (history without the right to it), Invalid (a knowledge time in the future), Busy.
    """
    with database.transaction("gateway", timeout=timeout) as connection:
        yield _open(connection, credential, brain, view)


def _open(connection: Connection, credential: bytes, brain: str, view: View) -> Reading:
    parameters = {
        "credential": credential,
        "brain": brain,
        "mode": view.mode,
        "fact_time": view.fact_time,
        "known_at": view.knowledge_time,
        "repositories": list(view.scope.repositories),
        "areas": list(view.scope.areas),
        "environments": list(view.scope.environments),
    }
    row = connection.execute(OPEN, parameters).fetchone()
    if row is None:
        if access.who(connection, credential) is None:
            raise NotSignedIn("this credential is unknown, expired or revoked")
        raise NotFound("there is no such brain", mend="list your brains with GET /v1/brains")
    if row[6] == "history_needs_reviewer":
        raise Forbidden("the history mode needs the role reviewer, or a token that was given it", mend="ask in another mode")
    if view.knowledge_time is not None and view.knowledge_time > row[5]:
        raise Invalid("the knowledge time is in the future", field="knowledge_time", mend="leave it out to ask as of now")
    return Reading(
        connection=connection,
        brain_id=row[0],
        principal_id=row[1],
        kind=row[2],
        role=row[3],
        channel=row[4],
        view=view,
        fact_time=view.fact_time or row[5],
        knowledge_time=row[5],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision as the lens shows it. Where ``withheld`` is a reason, every column with content is None."""

    id: UUID
    claim_id: UUID
    ordinal: int
    recorded_at: datetime
    withheld: str | None
    standing: str
    kind: str
    subject: str | None
    predicate: str | None
    value: str | None
    polarity: str
    statement: str | None
    cardinality: str
    repositories: list[str]
    areas: list[str]
    environments: list[str]
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


_REVISION = """
select id, claim_id, ordinal, recorded_at, withheld, standing, kind, subject, predicate, value, polarity, statement, cardinality,
       repositories, areas, environments, valid_from, valid_to, said_at, author_role, review, lifecycle, freshness, operational,
       observed_at, outcome, admission, origin, superseded_by, reviewer, acceptance_policy, writer, reason, disputed, pinned
  from lens.revision
"""
REVISIONS_BY_ID = _REVISION + " where id = any (%(ids)s)"
LATEST_OF_CLAIMS = _REVISION + " where claim_id = any (%(claims)s) and is_latest"
HISTORY_OF_CLAIM = _REVISION + " where claim_id = %(claim)s order by ordinal"
CLAIMS = (
    _REVISION
    + """
 where is_latest and withheld is null
   and (%(subject)s::text is null or id in (select lens.about(%(subject)s, %(predicate)s)))
   and (%(after_time)s::timestamptz is null or (recorded_at, id) < (%(after_time)s, %(after_id)s::uuid))
 order by recorded_at desc, id desc limit %(limit)s
"""
)


def revisions(reading: Reading, ids: Sequence[UUID]) -> list[Revision]:
    """The revisions of these ids, in no order."""
    with reading.connection.cursor(row_factory=class_row(Revision)) as cursor:
        return cursor.execute(REVISIONS_BY_ID, {"ids": list(ids)}).fetchall()


def latest(reading: Reading, claims: Sequence[UUID]) -> list[Revision]:
    """The latest revision of each of these claims, as known at the lens' knowledge time."""
    with reading.connection.cursor(row_factory=class_row(Revision)) as cursor:
        return cursor.execute(LATEST_OF_CLAIMS, {"claims": list(claims)}).fetchall()


def history(reading: Reading, claim: UUID) -> list[Revision]:
    """Every revision of a claim, oldest first."""
    with reading.connection.cursor(row_factory=class_row(Revision)) as cursor:
        return cursor.execute(HISTORY_OF_CLAIM, {"claim": claim}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """Where a page goes on: behind the row of this time and id."""

    time: datetime
    id: UUID


def claims(reading: Reading, *, subject: str | None, predicate: str | None, after: After | None, limit: int) -> list[Revision]:
    """The claims that the mode lets through, newest first."""
    parameters = {
        "subject": subject,
        "predicate": predicate,
        "after_time": after.time if after else None,
        "after_id": after.id if after else None,
        "limit": limit,
    }
    with reading.connection.cursor(row_factory=class_row(Revision)) as cursor:
        return cursor.execute(CLAIMS, parameters).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A candidate: an id with its score. ``bounded`` says that the search stopped at its bound."""

    id: UUID
    score: float
    bounded: bool


SEARCH_REVISIONS = "select revision_id as id, score, bounded from lens.search_revisions(%(question)s, %(pool)s)"
SEARCH_CHUNKS = "select chunk_id as id, score, bounded from lens.search_chunks(%(question)s, %(pool)s)"
FIND_EXACT = "select revision_id as id, 1.0::float4 as score, false as bounded from lens.find_exact(%(question)s, %(pool)s)"


def _found(reading: Reading, statement: str, question: str, pool: int) -> list[Found]:
    with reading.connection.cursor(row_factory=class_row(Found)) as cursor:
        return cursor.execute(statement, {"question": question, "pool": pool}).fetchall()  # pyright: ignore[reportArgumentType]


def search_revisions(reading: Reading, question: str, pool: int) -> list[Found]:
    """Revisions by the words of a question, best first. Any word may match."""
    return _found(reading, SEARCH_REVISIONS, question, pool)


def search_chunks(reading: Reading, question: str, pool: int) -> list[Found]:
    """Chunks of evidence by the words of a question, best first."""
    return _found(reading, SEARCH_CHUNKS, question, pool)


def find_exact(reading: Reading, question: str, pool: int) -> list[Found]:
    """Revisions that a question names outright."""
    return _found(reading, FIND_EXACT, question, pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """A cited span of a revision."""

    revision_id: UUID
    ordinal: int
    chunk_id: UUID
    first_line: int
    last_line: int
    role: str
    said_at: datetime | None
    withheld: str | None
    excerpt: str | None
    source_id: UUID
    source_kind: str
    host: str
    external_id: str
    title: str | None


SUPPORTS = """
select revision_id, ordinal, chunk_id, first_line, last_line, role, said_at, withheld, excerpt, source_id, source_kind, host,
       external_id, title
  from lens.support where revision_id = any (%(ids)s) order by revision_id, ordinal
"""


def supports(reading: Reading, ids: Sequence[UUID]) -> list[Support]:
    """The supports of these revisions, in their order."""
    with reading.connection.cursor(row_factory=class_row(Support)) as cursor:
        return cursor.execute(SUPPORTS, {"ids": list(ids)}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A chunk of evidence as the lens shows it."""

    id: UUID
    source_id: UUID
    ordinal: int
    first_line: int
    last_line: int
    withheld: str | None
    text: str | None
    run_lines: list[int]
    run_roles: list[str]
    run_said: list[datetime | None]
    abandoned: bool
    source_kind: str
    host: str
    external_id: str
    title: str | None


CHUNKS = """
select id, source_id, ordinal, first_line, last_line, withheld, text, run_lines, run_roles, run_said, abandoned, source_kind, host,
       external_id, title
  from lens.chunk where id = any (%(ids)s)
"""


def chunks(reading: Reading, ids: Sequence[UUID]) -> list[Chunk]:
    """The chunks of these ids, in no order."""
    with reading.connection.cursor(row_factory=class_row(Chunk)) as cursor:
        return cursor.execute(CHUNKS, {"ids": list(ids)}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source and how much came of it."""

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


_SOURCE = """
select id, kind, host, external_id, title, repositories, areas, environments, branch, recorded_at, erased_at, withheld, events,
       versions, chunks from lens.source
"""
SOURCES = (
    _SOURCE
    + """
 where kind in ('session', 'document')
   and (%(after_time)s::timestamptz is null or (recorded_at, id) < (%(after_time)s, %(after_id)s::uuid))
 order by recorded_at desc, id desc limit %(limit)s
"""
)
SOURCE = _SOURCE + " where id = %(id)s"


def sources(reading: Reading, *, after: After | None, limit: int) -> list[Source]:
    """Captured sources, newest first."""
    parameters = {"after_time": after.time if after else None, "after_id": after.id if after else None, "limit": limit}
    with reading.connection.cursor(row_factory=class_row(Source)) as cursor:
        return cursor.execute(SOURCES, parameters).fetchall()


def source(reading: Reading, wanted: UUID) -> Source | None:
    """One source."""
    with reading.connection.cursor(row_factory=class_row(Source)) as cursor:
        return cursor.execute(SOURCE, {"id": wanted}).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """How far a source is sealed."""

    events: int
    sealed_events: int
    versions: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One job of a source, or of one of its versions."""

    kind: str
    state: str
    error: str | None
    result: dict[str, Any] | None


SEALED = "select events, sealed_events, versions, chunks from lens.sealed where source_id = %(id)s"
STEPS = "select kind, state, error, result from lens.progress where source_id = %(id)s"


def sealed(reading: Reading, wanted: UUID) -> Sealed | None:
    """How far a source is sealed, or None for an unknown one."""
    with reading.connection.cursor(row_factory=class_row(Sealed)) as cursor:
        return cursor.execute(SEALED, {"id": wanted}).fetchone()


def steps(reading: Reading, wanted: UUID) -> list[Step]:
    """The jobs of a source."""
    with reading.connection.cursor(row_factory=class_row(Step)) as cursor:
        return cursor.execute(STEPS, {"id": wanted}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two claims that cannot both hold."""

    id: UUID
    left_claim: UUID
    right_claim: UUID
    opened_at: datetime
    closed_at: datetime | None
    resolution: str | None
    resolved_by: str | None
    reason: str | None


_CONFLICT = "select id, left_claim, right_claim, opened_at, closed_at, resolution, resolved_by, reason from lens.conflict"
CONFLICTS = (
    _CONFLICT
    + """
 where (not %(open)s or closed_at is null)
   and (%(after_time)s::timestamptz is null or (opened_at, id) < (%(after_time)s, %(after_id)s::uuid))
 order by opened_at desc, id desc limit %(limit)s
"""
)
CONFLICTS_OF = _CONFLICT + " where left_claim = %(claim)s or right_claim = %(claim)s order by opened_at"


def conflicts(reading: Reading, *, open_only: bool, after: After | None, limit: int) -> list[Conflict]:
    """Conflicts, newest first."""
    parameters = {
        "open": open_only,
        "after_time": after.time if after else None,
        "after_id": after.id if after else None,
        "limit": limit,
    }
    with reading.connection.cursor(row_factory=class_row(Conflict)) as cursor:
        return cursor.execute(CONFLICTS, parameters).fetchall()


def conflicts_of(reading: Reading, claim: UUID) -> list[Conflict]:
    """The conflicts that a claim was ever in, oldest first."""
    with reading.connection.cursor(row_factory=class_row(Conflict)) as cursor:
        return cursor.execute(CONFLICTS_OF, {"claim": claim}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A ban, without what it bans: the revision says that, where the mode lets it."""

    id: UUID
    revision_id: UUID
    cause: str
    made_by: str
    reason: str | None
    recorded_at: datetime


RULES_OF = """
select u.id, u.revision_id, u.cause, u.made_by, u.reason, u.recorded_at from lens.rule u join lens.revision r on r.id = u.revision_id
 where r.claim_id = %(claim)s order by u.recorded_at
"""


def rules_of(reading: Reading, claim: UUID) -> list[Rule]:
    """The rules that a claim's revisions left. Empty for who may not see rules."""
    with reading.connection.cursor(row_factory=class_row(Rule)) as cursor:
        return cursor.execute(RULES_OF, {"claim": claim}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job's row."""

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


_JOB = """
select id, lane, kind, subject_id, state, attempts, max_attempts, not_before, leased_by, leased_until, created_at, finished_at, error,
       result from lens.job
"""
JOBS = (
    _JOB
    + """
 where (%(state)s::text is null or state = %(state)s) and (%(lane)s::text is null or lane = %(lane)s)
 order by created_at desc limit %(limit)s
"""
)
JOB = _JOB + " where id = %(id)s"
JOB_COUNTS = "select state, count(*) from lens.job group by 1 order by 1"


def jobs(reading: Reading, *, state: str | None, lane: str | None, limit: int) -> list[Job]:
    """Jobs of the brain, newest first."""
    with reading.connection.cursor(row_factory=class_row(Job)) as cursor:
        return cursor.execute(JOBS, {"state": state, "lane": lane, "limit": limit}).fetchall()


def job(reading: Reading, wanted: UUID) -> Job | None:
    """One job."""
    with reading.connection.cursor(row_factory=class_row(Job)) as cursor:
        return cursor.execute(JOB, {"id": wanted}).fetchone()


def job_counts(reading: Reading) -> dict[str, int]:
    """How many jobs of the brain are in each state."""
    return dict(reading.connection.execute(JOB_COUNTS).fetchall())


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the audit."""

    id: int
    recorded_at: datetime
    principal: str | None
    principal_kind: str | None
    channel: str | None
    action: str
    subject_type: str
    subject_id: UUID
    reason: str | None
    before_digest: bytes | None
    after_digest: bytes | None
    traceparent: str | None


AUDIT = """
select id, recorded_at, principal, principal_kind, channel, action, subject_type, subject_id, reason, before_digest, after_digest,
       traceparent
  from lens.audit where (%(subject)s::uuid is null or subject_id = %(subject)s) and (%(before)s::bigint is null or id < %(before)s)
 order by id desc limit %(limit)s
"""


def audit(reading: Reading, *, subject: UUID | None, before: int | None, limit: int) -> list[Entry]:
    """The audit, newest first. Empty for who may not see it."""
    with reading.connection.cursor(row_factory=class_row(Entry)) as cursor:
        return cursor.execute(AUDIT, {"subject": subject, "before": before, "limit": limit}).fetchall()
