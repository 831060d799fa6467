"""Review: what a signed-in person decides about claims and conflicts."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memoranda.domain.claim import Statement
from memoranda.domain.evidence import Citation, Scope
from memoranda.domain.ids import new_id
from memoranda.errors import Invalid, NotFound, Refused, Stale
from memoranda.store import ledger
from memoranda_api.acting import Acting
from memoranda_api.contribute import Known, current_of, refuse_secrets, told, write_down

Action = Literal["accept", "reject", "correct", "withdraw", "restore", "revalidate", "pin", "unpin", "erase"]
How = Literal["keep_one", "keep_both", "retract", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decides about one claim, and why. ``revision_id`` guards against a claim that moved on meanwhile."""

    action: Action
    reason: str
    value: str | None = None
    sentence: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    scope: Scope | None = None
    revision_id: uuid.UUID | None = None


def review(acting: Acting, claim_id: uuid.UUID, decision: Decision) -> dict[str, Any]:
    """Carries a person's decision out. Raises Forbidden for any token, Stale where the claim moved on since it was shown."""
    acting.need_person()
    if not decision.reason.strip():
        raise Invalid("a decision needs a reason", field="reason")
    known = current_of(acting, claim_id)
    if decision.revision_id is not None and decision.revision_id != known.head.revision_id:
        raise Stale("the claim has a newer revision than the one you saw")
    match decision.action:
        case "accept":
            return _accept(acting, claim_id, known, decision)
        case "reject":
            return _reject(acting, claim_id, known, decision)
        case "correct":
            return _correct(acting, claim_id, known, decision)
        case "withdraw":
            return _withdraw(acting, claim_id, known, decision)
        case "restore" | "revalidate":
            return _revalidate(acting, claim_id, known, decision)
        case "pin" | "unpin":
            ledger.pin(acting.connection, acting.brain_id, claim_id, pinned=decision.action == "pin")
            return {"claim_id": claim_id, "pinned": decision.action == "pin"}
        case _:
            return {"claim_id": claim_id, "erased_revisions": ledger.erase_claim(acting.connection, claim_id, reason=decision.reason)}


def _accept(acting: Acting, claim_id: uuid.UUID, known: Known, decision: Decision) -> dict[str, Any]:
    standing = known.head.standing
    if standing.lifecycle != "active" or standing.review == "rejected":
        raise Refused(f"the claim is {_state(standing)}", mend="restore or revalidate it")
    return _append(acting, claim_id, known.head, _amended(known, decision), decision, review="accepted")


def _reject(acting: Acting, claim_id: uuid.UUID, known: Known, decision: Decision) -> dict[str, Any]:
    banned = _append(acting, claim_id, known.head, known.statement_or_raise(), decision, review="rejected")
    rule = ledger.add_rule(acting.connection, acting.brain_id, revision_id=banned["revision_id"], cause="rejected", reason=decision.reason)
    return banned | {"rule_id": rule, "conflicts": ledger.conflicts_of(acting.connection, claim_id)}


def _correct(acting: Acting, claim_id: uuid.UUID, known: Known, decision: Decision) -> dict[str, Any]:
    """The old value is banned, the new one accepted, in one step. The reviewer's words are the new value's evidence."""
    if decision.value is None or not decision.value.strip():
        raise Invalid("a correction needs the right value", field="value")
    old = known.statement_or_raise()
    statement = _amended(known, decision)
    refuse_secrets(statement)
    if ledger.same_value(acting.connection, old.value, statement.value):
        raise Invalid(f"'{statement.value}' means the same as what is there", field="value", mend="accept it, or revise its wording")
    rule = ledger.add_rule(
        acting.connection, acting.brain_id, revision_id=known.head.revision_id, cause="corrected", reason=decision.reason
    )
    words = f"{statement.subject}: {statement.predicate} is {statement.value}."
    cited = [write_down(acting, words, kind="review", scope=statement.scope)]
    return _append(acting, claim_id, known.head, statement, decision, review="accepted", cited=cited) | {"rule_id": rule}


def _withdraw(acting: Acting, claim_id: uuid.UUID, known: Known, decision: Decision) -> dict[str, Any]:
    if known.head.standing.lifecycle == "withdrawn":
        raise Refused("the claim is withdrawn already")
    gone = _append(
        acting, claim_id, known.head, known.statement_or_raise(), decision, review=known.head.standing.review, lifecycle="withdrawn"
    )
    rule = ledger.add_rule(acting.connection, acting.brain_id, revision_id=gone["revision_id"], cause="withdrawn", reason=decision.reason)
    return gone | {"rule_id": rule, "conflicts": ledger.conflicts_of(acting.connection, claim_id)}


def _revalidate(acting: Acting, claim_id: uuid.UUID, known: Known, decision: Decision) -> dict[str, Any]:
    """Accepts what a rule bans: this one revision is exempted. ``restore`` is for what was withdrawn."""
    withdrawn = known.head.standing.lifecycle == "withdrawn"
    if decision.action == "restore" and not withdrawn:
        raise Refused(f"the claim is {_state(known.head.standing)}, not withdrawn", mend="revalidate it")
    statement = _amended(known, decision)
    refuse_secrets(statement)
    revision_id = new_id()
    freed = ledger.exempt(acting.connection, acting.brain_id, statement, revision_id=revision_id, reason=decision.reason)
    done = _append(acting, claim_id, known.head, statement, decision, review="accepted", revision_id=revision_id)
    return done | {"exempted_from": freed}


def _append(
    acting: Acting,
    claim_id: uuid.UUID,
    head: ledger.Current,
    statement: Statement,
    decision: Decision,
    *,
    review: Literal["proposed", "accepted", "rejected"],
    lifecycle: Literal["active", "withdrawn"] = "active",
    cited: list[Citation] | None = None,
    revision_id: uuid.UUID | None = None,
) -> dict[str, Any]:
    standing = replace(
        head.standing,
        review=review,
        lifecycle=lifecycle,
        freshness="current",
        admission="reviewed",
        reviewer_id=acting.principal_id,
        acceptance_policy=None,
        superseded_by=None if review == "accepted" and lifecycle == "active" else head.standing.superseded_by,
        reason=decision.reason,
    )
    found = cited if cited is not None else _retained(acting, head, statement)
    written = ledger.write(acting.connection, acting.brain_id, statement, standing, found, claim_id=claim_id, revision_id=revision_id)
    return told(acting, written)


def _retained(acting: Acting, head: ledger.Current, statement: Statement) -> list[Citation]:
    found = ledger.citations(acting.connection, head.revision_id)
    return found or [write_down(acting, statement.sentence, kind="review", scope=statement.scope)]


def _amended(known: Known, decision: Decision) -> Statement:
    old = known.statement_or_raise()
    value = decision.value.strip() if decision.value else old.value
    changed = value != old.value
    verb = "is not" if old.polarity == "denies" else "is"
    sentence = decision.sentence or (f"{old.subject}: {old.predicate} {verb} {value}." if changed else old.sentence)
    return replace(
        old,
        value=value,
        sentence=sentence,
        scope=decision.scope if decision.scope is not None else old.scope,
        valid_from=decision.valid_from or old.valid_from,
        valid_to=decision.valid_to or old.valid_to,
    )


def _state(standing: ledger.Standing) -> str:
    return standing.lifecycle if standing.lifecycle != "active" else standing.review


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """How a person ends a conflict. ``keep`` names the claim that stays, ``value`` the one that replaces both."""

    how: How
    reason: str
    keep: uuid.UUID | None = None
    value: str | None = None


def resolve(acting: Acting, conflict_id: uuid.UUID, resolution: Resolution) -> dict[str, Any]:
    """Ends an open conflict in one step.

    keep_one accepts one side and rejects the other; keep_both leaves both as they are; retract withdraws both; replace corrects
    the left side to a new value and rejects the right.
    """
    acting.need_person()
    ledger.lock(acting.connection, acting.brain_id)
    conflict = ledger.open_conflict(acting.connection, acting.brain_id, conflict_id)
    if conflict is None:
        raise NotFound("there is no such open conflict", mend="list the open conflicts")
    sides = (conflict.left_claim, conflict.right_claim)
    moved = [review(acting, claim, decision) for claim, decision in _moves(sides, resolution)]
    if not ledger.resolve(acting.connection, conflict_id, how=resolution.how, reason=resolution.reason):
        raise Stale("the conflict ended meanwhile")
    return {"conflict_id": conflict_id, "resolution": resolution.how, "claims": moved}


def _moves(sides: tuple[uuid.UUID, uuid.UUID], resolution: Resolution) -> list[tuple[uuid.UUID, Decision]]:
    def decide(action: Action, value: str | None = None) -> Decision:
        return Decision(action=action, reason=resolution.reason, value=value)

    match resolution.how:
        case "keep_both":
            return []
        case "retract":
            return [(side, decide("withdraw")) for side in sides]
        case "keep_one":
            if resolution.keep is None or resolution.keep not in sides:
                raise Invalid("name the claim of the conflict that stays", field="keep")
            other = sides[0] if resolution.keep == sides[1] else sides[1]
            return [(other, decide("reject")), (resolution.keep, decide("accept"))]
        case _:
            if not resolution.value:
                raise Invalid("say which value replaces both", field="value")
            return [(sides[1], decide("reject")), (sides[0], decide("correct", resolution.value))]
