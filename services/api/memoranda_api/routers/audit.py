"""The audit: who changed what, when and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from fastapi import Query

from memoranda.errors import Forbidden
from memoranda.store import lens
from memoranda_api.gateway import TheCredential, TheGateway
from memoranda_api.routers import READ, router
from memoranda_api.wire import Audit

routes = router("audit")


@routes.get("/audit", response_model=Audit, operation_id="list_audit", responses=READ)
def list_audit(
    brain: str,
    gateway: TheGateway,
    credential: TheCredential,
    subject: UUID | None = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, object]:
    """The audit, newest first. Needs the role reviewer."""
    with gateway.reading(credential, brain) as reading:
        if reading.role not in ("reviewer", "admin"):
            raise Forbidden("the audit needs the role reviewer", mend="ask an admin of the brain")
        found = lens.audit(reading, subject=subject, before=before, limit=limit + 1)
    page = found[:limit]
    items = [
        asdict(entry)
        | {
            "before_digest": entry.before_digest.hex() if entry.before_digest else None,
            "after_digest": entry.after_digest.hex() if entry.after_digest else None,
        }
        for entry in page
    ]
    return {"items": items, "next": page[-1].id if len(found) > limit else None}
