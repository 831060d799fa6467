"""The embedded profile: a private Postgres, the API, the ingest and learner workers and the sweeper in this one process."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import Misconfigured
from memoranda.settings import Settings, from_environment
from memoranda_up import home as at_home
from memoranda_up.foreground import Counted, Foreground
from memoranda_up.home import Home, Options, Ready, Report

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memoranda.bus.announce import Announcer
    from memoranda.bus.broker import Broker
    from memoranda.domain.job import Lane
    from memoranda.store.database import Database, Role
    from memoranda_up.postgres import Postgres

log = logging.getLogger("memoranda.up")

SWEEP_SECONDS: Final = 1.0
# one person's machine: a second thread lets a short session pass a long one, a third would only compete with the agent
THREADS_A_LANE: Final = 2
# requests under way at a stop are given this long
GRACE_SECONDS: Final = 5
STATEMENT_SECONDS: Final = 60.0


def run(options: Options, *, ready: Callable[[Ready], None], report: Report) -> None:
    """Runs the profile in the main thread until SIGINT or SIGTERM, then stops it cleanly.

    Raises Misconfigured where it cannot start: the folder or the port is taken, or Postgres does not run.
    """

    def serve(home: Home) -> None:
        # the few that an operator may set here come from the environment, as in any other process
        settings = replace(
            from_environment(),
            database=home.database,
            data_dir=home.where.top,
            host=options.host,
            port=home.port,
            sweep_seconds=SWEEP_SECONDS,
            worker_threads=THREADS_A_LANE,
        )
        report("loading the services")
        with _services(settings) as app, home.published() as told:
            _serve(app, home.listening, home.postgres, ready=lambda: ready(told))

    at_home.run(options, serve, report)


@contextmanager
def _services(settings: Settings) -> Generator[FastAPI]:
    """The application and its workers over one database and one in-process broker."""
    from memoranda.bus.announce import Announcer
    from memoranda.bus.broker import InProcessBroker
    from memoranda.store.database import Database
    from memoranda_api.app import create_app

    database = Database(settings.database, pool_size=settings.pool_size)
    database.open("gateway", "command", "ingest", "learner", "indexer")
    try:
        broker = InProcessBroker()
        announcer = Announcer(database, "ingest", broker)
        app = create_app(settings, database, announcer.ring)
        foreground = Foreground()
        app.add_middleware(Counted, foreground=foreground)  # pyright: ignore[reportArgumentType]
        with _workers(settings, database, broker, announcer, foreground):
            yield app
    finally:
        database.close()


@contextmanager
def _workers(settings: Settings, database: Database, broker: Broker, announcer: Announcer, foreground: Foreground) -> Generator[None]:
    from memoranda.bus.sweep import Ticker
    from memoranda.bus.work import Worker
    from memoranda_indexer import worker as indexer
    from memoranda_ingest import worker as ingest
    from memoranda_learner import worker as learner

    services: tuple[tuple[Lane, Role, Any], ...] = (
        ("ingest", "ingest", ingest.handlers()),
        ("index", "indexer", indexer.handlers()),
        ("learn", "learner", learner.handlers()),
    )
    workers: list[Worker] = []
    for lane, role, handlers in services:
        worker = Worker(database, role, announcer.ring, handlers, lease_seconds=settings.lease_seconds, timeout=STATEMENT_SECONDS)
        broker.consume(lane, foreground.before(worker.handle), threads=settings.worker_threads)
        workers.append(worker)
    ticker = Ticker(database, "ingest", announcer.ring, seconds=settings.sweep_seconds)
    announcer.start()
    ticker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        ticker.stop()
        broker.stop(seconds=GRACE_SECONDS)
        announcer.stop()


def _serve(app: FastAPI, listening: socket.socket, postgres: Postgres, *, ready: Callable[[], None]) -> None:
    """Serves until a signal, or until Postgres is gone, which raises Misconfigured."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    server = Server(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_SECONDS, server_header=False, ws="none")
    )
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(postgres, server, done), name="watch postgres", daemon=True)
    watcher.start()
    try:
        server.run(sockets=[listening])
    finally:
        done.set()
    if not postgres.running:
        raise Misconfigured("Postgres ended unexpectedly", mend="see postgres.log in the data folder, then start again")
    if not server.started:
        raise Misconfigured("the API did not start", mend="see memoranda.log in the data folder")


def _watch(postgres: Postgres, server: Any, done: threading.Event) -> None:
    while not done.wait(1):
        if not postgres.running:
            log.error("postgres ended")
            server.should_exit = True
            return
