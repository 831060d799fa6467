"""Claims: propose, list, read, revise, review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query

from memoranda.domain.claim import Statement
from memoranda.domain.evidence import Citation
from memoranda.errors import Invalid, NotFound
from memoranda.store import lens
from memoranda_api.acting import Acting
from memoranda_api.contribute import Contribution, contribute, current_of, flag, retract, revise
from memoranda_api.gateway import TheCommand, TheCredential, TheGateway
from memoranda_api.review import Decision, review
from memoranda_api.routers import READ, WRITE, router
from memoranda_api.routers.conflicts import shown
from memoranda_api.showing import after, page_mark, with_supports
from memoranda_api.wire import ClaimIn, ClaimOut, Claims, History, Mode, ReasonIn, ReviewIn, ReviseIn, Told

routes = router("claims")


@routes.get("/claims", response_model=Claims, operation_id="list_claims", responses=READ)
def list_claims(
    brain: str,
    gateway: TheGateway,
    credential: TheCredential,
    mode: Mode = "accepted",
    subject: Annotated[str | None, Query(max_length=500)] = None,
    predicate: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    mark: Annotated[str | None, Query(alias="after", max_length=200)] = None,
) -> dict[str, object]:
    """The claims that the mode lets through, newest first. A predicate is asked for together with its subject."""
    if predicate is not None and subject is None:
        raise Invalid("a predicate is asked for together with its subject", field="subject")
    with gateway.reading(credential, brain, lens.View(mode=mode)) as reading:
        found = lens.claims(reading, subject=_clean(subject), predicate=_clean(predicate), after=after(mark), limit=limit + 1)
        page = found[:limit]
        items = with_supports(reading, page)
    return {"items": items, "next": page_mark(page[-1].recorded_at, page[-1].id) if len(found) > limit else None}


def _clean(text: str | None) -> str | None:
    return None if text is None else text.replace("\x00", "\ufffd")


@routes.get("/claims/{claim}", response_model=ClaimOut, operation_id="get_claim", responses=READ)
def get_claim(brain: str, claim: UUID, gateway: TheGateway, credential: TheCredential, mode: Mode = "accepted") -> dict[str, object]:
    """The latest revision of a claim. Where the mode withholds it, the reason is shown in place of its content."""
    with gateway.reading(credential, brain, lens.View(mode=mode)) as reading:
        found = with_supports(reading, lens.latest(reading, [claim]))
    if not found:
        raise NotFound("there is no such claim in this brain", mend="recall or list claims to find its id")
    return found[0]


@routes.get("/claims/{claim}/history", response_model=History, operation_id="get_history", responses=READ)
def get_history(brain: str, claim: UUID, gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """Every revision of a claim with who and why, its conflicts and its rules. Needs the right to the history mode."""
    with gateway.reading(credential, brain, lens.View(mode="history")) as reading:
        items = with_supports(reading, lens.history(reading, claim))
        conflicts = shown(reading, lens.conflicts_of(reading, claim))
        rules = lens.rules_of(reading, claim)
    if not items:
        raise NotFound("there is no such claim in this brain", mend="recall or list claims to find its id")
    return {"items": items, "conflicts": conflicts, "rules": rules}


@routes.post("/claims", response_model=Told, status_code=201, operation_id="contribute", responses=WRITE)
def post_claim(brain: str, body: ClaimIn, command: TheCommand) -> dict[str, object]:
    """Proposes a claim. Nothing that comes in here is accepted without a person."""
    offered = contribution(body)
    return command.run(brain, "contribute", body.model_dump_json().encode(), lambda acting: contribute(acting, offered))


@routes.post("/claims/{claim}/revise", response_model=Told, operation_id="revise", responses=WRITE)
def post_revision(brain: str, claim: UUID, body: ReviseIn, command: TheCommand) -> dict[str, object]:
    """Revises one of the writer's own unreviewed proposals. What the body leaves out stays as it is."""
    return _run(command, brain, "revise", claim, body, lambda acting: revised(acting, claim, body))


@routes.post("/claims/{claim}/retract", response_model=Told, operation_id="retract", responses=WRITE)
def post_retraction(brain: str, claim: UUID, body: ReasonIn, command: TheCommand) -> dict[str, object]:
    """Retracts one of the writer's own unreviewed proposals."""
    return _run(command, brain, "retract", claim, body, lambda acting: retract(acting, claim, reason=body.reason))


@routes.post("/claims/{claim}/flag", response_model=Told, operation_id="flag", responses=WRITE)
def post_flag(brain: str, claim: UUID, body: ReasonIn, command: TheCommand) -> dict[str, object]:
    """Asks a person to look at a claim."""
    return _run(command, brain, "flag", claim, body, lambda acting: flag(acting, claim, reason=body.reason))


@routes.post("/claims/{claim}/review", response_model=Told, operation_id="review", responses=WRITE)
def post_review(brain: str, claim: UUID, body: ReviewIn, command: TheCommand) -> dict[str, object]:
    """A person's decision. A token cannot take it, whatever its role."""
    decision = Decision(
        action=body.action,
        reason=body.reason,
        value=body.value,
        sentence=body.statement,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        scope=body.scope.scope() if body.scope is not None else None,
        revision_id=body.revision_id,
    )
    return _run(command, brain, "review", claim, body, lambda acting: review(acting, claim, decision))


def contribution(body: ClaimIn) -> Contribution:
    """A stated claim as the use case takes it. Raises Invalid for a validity that ends before it begins."""
    statement = Statement(
        kind=body.kind,
        subject=body.subject,
        predicate=body.predicate,
        value=body.value,
        sentence=body.statement or _sentence(body.subject, body.predicate, body.value, body.polarity),
        polarity=body.polarity,
        cardinality=body.cardinality,
        scope=body.scope.scope(),
        valid_from=body.valid_from,
        valid_to=body.valid_to,
    )
    return _offered(body, statement)


def revised(acting: Acting, claim: UUID, body: ReviseIn) -> dict[str, Any]:
    """Revises a claim. Where the body is silent, the claim goes on saying what it says: a scope does not widen by being left out."""
    acting.need("writer")
    known = current_of(acting, claim).statement_or_raise()
    given = body.model_fields_set
    polarity = body.polarity if "polarity" in given else known.polarity
    statement = replace(
        known,
        value=body.value,
        sentence=body.statement or _sentence(known.subject, known.predicate, body.value, polarity),
        kind=body.kind if "kind" in given else known.kind,
        polarity=polarity,
        cardinality=body.cardinality if "cardinality" in given else known.cardinality,
        scope=body.scope.scope() if "scope" in given else known.scope,
        valid_from=body.valid_from if "valid_from" in given else known.valid_from,
        valid_to=body.valid_to if "valid_to" in given else known.valid_to,
    )
    return revise(acting, claim, _offered(body, statement), reason=body.reason)


def _sentence(subject: str, predicate: str, value: str, polarity: str) -> str:
    return f"{subject}: {predicate} {'is not' if polarity == 'denies' else 'is'} {value}."


def _offered(body: ClaimIn | ReviseIn, statement: Statement) -> Contribution:
    if statement.valid_from and statement.valid_to and statement.valid_from > statement.valid_to:
        raise Invalid("the validity ends before it begins", field="valid_to")
    return Contribution(
        statement=statement,
        evidence=body.evidence,
        citations=tuple(
            Citation(chunk_id=cited.chunk_id, first_line=cited.first_line, last_line=cited.last_line) for cited in body.supports
        ),
        operational=body.operational,
        observed_at=body.observed_at,
        outcome=body.outcome,
    )


def _run(
    command: TheCommand,
    brain: str,
    name: str,
    claim: UUID,
    body: ReviseIn | ReasonIn | ReviewIn,
    work: Callable[[Acting], dict[str, Any]],
) -> dict[str, Any]:
    return command.run(brain, name, f"{claim}\0{body.model_dump_json()}".encode(), work)
