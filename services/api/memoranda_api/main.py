"""The API's process: uvicorn with several workers, each with pools and a publisher of its own."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoranda.errors import MemorandaError, Misconfigured
from memoranda.settings import Settings, from_environment

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memoranda.bus.announce import Announcer
    from memoranda.store.database import Database


def main() -> None:
    """Serves until SIGTERM. Exits with a message where it cannot work as it is set up."""
    import uvicorn

    try:
        settings = _settings()
    except (MemorandaError, ValueError) as error:
        mend = getattr(error, "mend", "")
        sys.exit(f"memoranda-api: {error}{f'; {mend}' if mend else ''}")
    uvicorn.run(
        "memoranda_api.main:app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.api_workers,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=int(settings.grace_seconds),
    )


def app() -> FastAPI:
    """The application of one worker process. It starts without the database and the broker, and says that it is not ready."""
    from memoranda.bus.announce import Announcer
    from memoranda.bus.rabbit import RabbitBroker, quiet_logs
    from memoranda.store.database import Database
    from memoranda.telemetry import log_to_stderr
    from memoranda_api.app import create_app

    log_to_stderr()
    quiet_logs()
    settings = _settings()
    database = Database(settings.database, pool_size=settings.pool_size)
    announcer = Announcer(database, "command", RabbitBroker(settings))
    return create_app(settings, database, announcer.ring, bus=lambda: announcer.trouble, around=_running(database, announcer))


@contextmanager
def _running(database: Database, announcer: Announcer) -> Generator[None]:
    database.open("gateway", "command")
    announcer.start()
    try:
        yield
    finally:
        announcer.stop()
        database.close()


def _settings() -> Settings:
    settings = from_environment()
    if not settings.database:
        raise Misconfigured("no database is named", mend="set MEMORANDA_DATABASE to 'host=… dbname=memoranda'")
    if not settings.broker:
        raise Misconfigured("no broker is named", mend="set MEMORANDA_BROKER to amqp://user:password@host:5672/vhost")
    return settings


if __name__ == "__main__":
    main()
