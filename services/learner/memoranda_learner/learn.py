"""Learning: a sealed version's candidates, reconciled and admitted one after the other, in the job's own transaction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast
from uuid import UUID

from memoranda.bus.work import Work
from memoranda.domain.claim import Head, Policy, Statement
from memoranda.domain.evidence import Citation
from memoranda.store import evidence, ledger
from memoranda.store.database import Connection
from memoranda_learner.admit import Admitted, accepts, admit
from memoranda_learner.extract import Candidate, Extracted, extract
from memoranda_learner.reconcile import Between, Conflicts, Earlier, Outlived, Replaces, Same, clouded, reconcile

MOST_SUPPORTS = 20


def learn(work: Work) -> None:
    """Learns from the job's version. Run twice it adds nothing the second time: what is there already is found as the same."""
    with work.read() as connection:
        source_id = evidence.version_source(connection, work.lease.subject_id)
        source = evidence.source(connection, source_id) if source_id else None
        chunks = evidence.chunks(connection, work.lease.subject_id)
    found = Extracted(candidates=[], dropped={}) if source is None else extract(chunks, scope=source.scope)
    with work.effect() as effect:
        counts: Counter[str] = Counter()
        if found.candidates:
            now = ledger.lock(effect.connection, work.lease.brain_id)
            policy = cast(Policy, ledger.policy(effect.connection, work.lease.brain_id))
            learner = _Learner(connection=effect.connection, brain_id=work.lease.brain_id, policy=policy, now=now)
            for candidate in sorted(found.candidates, key=lambda c: c.said_at or now):
                counts[learner.take(candidate)] += 1
        effect.result.update(learned=len(found.candidates), **counts, dropped=found.dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Learner:
    connection: Connection
    brain_id: UUID
    policy: Policy
    now: datetime

    def take(self, candidate: Candidate) -> str:
        """Stores what a candidate comes to and returns the word for it, for the job's counters."""
        statement = candidate.statement
        said_at = min(candidate.said_at or self.now, self.now)
        if ledger.is_cited(self.connection, self.brain_id, candidate.citation):
            return "restated"
        if ledger.is_banned(self.connection, self.brain_id, statement):
            return self._restates(candidate)
        heads = ledger.heads(self.connection, self.brain_id, statement)
        match reconcile(heads, role=candidate.role, at=statement.valid_from or said_at, scope=statement.scope):
            case Same(head=head):
                return self._same(head, candidate, in_conflict=clouded(head, heads, candidate.role))
            case Outlived(head=head):
                return self._keep_as_superseded(head, candidate)
            case Replaces() as found:
                return self._replace(found, candidate)
            case Between() as found:
                return self._put_between(found, candidate)
            case Earlier(head=head, until=until):
                return self._enter_as_history(head, until, candidate)
            case Conflicts():
                return self._write(statement, self._admitted(candidate, in_conflict=True), [candidate.citation])
            case _:
                return self._write(statement, self._admitted(candidate, in_conflict=False), [candidate.citation])

    def _admitted(self, candidate: Candidate, *, in_conflict: bool) -> Admitted:
        return admit(self.policy, candidate.role, literal=True, in_conflict=in_conflict)

    def _write(
        self,
        statement: Statement,
        admitted: Admitted,
        citations: list[Citation],
        *,
        claim_id: UUID | None = None,
        superseded_by: UUID | None = None,
        superseded: bool = False,
        reason: str | None = None,
    ) -> str:
        standing = ledger.Standing(
            review=admitted.review,
            admission=admitted.admission,
            acceptance_policy=admitted.policy,
            origin="literal",
            superseded_by=superseded_by,
            freshness="superseded" if superseded else "current",
            reason=reason,
        )
        written = ledger.write(self.connection, self.brain_id, statement, standing, citations, claim_id=claim_id)
        if written.admission == "blocked_by_rule":
            return "blocked"
        return "accepted" if written.review == "accepted" else "proposed"

    def _restates(self, candidate: Candidate) -> str:
        """What restates a rejected value is kept once, blocked; further copies change nothing."""
        heads = ledger.heads(self.connection, self.brain_id, candidate.statement)
        if any(head.same and not head.reviewed and not head.live for head in heads):
            return "blocked_again"
        return self._write(candidate.statement, self._admitted(candidate, in_conflict=False), [candidate.citation])

    def _same(self, head: Head, candidate: Candidate, *, in_conflict: bool) -> str:
        if head.reviewed:
            return "restated"
        known = ledger.citations(self.connection, head.revision_id)
        accepted = accepts(self.policy, candidate.role, literal=True)
        if candidate.citation in known or (head.accepted and not accepted) or len(known) >= MOST_SUPPORTS:
            return "restated"
        if accepted and not head.accepted and not in_conflict:
            # weaker lines would keep it from being accepted: it now rests on what the policy accepts
            admitted, cited = self._admitted(candidate, in_conflict=False), [candidate.citation]
            return self._write(head.statement, admitted, cited, claim_id=head.claim_id, superseded_by=head.superseded_by)
        self._write(head.statement, _as_it_is(head), [*known, candidate.citation], claim_id=head.claim_id, superseded_by=head.superseded_by)
        return "added_support"

    def _replace(self, found: Replaces, candidate: Candidate) -> str:
        """One step: the old ones end where the new one begins."""
        claim_id = ledger.new_claim(self.connection, self.brain_id)
        for head in found.heads:
            self._end(head, found.at, superseded_by=claim_id)
        statement = replace(candidate.statement, valid_from=found.start, valid_to=found.next.statement.valid_from if found.next else None)
        self._write(
            statement,
            self._admitted(candidate, in_conflict=False),
            [candidate.citation],
            claim_id=claim_id,
            superseded_by=found.next.claim_id if found.next else None,
        )
        return "replaced"

    def _put_between(self, found: Between, candidate: Candidate) -> str:
        """The head is cut in two around what was said in between; its second part is a claim of its own."""
        head, between, again = found.head, *(ledger.new_claim(self.connection, self.brain_id) for _ in range(2))
        later = ledger.citations(self.connection, head.revision_id, since=found.until)
        self._end(head, found.at, superseded_by=between, before=found.until)
        statement = replace(candidate.statement, valid_from=found.at, valid_to=found.until)
        admitted = self._admitted(candidate, in_conflict=False)
        self._write(statement, admitted, [candidate.citation], claim_id=between, superseded_by=again)
        self._write(
            replace(head.statement, valid_from=found.until),
            _as_it_is(head),
            later,
            claim_id=again,
            superseded_by=head.superseded_by,
        )
        return "history"

    def _keep_as_superseded(self, head: Head, candidate: Candidate) -> str:
        admitted = self._admitted(candidate, in_conflict=False)
        self._write(candidate.statement, admitted, [candidate.citation], superseded_by=head.claim_id, superseded=True)
        return "history"

    def _enter_as_history(self, head: Head, until: datetime, candidate: Candidate) -> str:
        """It held until what holds now was first said."""
        admitted = self._admitted(candidate, in_conflict=False)
        start = head.statement.valid_from
        self._revise(head, replace(head.statement, valid_from=until))
        statement = replace(candidate.statement, valid_from=start, valid_to=until)
        self._write(statement, admitted, [candidate.citation], superseded_by=head.claim_id)
        return "history"

    def _end(self, head: Head, at: datetime, *, superseded_by: UUID, before: datetime | None = None) -> None:
        """Ends a head; with ``before``, what was said from then on is no longer its evidence."""
        start = head.statement.valid_from
        nothing_left = start is not None and start >= at
        statement = head.statement if nothing_left else replace(head.statement, valid_to=at)
        self._revise(head, statement, superseded_by=superseded_by, superseded=nothing_left, before=before)

    def _revise(
        self,
        head: Head,
        statement: Statement,
        *,
        superseded_by: UUID | None = None,
        superseded: bool = False,
        before: datetime | None = None,
    ) -> None:
        current = ledger.current(self.connection, self.brain_id, head.claim_id)
        assert current is not None
        standing = replace(
            current.standing,
            superseded_by=superseded_by or current.standing.superseded_by,
            freshness="superseded" if superseded else current.standing.freshness,
            reason=None,
        )
        citations = ledger.citations(self.connection, head.revision_id)
        if before is not None:
            later = ledger.citations(self.connection, head.revision_id, since=before)
            citations = [citation for citation in citations if citation not in later]
        ledger.write(self.connection, self.brain_id, statement, standing, citations, claim_id=head.claim_id)


def _as_it_is(head: Head) -> Admitted:
    """The standing that a head has, for a revision that only adds to it."""
    if head.accepted:
        return Admitted(review="accepted", admission="accepted_by_policy", policy=cast("Policy | None", head.policy))
    return Admitted(review="proposed", admission="proposed", policy=None)
