"""Captures: batches of a session's events."""

from __future__ import annotations

from fastapi import Request

from memoranda.domain.evidence import Scope
from memoranda_api.acting import Acting
from memoranda_api.capture import CapturedSource, capture
from memoranda_api.gateway import TheCommand
from memoranda_api.routers import WRITE, problems, router
from memoranda_api.wire import Captured, CaptureIn

routes = router("captures")


@routes.post("/captures", response_model=Captured, status_code=202, operation_id="capture", responses=WRITE | problems(410))
def post_capture(brain: str, body: CaptureIn, command: TheCommand, request: Request) -> dict[str, object]:
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

    # megabytes: the key is bound to the digest of the body as it came
    return command.run(brain, "capture", request.scope.get("memoranda.body", b""), work)
