"""Conflicts, and how a person ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query

from memoranda.store import lens
from memoranda_api.gateway import TheCommand, TheCredential, TheGateway
from memoranda_api.review import Resolution, resolve
from memoranda_api.routers import READ, WRITE, router
from memoranda_api.showing import after, claim_out, page_mark
from memoranda_api.wire import Conflicts, ResolutionIn, Resolved

routes = router("conflicts")


@routes.get("/conflicts", response_model=Conflicts, operation_id="list_conflicts", responses=READ)
def list_conflicts(
    brain: str,
    gateway: TheGateway,
    credential: TheCredential,
    open_only: Annotated[bool, Query(alias="open")] = True,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    mark: Annotated[str | None, Query(alias="after", max_length=200)] = None,
) -> dict[str, object]:
    """Conflicts, newest first, with both claims as the investigation mode shows them."""
    with gateway.reading(credential, brain, lens.View(mode="investigation")) as reading:
        found = lens.conflicts(reading, open_only=open_only, after=after(mark), limit=limit + 1)
        page = found[:limit]
        items = shown(reading, page)
    return {"items": items, "next": page_mark(page[-1].opened_at, page[-1].id) if len(found) > limit else None}


def shown(reading: lens.Reading, conflicts: Sequence[lens.Conflict]) -> list[dict[str, Any]]:
    """Conflicts with their two claims as the lens shows them now."""
    ids = list({claim for found in conflicts for claim in (found.left_claim, found.right_claim)})
    rows = {row.claim_id: claim_out(row) for row in lens.latest(reading, ids)} if ids else {}
    return [
        {
            "id": found.id,
            "left": rows.get(found.left_claim),
            "right": rows.get(found.right_claim),
            "opened_at": found.opened_at,
            "closed_at": found.closed_at,
            "resolution": found.resolution,
            "resolved_by": found.resolved_by,
            "reason": found.reason,
        }
        for found in conflicts
    ]


@routes.post("/conflicts/{conflict}/resolution", response_model=Resolved, operation_id="resolve_conflict", responses=WRITE)
def post_resolution(brain: str, conflict: UUID, body: ResolutionIn, command: TheCommand) -> dict[str, object]:
    """Ends an open conflict. For a signed-in person."""
    resolution = Resolution(how=body.how, reason=body.reason, keep=body.keep, value=body.value)
    payload = f"{conflict}\0{body.model_dump_json()}".encode()
    return command.run(brain, "resolve", payload, lambda acting: resolve(acting, conflict, resolution))
