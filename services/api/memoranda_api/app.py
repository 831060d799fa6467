"""The application: REST under /v1, MCP under /mcp/{brain}, one edge before both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from importlib.metadata import version

from fastapi import FastAPI

from memoranda.domain.job import Ring
from memoranda.settings import Settings
from memoranda.store.database import Database
from memoranda_api import failures
from memoranda_api.acting import Commands
from memoranda_api.edge import Edge
from memoranda_api.gateway import Gateway
from memoranda_api.mcp import Mcp
from memoranda_api.routers import audit, brains, captures, claims, conflicts, health, jobs, people, recalling, sources

DESCRIPTION = """Memory for coding agents: claims with evidence, read through one lens.

Every write takes an `Idempotency-Key`. Errors are problem documents (RFC 9457) that say what became of the command.
"""


def create_app(
    settings: Settings,
    database: Database,
    ring: Ring,
    *,
    bus: Callable[[], str] = str,
    around: AbstractContextManager[None] | None = None,
) -> FastAPI:
    """The ASGI application over the pools of the roles gateway and command.

    ``ring`` is told of lines with new jobs once they are committed; ``bus`` says what keeps them from being published, or nothing.
    ``around`` is entered before the first request and left after the last.
    """
    commands = Commands(database, ring, timeout=settings.write_timeout)
    gateway = Gateway(settings=settings, database=database, commands=commands, bus=bus)
    mcp = Mcp(gateway)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        with around or nullcontext():
            async with mcp.running():
                yield

    app = FastAPI(
        title="Memoranda",
        version=version("memoranda"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        redirect_slashes=False,
    )
    app.state.gateway = gateway
    failures.install(app)
    for part in (health, people, brains, captures, sources, claims, conflicts, recalling, jobs, audit):
        app.include_router(part.routes)
    app.mount("/mcp", mcp)
    app.add_middleware(Edge, body_limit=settings.body_limit, hosts=hosts(settings))  # pyright: ignore[reportArgumentType]
    return app


def hosts(settings: Settings) -> frozenset[str]:
    """The names under which the process answers: those of the settings, its own address, and this machine's own names."""
    local = {"localhost", "127.0.0.1", "[::1]", settings.host, f"[{settings.host}]"}
    return frozenset(name.lower() for name in (*local, *settings.allowed_hosts) if name not in ("0.0.0.0", "::"))  # noqa: S104  not bound here
