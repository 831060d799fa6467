"""Health: whether the process lives, and whether it can do its work."""

from __future__ import annotations

from functools import partial
from typing import Final

import anyio
import anyio.to_thread
from fastapi import Response

from memoranda.errors import MemorandaError
from memoranda.store.database import Role
from memoranda_api.gateway import Gateway, TheGateway
from memoranda_api.routers import router
from memoranda_api.wire import Health

routes = router("health", "/v1/health")
# seconds: a probe asks again within ten, and a caller may wait as long for a free connection
PATIENCE: Final = 2.0


@routes.get("/live", response_model=Health, operation_id="live")
async def live() -> dict[str, object]:
    """The process answers. Asks nothing else, and no thread of those that may be waiting for the store."""
    return {"status": "live"}


@routes.get("/ready", response_model=Health, operation_id="ready", responses={503: {"model": Health}})
async def ready(gateway: TheGateway, response: Response) -> dict[str, object]:
    """The store answers, and to each of the roles that the API needs. Says so within seconds, also where it does not answer at all."""
    checks = {"database as gateway": "no answer", "database as command": "no answer"}
    limiter = anyio.CapacityLimiter(2)

    async def ask(role: Role) -> None:
        checks[f"database as {role}"] = await anyio.to_thread.run_sync(
            partial(_state, gateway, role), abandon_on_cancel=True, limiter=limiter
        )

    with anyio.move_on_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "gateway")
            group.start_soon(ask, "command")
    good = all(state == "ok" for state in checks.values())
    response.status_code = 200 if good else 503
    return {"status": "ready" if good else "not ready", "checks": checks}


def _state(gateway: Gateway, role: Role) -> str:
    try:
        with gateway.database.transaction(role, timeout=PATIENCE) as connection:
            connection.execute("select 1")
    except MemorandaError as error:
        return error.message
    return "ok"
