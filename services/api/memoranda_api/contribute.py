"""Contributions: what agents and people state through the API. Everything comes in as a proposal."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoranda.domain.claim import Statement
from memoranda.domain.evidence import Citation, Piece, Run, Scope
from memoranda.domain.ids import new_id
from memoranda.errors import Invalid, NotFound, Refused, Stale
from memoranda.store import evidence, ledger
from memoranda_api.acting import Acting
from memoranda_capture.redact import mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """A statement with what supports it: cited spans, or the writer's own words (``evidence``)."""

    statement: Statement
    evidence: str | None = None
    citations: tuple[Citation, ...] = ()
    operational: str = "declared"
    observed_at: datetime | None = None
    outcome: str | None = None


def contribute(acting: Acting, contribution: Contribution) -> dict[str, Any]:
    """Proposes a claim.

    The same statement from the same writer, still unreviewed, gains the support instead of being doubled. Raises SupersedeOwn
    where it contradicts a live proposal of the writer's own, EvidenceGone for citations that are not retained.
    """
    acting.need("writer")
    refuse_secrets(contribution.statement)
    ledger.lock(acting.connection, acting.brain_id)
    known = _own_copy(acting, contribution.statement)
    cited = _evidence(acting, contribution.statement, contribution.evidence, contribution.citations)
    standing = _standing(acting, contribution)
    if known is not None:
        kept = [c for c in ledger.citations(acting.connection, known.revision_id) if c not in cited]
        cited = [*kept, *cited][-20:]
    written = ledger.write(
        acting.connection,
        acting.brain_id,
        contribution.statement,
        standing,
        cited,
        claim_id=known.claim_id if known else None,
    )
    return told(acting, written)


def revise(acting: Acting, claim_id: uuid.UUID, contribution: Contribution, *, reason: str | None) -> dict[str, Any]:
    """Appends a revision to one of the writer's own unreviewed proposals. The subject and the predicate stay."""
    acting.need("writer")
    refuse_secrets(contribution.statement)
    current = current_of(acting, claim_id)
    statement = replace(contribution.statement, subject=current.statement_or_raise().subject)
    statement = replace(statement, predicate=current.statement_or_raise().predicate)
    cited = _evidence(acting, statement, contribution.evidence, contribution.citations)
    standing = replace(_standing(acting, contribution), reason=reason)
    written = ledger.write(acting.connection, acting.brain_id, statement, standing, cited, claim_id=claim_id)
    return told(acting, written)


def retract(acting: Acting, claim_id: uuid.UUID, *, reason: str) -> dict[str, Any]:
    """Withdraws one of the writer's own unreviewed proposals. It leaves no rule: only a person bans a value."""
    acting.need("writer")
    current = current_of(acting, claim_id)
    standing = replace(current.head.standing, lifecycle="withdrawn", reason=reason, admission="proposed")
    cited = ledger.citations(acting.connection, current.head.revision_id)
    written = ledger.write(acting.connection, acting.brain_id, current.statement_or_raise(), standing, cited, claim_id=claim_id)
    return told(acting, written)


def flag(acting: Acting, claim_id: uuid.UUID, *, reason: str) -> dict[str, Any]:
    """Asks a person to look at a claim. Nothing about the claim changes."""
    acting.need("writer")
    current_of(acting, claim_id)
    ledger.flag(acting.connection, acting.brain_id, claim_id, reason=reason)
    return {"claim_id": claim_id, "flagged": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A claim's latest revision, read under the write lock."""

    head: ledger.Current

    def statement_or_raise(self) -> Statement:
        """Its statement. Raises Stale once it was erased."""
        if self.head.statement is None:
            raise Stale("this claim was erased")
        return self.head.statement


def current_of(acting: Acting, claim_id: uuid.UUID) -> Known:
    """The latest revision of a claim of the brain, with the write lock held. Raises NotFound."""
    ledger.lock(acting.connection, acting.brain_id)
    head = ledger.current(acting.connection, acting.brain_id, claim_id)
    if head is None:
        raise NotFound("there is no such claim in this brain", mend="list claims, or recall them, to find its id")
    return Known(head=head)


def told(acting: Acting, written: ledger.Written) -> dict[str, Any]:
    """What a writer is told of what it wrote: how it came in, and what it now contradicts."""
    return {
        "claim_id": written.claim_id,
        "revision_id": written.id,
        "ordinal": written.ordinal,
        "recorded_at": written.recorded_at,
        "review": written.review,
        "admission": written.admission,
        "conflicts": ledger.conflicts_of(acting.connection, written.claim_id),
    }


def refuse_secrets(statement: Statement) -> None:
    """Raises Invalid where a claim holds a secret: a claim is made to be told, so masking it would only hide the mistake."""
    for field, text in (("subject", statement.subject), ("predicate", statement.predicate), ("value", statement.value)):
        found = mask(text).counts
        if found:
            raise Invalid(f"this looks like a secret ({', '.join(found)})", field=field, mend="say where the secret is kept instead")
    if mask(statement.sentence).counts:
        raise Invalid("this looks like a secret", field="statement", mend="say where the secret is kept instead")


def write_down(acting: Acting, text: str, *, kind: str, scope: Scope) -> Citation:
    """Keeps a writer's own words as evidence, with the writer as their author, and returns the citation of all of them.

    The database gives the author: a person where one is signed in, an assistant behind a token, whatever the caller says.
    """
    clean = mask(text).text.strip("\n")
    if len(clean) > 20_000 or clean.count("\n") > 190:
        raise Invalid("the evidence is too long", field="evidence", mend="cite the lines that matter: at most 190, and 20,000 characters")
    reference = new_id()
    source = evidence.open_source(
        acting.connection,
        brain_id=acting.brain_id,
        kind="review" if kind == "review" else "contribution",
        host="memoranda",
        external_id=str(reference),
        title="",
        scope=scope,
        branch=None,
    )
    role = "person" if acting.channel == "browser" else "assistant"
    last = clean.count("\n") + 1
    now = ledger.lock(acting.connection, acting.brain_id)
    piece = Piece(first_line=1, last_line=last, text=clean, runs=(Run(line=1, role=role, said_at=now),))
    digest = hashlib.sha256(clean.encode()).digest()
    chunk = evidence.NewChunk(id=new_id(), ordinal=1, digest=digest, piece=piece)
    evidence.add_chunks(acting.connection, brain_id=acting.brain_id, source_id=source.id, version_id=reference, chunks=[chunk])
    version = evidence.NewVersion(
        id=reference, source_id=source.id, ordinal=1, last_event=0, line_count=last, digest=digest, replaces=False
    )
    evidence.add_version(acting.connection, brain_id=acting.brain_id, version=version)
    evidence.index_chunks(acting.connection, reference)
    return Citation(chunk_id=chunk.id, first_line=1, last_line=last)


def _evidence(acting: Acting, statement: Statement, text: str | None, cited: Sequence[Citation]) -> list[Citation]:
    if len(cited) > 20:
        raise Invalid("a claim cites at most 20 spans", field="supports")
    if cited and text is None:
        return list(cited)
    words = text if text and text.strip() else statement.sentence
    return [*cited, write_down(acting, words, kind="contribution", scope=statement.scope)][:20]


def _own_copy(acting: Acting, statement: Statement) -> ledger.Head | None:
    for head in ledger.heads(acting.connection, acting.brain_id, statement):
        if head.live and head.same and not head.accepted and not head.reviewed and head.statement.scope == statement.scope:
            known = ledger.current(acting.connection, acting.brain_id, head.claim_id)
            if known is not None and known.principal_id == acting.principal_id:
                return head
    return None


def _standing(acting: Acting, contribution: Contribution) -> ledger.Standing:
    if contribution.operational in ("deployed", "verified") and contribution.observed_at is None:
        raise Refused(f"'{contribution.operational}' needs the time of an observation", mend="send observed_at, or say 'declared'")
    against = [h for h in ledger.heads(acting.connection, acting.brain_id, contribution.statement) if h.live and h.contradicts]
    return ledger.Standing(
        admission="uncertain_evidence" if against else "proposed",
        origin="person" if acting.channel == "browser" else "agent",
        operational=contribution.operational,
        observed_at=contribution.observed_at,
        outcome=contribution.outcome,
    )
