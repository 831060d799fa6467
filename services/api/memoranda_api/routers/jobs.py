"""Jobs: what waits, what runs, what failed."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query

from memoranda.domain.job import Lane
from memoranda.errors import NotFound, Stale
from memoranda.store import jobs, lens, pipeline
from memoranda_api.acting import Acting
from memoranda_api.gateway import TheCommand, TheCredential, TheGateway
from memoranda_api.routers import READ, WRITE, router
from memoranda_api.wire import JobOut, Jobs, Pipeline, Requeued

routes = router("jobs")
State = Literal["ready", "leased", "done", "dead", "cancelled"]


@routes.get("/jobs", response_model=Jobs, operation_id="list_jobs", responses=READ)
def list_jobs(
    brain: str,
    gateway: TheGateway,
    credential: TheCredential,
    state: State | None = None,
    lane: Lane | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, object]:
    """The brain's jobs, newest first."""
    with gateway.reading(credential, brain) as reading:
        return {"items": lens.jobs(reading, state=state, lane=lane, limit=limit), "counts": lens.job_counts(reading)}


@routes.get("/pipeline", response_model=Pipeline, operation_id="pipeline", responses=READ)
def get_pipeline(brain: str, gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """What waits in each lane, who works, and what keeps jobs from being published."""
    with gateway.reading(credential, brain) as reading:
        return {
            "bus": "rabbitmq" if gateway.settings.broker else "in this process",
            "bus_trouble": gateway.bus(),
            "lanes": pipeline.lanes(reading),
            "workers": pipeline.workers(reading),
        }


@routes.get("/jobs/{job}", response_model=JobOut, operation_id="get_job", responses=READ)
def get_job(brain: str, job: UUID, gateway: TheGateway, credential: TheCredential) -> lens.Job:
    """One job."""
    with gateway.reading(credential, brain) as reading:
        found = lens.job(reading, job)
    if found is None:
        raise NotFound("there is no such job in this brain", mend="list the jobs")
    return found


@routes.post("/jobs/{job}/requeue", response_model=Requeued, operation_id="requeue_job", responses=WRITE)
def requeue_job(brain: str, job: UUID, command: TheCommand) -> dict[str, object]:
    """Gives a dead job its attempts back. Nothing can be done twice by it."""

    def work(acting: Acting) -> dict[str, object]:
        acting.need("writer")
        lane = jobs.requeue(acting.connection, job)
        if lane is None:
            raise Stale("the job is not dead, or another one waits for the same", mend="look at the job")
        acting.lanes.add(lane)
        return {"id": str(job), "state": "ready"}

    return command.run(brain, "requeue", str(job).encode(), work)
