"""Claims and their revisions, and what people decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from memoranda.domain.claim import Head, Statement
from memoranda.domain.evidence import Citation, Scope
from memoranda.domain.ids import new_id
from memoranda.store.database import Connection

LOCK = "select access.stamp(%(brain_id)s)"


def lock(connection: Connection, brain_id: UUID) -> datetime:
    """Makes this transaction the brain's one writer until it ends, and returns the time from which on it writes."""
    row = connection.execute(LOCK, {"brain_id": brain_id}).fetchone()
    assert row is not None
    return row[0]


HEADS = """
with candidate as (
  select ledger.family_of(evidence.name_key(%(subject)s), evidence.name_key(%(predicate)s)) as family,
         ledger.rule_key_of(evidence.name_key(%(subject)s), evidence.name_key(%(predicate)s), evidence.value_key(%(value)s),
                            %(polarity)s) as rule_key, evidence.value_key(%(value)s) as value_key
)
select h.claim_id, h.id, h.ordinal, h.kind, h.subject, h.predicate, h.value, h.statement, h.polarity, h.cardinality, h.repositories,
       h.areas, h.environments, h.valid_from, h.valid_to, h.author_role, h.said_at, h.review = 'accepted', h.reviewer_id is not null,
       ledger.is_live(h.review, h.lifecycle, h.freshness, h.admission, h.erased_at)
         and not exists (select from ledger.binding_rules(h))
         and (exists (select from ledger.support u join evidence.chunk k on k.id = u.chunk_id
                       where u.revision_id = h.id and k.erased_at is null)
              or exists (select from ledger.derivation d where d.revision_id = h.id)),
       h.rule_key = c.rule_key and s.meet,
       s.meet and case when h.polarity = %(polarity)s
         then h.polarity = 'affirms' and h.value_key <> c.value_key and h.cardinality = 'one' and %(cardinality)s = 'one'
         else h.value_key = c.value_key end,
       h.acceptance_policy, h.origin, h.superseded_by,
       array(select case k.left_claim when h.claim_id then k.right_claim else k.left_claim end from ledger.conflict k
              where k.closed_at is null and h.claim_id in (k.left_claim, k.right_claim)),
       array(select coalesce(u.said_at, h.said_at) from ledger.support u join evidence.chunk k on k.id = u.chunk_id
              where u.revision_id = h.id and k.erased_at is null order by 1)
  from candidate c
  cross join lateral ledger.family_heads(%(brain_id)s, c.family) h
  cross join lateral (select evidence.scopes_meet(h.repositories, h.areas, h.environments, %(repositories)s, %(areas)s, %(environments)s)
         and ledger.period(h.valid_from, h.valid_to) && ledger.period(%(valid_from)s, %(valid_to)s) as meet) s
 where h.erased_at is null
 order by h.said_at, h.claim_id
"""


def heads(connection: Connection, brain_id: UUID, statement: Statement) -> list[Head]:
    """The heads of the statement's family, oldest said first, compared with it.

    Call it under ``lock``: otherwise another writer may add one that this does not see.
    """
    rows = connection.execute(HEADS, {"brain_id": brain_id, **_columns(statement)}).fetchall()
    return [
        Head(
            claim_id=row[0],
            revision_id=row[1],
            ordinal=row[2],
            statement=Statement(
                kind=row[3],
                subject=row[4],
                predicate=row[5],
                value=row[6],
                sentence=row[7],
                polarity=row[8],
                cardinality=row[9],
                scope=Scope(repositories=tuple(row[10]), areas=tuple(row[11]), environments=tuple(row[12])),
                valid_from=row[13],
                valid_to=row[14],
            ),
            author_role=row[15],
            said_at=row[16],
            accepted=row[17],
            reviewed=row[18],
            live=row[19],
            same=row[20],
            contradicts=row[21],
            policy=row[22],
            origin=row[23],
            superseded_by=row[24],
            disputes=frozenset(row[25]),
            said=tuple(row[26]) or (row[16],),
        )
        for row in rows
    ]


BANNED = """
select exists (select from ledger.rule u
  where u.brain_id = %(brain_id)s
    and u.rule_key = ledger.rule_key_of(evidence.name_key(%(subject)s), evidence.name_key(%(predicate)s), evidence.value_key(%(value)s),
                                        %(polarity)s)
    and evidence.scopes_meet(u.repositories, u.areas, u.environments, %(repositories)s, %(areas)s, %(environments)s)
    and ledger.period(u.valid_from, u.valid_to) && ledger.period(%(valid_from)s, %(valid_to)s))
"""


def is_banned(connection: Connection, brain_id: UUID, statement: Statement) -> bool:
    """Whether a rule bans the statement. The database asks again when it is written."""
    row = connection.execute(BANNED, {"brain_id": brain_id, **_columns(statement)}).fetchone()
    return bool(row and row[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a revision is to stand when it is written. The database checks who may say so."""

    review: Literal["proposed", "accepted", "rejected"] = "proposed"
    lifecycle: Literal["active", "withdrawn", "expired"] = "active"
    freshness: Literal["current", "needs_verification", "superseded", "unsupported"] = "current"
    admission: str = "proposed"
    origin: str = "agent"
    reviewer_id: UUID | None = None
    acceptance_policy: str | None = None
    superseded_by: UUID | None = None
    operational: str = "declared"
    observed_at: datetime | None = None
    outcome: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A revision as the database admitted it."""

    id: UUID
    claim_id: UUID
    ordinal: int
    recorded_at: datetime
    review: str
    admission: str


ADD_CLAIM = "insert into ledger.claim (id, brain_id) values (%(id)s, %(brain_id)s)"
ADD_SUPPORT = """
insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line)
values (%(brain_id)s, %(revision_id)s, %(ordinal)s, %(chunk_id)s, %(first_line)s, %(last_line)s)
"""
ADD_REVISION = """
insert into ledger.revision (id, brain_id, claim_id, kind, subject, predicate, value, statement, polarity, cardinality, repositories,
  areas, environments, valid_from, valid_to, review, lifecycle, freshness, admission, origin, reviewer_id, acceptance_policy,
  superseded_by, operational, observed_at, outcome, reason, ordinal, recorded_at, said_at, author_role, family, rule_key, digest)
values (%(id)s, %(brain_id)s, %(claim_id)s, %(kind)s, %(subject)s, %(predicate)s, %(value)s, %(sentence)s, %(polarity)s, %(cardinality)s,
  %(repositories)s, %(areas)s, %(environments)s, %(valid_from)s, %(valid_to)s, %(review)s, %(lifecycle)s, %(freshness)s, %(admission)s,
  %(origin)s, %(reviewer_id)s, %(acceptance_policy)s, %(superseded_by)s, %(operational)s, %(observed_at)s, %(outcome)s, %(reason)s,
  0, clock_timestamp(), clock_timestamp(), 'assistant', '', '', '')
returning id, claim_id, ordinal, recorded_at, review, admission
"""


def new_claim(connection: Connection, brain_id: UUID) -> UUID:
    """A claim whose first revision is written later in this transaction."""
    claim = new_id()
    connection.execute(ADD_CLAIM, {"id": claim, "brain_id": brain_id})
    return claim


def write(
    connection: Connection,
    brain_id: UUID,
    statement: Statement,
    standing: Standing,
    citations: Sequence[Citation],
    *,
    claim_id: UUID | None = None,
    revision_id: UUID | None = None,
) -> Written:
    """Appends a revision with its supports; a new claim where ``claim_id`` is None.

    Times, keys, the author's role and the digest are the database's. A rule that bans it makes it ``blocked_by_rule``.
    Raises EvidenceGone, Invalid, Forbidden, BannedValue, SupersedeOwn: in each case the transaction has to roll back.
    """
    revision = revision_id or new_id()
    claim = claim_id or new_claim(connection, brain_id)
    for place, citation in enumerate(citations, start=1):
        support = {
            "brain_id": brain_id,
            "revision_id": revision,
            "ordinal": place,
            "chunk_id": citation.chunk_id,
            "first_line": citation.first_line,
            "last_line": citation.last_line,
        }
        connection.execute(ADD_SUPPORT, support)
    parameters = {"id": revision, "brain_id": brain_id, "claim_id": claim, **_columns(statement), **_standing(standing)}
    with connection.cursor(row_factory=class_row(Written)) as cursor:
        row = cursor.execute(ADD_REVISION, parameters).fetchone()
    assert row is not None
    return row


def _columns(statement: Statement) -> dict[str, object]:
    return {
        "kind": statement.kind,
        "subject": statement.subject,
        "predicate": statement.predicate,
        "value": statement.value,
        "sentence": statement.sentence,
        "polarity": statement.polarity,
        "cardinality": statement.cardinality,
        "repositories": list(statement.scope.repositories),
        "areas": list(statement.scope.areas),
        "environments": list(statement.scope.environments),
        "valid_from": statement.valid_from,
        "valid_to": statement.valid_to,
    }


def _standing(standing: Standing) -> dict[str, object]:
    return {
        "review": standing.review,
        "lifecycle": standing.lifecycle,
        "freshness": standing.freshness,
        "admission": standing.admission,
        "origin": standing.origin,
        "reviewer_id": standing.reviewer_id,
        "acceptance_policy": standing.acceptance_policy,
        "superseded_by": standing.superseded_by,
        "operational": standing.operational,
        "observed_at": standing.observed_at,
        "outcome": standing.outcome,
        "reason": standing.reason,
    }


HEAD_OF = """
select h.kind, h.subject, h.predicate, h.value, h.statement, h.polarity, h.cardinality, h.repositories, h.areas, h.environments,
       h.valid_from, h.valid_to, h.id, h.review, h.lifecycle, h.freshness, h.admission, h.origin, h.reviewer_id, h.acceptance_policy,
       h.superseded_by, h.operational, h.observed_at, h.outcome, h.reason, h.principal_id, h.erased_at, h.ordinal
  from ledger.revision h where h.claim_id = %(claim_id)s and h.brain_id = %(brain_id)s order by h.ordinal desc limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The latest revision of one claim, whole. ``statement`` is None once it was erased."""

    revision_id: UUID
    ordinal: int
    statement: Statement | None
    standing: Standing
    principal_id: UUID | None


def current(connection: Connection, brain_id: UUID, claim_id: UUID) -> Current | None:
    """The latest revision of a claim. Call it under ``lock`` before writing the next one."""
    row = connection.execute(HEAD_OF, {"claim_id": claim_id, "brain_id": brain_id}).fetchone()
    if row is None:
        return None
    statement = None
    if row[26] is None:
        scope = Scope(repositories=tuple(row[7]), areas=tuple(row[8]), environments=tuple(row[9]))
        statement = Statement(
            kind=row[0],
            subject=row[1],
            predicate=row[2],
            value=row[3],
            sentence=row[4],
            polarity=row[5],
            cardinality=row[6],
            scope=scope,
            valid_from=row[10],
            valid_to=row[11],
        )
    standing = Standing(
        review=row[13],
        lifecycle=row[14],
        freshness=row[15],
        admission=row[16],
        origin=row[17],
        reviewer_id=row[18],
        acceptance_policy=row[19],
        superseded_by=row[20],
        operational=row[21],
        observed_at=row[22],
        outcome=row[23],
        reason=row[24],
    )
    return Current(revision_id=row[12], ordinal=row[27], statement=statement, standing=standing, principal_id=row[25])


CITATIONS = """
select s.chunk_id, s.first_line, s.last_line from ledger.support s join evidence.chunk c on c.id = s.chunk_id
 where s.revision_id = %(revision_id)s and c.erased_at is null and (%(since)s::timestamptz is null or s.said_at >= %(since)s)
 order by s.ordinal
"""


def citations(connection: Connection, revision_id: UUID, *, since: datetime | None = None) -> list[Citation]:
    """What a revision cites and is still retained; with ``since``, only what was said from then on."""
    with connection.cursor(row_factory=class_row(Citation)) as cursor:
        return cursor.execute(CITATIONS, {"revision_id": revision_id, "since": since}).fetchall()


SAME_VALUE = "select evidence.value_key(%(one)s) = evidence.value_key(%(other)s)"


def same_value(connection: Connection, one: str, other: str) -> bool:
    """Whether two values mean the same, by their keys."""
    row = connection.execute(SAME_VALUE, {"one": one, "other": other}).fetchone()
    return bool(row and row[0])


POLICY = "select policy from access.brain where id = %(brain_id)s"


def policy(connection: Connection, brain_id: UUID) -> str:
    """The acceptance policy of a brain."""
    row = connection.execute(POLICY, {"brain_id": brain_id}).fetchone()
    return row[0] if row else "review"


OPEN_CONFLICTS = """
select case when c.left_claim = %(claim_id)s then c.right_claim else c.left_claim end from ledger.conflict c
 where c.closed_at is null and (c.left_claim = %(claim_id)s or c.right_claim = %(claim_id)s)
"""


def conflicts_of(connection: Connection, claim_id: UUID) -> list[UUID]:
    """The claims that this one is in open conflict with."""
    return [row[0] for row in connection.execute(OPEN_CONFLICTS, {"claim_id": claim_id}).fetchall()]


ADD_RULE = """
insert into ledger.rule (id, brain_id, revision_id, cause, reason, rule_key, names, value_gram, value_words, value_length, repositories,
                         areas, environments, made_by, recorded_at)
values (%(id)s, %(brain_id)s, %(revision_id)s, %(cause)s, %(reason)s, '', '{}', 0, '{}', 0, '{}', '{}', '{}', access.current_principal(),
        clock_timestamp())
"""


def add_rule(connection: Connection, brain_id: UUID, *, revision_id: UUID, cause: str, reason: str) -> UUID:
    """Bans the value of a revision, in its scope and period. Marks every chunk that repeats it."""
    rule = new_id()
    connection.execute(ADD_RULE, {"id": rule, "brain_id": brain_id, "revision_id": revision_id, "cause": cause, "reason": reason})
    return rule


BINDING = """
select u.id from ledger.rule u
 where u.brain_id = %(brain_id)s
   and u.rule_key = ledger.rule_key_of(evidence.name_key(%(subject)s), evidence.name_key(%(predicate)s), evidence.value_key(%(value)s),
                                       %(polarity)s)
   and evidence.scopes_meet(u.repositories, u.areas, u.environments, %(repositories)s, %(areas)s, %(environments)s)
   and ledger.period(u.valid_from, u.valid_to) && ledger.period(%(valid_from)s, %(valid_to)s)
"""
EXEMPT = """
insert into ledger.exemption (rule_id, revision_id, brain_id, made_by, reason, recorded_at)
values (%(rule_id)s, %(revision_id)s, %(brain_id)s, access.current_principal(), %(reason)s, clock_timestamp())
"""


def exempt(connection: Connection, brain_id: UUID, statement: Statement, *, revision_id: UUID, reason: str) -> list[UUID]:
    """Frees a revision that is about to be written from every rule that would bind it. The rules that it was freed from."""
    rules = [row[0] for row in connection.execute(BINDING, {"brain_id": brain_id, **_columns(statement)}).fetchall()]
    for rule in rules:
        connection.execute(EXEMPT, {"rule_id": rule, "revision_id": revision_id, "brain_id": brain_id, "reason": reason})
    return rules


PIN = """
insert into ledger.pin (brain_id, claim_id, pinned, made_by, recorded_at)
values (%(brain_id)s, %(claim_id)s, %(pinned)s, access.current_principal(), clock_timestamp())
"""


def pin(connection: Connection, brain_id: UUID, claim_id: UUID, *, pinned: bool) -> None:
    """Pins a claim, or takes the pin off."""
    connection.execute(PIN, {"brain_id": brain_id, "claim_id": claim_id, "pinned": pinned})


FLAG = """
insert into ledger.flag (brain_id, claim_id, made_by, reason)
values (%(brain_id)s, %(claim_id)s, access.current_principal(), %(reason)s)
"""


def flag(connection: Connection, brain_id: UUID, claim_id: UUID, *, reason: str) -> None:
    """Asks a person to look at a claim."""
    connection.execute(FLAG, {"brain_id": brain_id, "claim_id": claim_id, "reason": reason})


ERASE_CLAIM = "select ledger.erase_claim(%(claim_id)s, %(reason)s)"
ERASE_SOURCE = "select ledger.erase_source(%(source_id)s, %(reason)s)"


def erase_claim(connection: Connection, claim_id: UUID, *, reason: str) -> int:
    """Blanks a claim's text and what was derived from it. How many revisions were reached."""
    row = connection.execute(ERASE_CLAIM, {"claim_id": claim_id, "reason": reason}).fetchone()
    return row[0] if row else 0


def erase_source(connection: Connection, source_id: UUID, *, reason: str) -> int:
    """Blanks a source's text and the claims that nothing else supports. How many revisions; -1 for an unknown source."""
    row = connection.execute(ERASE_SOURCE, {"source_id": source_id, "reason": reason}).fetchone()
    return row[0] if row else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConflict:
    """The two sides of a conflict."""

    id: UUID
    left_claim: UUID
    right_claim: UUID


CONFLICT = """
select id, left_claim, right_claim from ledger.conflict where id = %(id)s and brain_id = %(brain_id)s and closed_at is null
"""
RESOLVE = "select ledger.resolve_conflict(%(id)s, %(how)s, %(reason)s)"


def open_conflict(connection: Connection, brain_id: UUID, conflict: UUID) -> OpenConflict | None:
    """A conflict that is still open."""
    with connection.cursor(row_factory=class_row(OpenConflict)) as cursor:
        return cursor.execute(CONFLICT, {"id": conflict, "brain_id": brain_id}).fetchone()


def resolve(connection: Connection, conflict: UUID, *, how: str, reason: str) -> bool:
    """Records how a person ended a conflict. False where it was not open."""
    row = connection.execute(RESOLVE, {"id": conflict, "how": how, "reason": reason}).fetchone()
    return bool(row and row[0])


CITED = """
select exists (select from ledger.support s where s.brain_id = %(brain_id)s and s.chunk_id = %(chunk_id)s
                 and s.first_line = %(first_line)s and s.last_line = %(last_line)s)
"""


def is_cited(connection: Connection, brain_id: UUID, citation: Citation) -> bool:
    """Whether any revision ever cited these lines, erased ones too: what was learned from them is not learned again."""
    parameters = {
        "brain_id": brain_id,
        "chunk_id": citation.chunk_id,
        "first_line": citation.first_line,
        "last_line": citation.last_line,
    }
    row = connection.execute(CITED, parameters).fetchone()
    return bool(row and row[0])
