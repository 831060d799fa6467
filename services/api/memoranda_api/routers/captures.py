"""Captures: batches of a session's events."""

from __future__ import annotations

from memoranda.domain.evidence import Scope
from memoranda_api.acting import Acting
from memoranda_api.capture import CapturedSource, capture
from memoranda_api.gateway import TheCommand
from memoranda_api.routers import WRITE, problems, router
from memoranda_api.wire import Captured, CaptureIn

routes = router("captures")


@routes.post("/captures", response_model=Captured, status_code=202, operation_id="capture", responses=WRITE | problems(410))
def post_capture(brain: str, body: CaptureIn, command: TheCommand) -> dict[str, object]:
    """Stores what is new of a batch. Acknowledged means stored: what follows happens in its own time, and is found under progress.

    An event whose key is known with the same content is a duplicate; with other content it is reported in ``differing`` and not
    stored. The rest of the batch is.
    """
    given = body.source
    scope = Scope(repositories=tuple(given.repositories), areas=tuple(given.areas), environments=tuple(given.environments))
    source = CapturedSource(
        host=given.host, external_id=given.external_id, kind=given.kind, title=given.title, scope=scope, branch=given.branch
    )

    def work(acting: Acting) -> dict[str, object]:
        return capture(acting, source, body.events, last=body.last)

    payload = body.model_dump_json().encode() if command.key is not None else b""
    return command.run(brain, "capture", payload, work)
