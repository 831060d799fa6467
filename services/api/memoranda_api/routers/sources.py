"""Sources: what was captured, how far it has come, and its erasure."""

from __future__ import annotations

from collections import Counter
from typing import Annotated
from uuid import UUID

from fastapi import Query

from memoranda.errors import NotFound
from memoranda.store import ledger, lens
from memoranda_api.acting import Acting
from memoranda_api.bodies import scrubbed
from memoranda_api.gateway import TheCommand, TheCredential, TheGateway
from memoranda_api.routers import READ, WRITE, router
from memoranda_api.showing import after, page_mark
from memoranda_api.wire import Erasure, Progress, SourceOut, Sources

routes = router("sources")


@routes.get("/sources", response_model=Sources, operation_id="list_sources", responses=READ)
def list_sources(
    brain: str,
    gateway: TheGateway,
    credential: TheCredential,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    mark: Annotated[str | None, Query(alias="after", max_length=200)] = None,
) -> dict[str, object]:
    """Captured sources, newest first."""
    with gateway.reading(credential, brain) as reading:
        found = lens.sources(reading, after=after(mark), limit=limit + 1)
    page = found[:limit]
    return {"items": page, "next": page_mark(page[-1].recorded_at, page[-1].id) if len(found) > limit else None}


@routes.get("/sources/{source}", response_model=SourceOut, operation_id="get_source", responses=READ)
def get_source(brain: str, source: UUID, gateway: TheGateway, credential: TheCredential) -> lens.Source:
    """One source."""
    with gateway.reading(credential, brain) as reading:
        found = lens.source(reading, source)
    if found is None:
        raise NotFound("there is no such source in this brain", mend="list the sources")
    return found


@routes.get("/sources/{source}/progress", response_model=Progress, operation_id="get_progress", responses=READ)
def get_progress(brain: str, source: UUID, gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """How far a source is sealed and learned, and what learning it came to."""
    with gateway.reading(credential, brain) as reading:
        sealed = lens.sealed(reading, source)
        steps = lens.steps(reading, source)
    if sealed is None:
        raise NotFound("there is no such source in this brain", mend="list the sources")
    states = Counter(step.state for step in steps)
    errors = [step.error for step in steps if step.error and step.state in ("dead", "ready")]
    return {
        "source_id": source,
        "events": sealed.events,
        "sealed_events": sealed.sealed_events,
        "versions": sealed.versions,
        "chunks": sealed.chunks,
        "jobs": dict(states),
        "done": sealed.sealed_events == sealed.events and not states["ready"] and not states["leased"],
        "claims": dict(_counted(steps)),
        "error": errors[0] if errors else None,
    }


def _counted(steps: list[lens.Step]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for step in steps:
        if step.kind == "learn" and step.result:
            counts.update({word: number for word, number in step.result.items() if isinstance(number, int)})
            counts["dropped"] += sum(step.result.get("dropped", {}).values())
    return counts


@routes.delete("/sources/{source}", response_model=Erasure, operation_id="erase_source", responses=WRITE)
def erase_source(
    brain: str, source: UUID, command: TheCommand, reason: Annotated[str, Query(min_length=1, max_length=2000)]
) -> dict[str, object]:
    """Erases a source's text, and the claims that nothing else supports. It cannot be undone, and it is not taken in again."""

    why = scrubbed(reason)

    def work(acting: Acting) -> dict[str, object]:
        acting.need_person()
        number = ledger.erase_source(acting.connection, source, reason=why)
        if number < 0:
            raise NotFound("there is no such source in this brain", mend="list the sources")
        return {"erased_revisions": number, "source_id": str(source)}

    return command.run(brain, "erase_source", f"{source}\0{reason}".encode(), work)
