"""Health: whether the process lives, and whether it can do its work."""

from __future__ import annotations

from fastapi import Response

from memoranda.errors import MemorandaError
from memoranda_api.gateway import TheGateway
from memoranda_api.routers import problems, router
from memoranda_api.wire import Health

routes = router("health", "/v1/health")


@routes.get("/live", response_model=Health, operation_id="live")
def live() -> dict[str, object]:
    """The process answers. Asks nothing else."""
    return {"status": "live"}


@routes.get("/ready", response_model=Health, operation_id="ready", responses=problems(503))
def ready(gateway: TheGateway, response: Response) -> dict[str, object]:
    """The store answers, and to each of the roles that the API needs."""
    checks: dict[str, str] = {}
    for role in ("gateway", "command"):
        try:
            with gateway.database.transaction(role, timeout=2) as connection:
                connection.execute("select 1")
            checks[f"database as {role}"] = "ok"
        except MemorandaError as error:
            checks[f"database as {role}"] = error.message
    good = all(state == "ok" for state in checks.values())
    response.status_code = 200 if good else 503
    return {"status": "ready" if good else "not ready", "checks": checks}
