"""The embedded profile: a private Postgres, the API, the ingest and learner workers and the sweeper in this one process."""

from __future__ import annotations

import getpass
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import Misconfigured
from memoranda.settings import Settings, from_environment
from memoranda_up import place, steward
from memoranda_up.foreground import Counted, Foreground
from memoranda_up.place import Credentials, Place

if TYPE_CHECKING:
    from types import FrameType

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
TALKATIVE: Final = ("alembic", "dramatiq", "mcp", "httpx", "psycopg.pool", "uvicorn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the profile is wanted. Port 0 takes any free one."""

    data: Path | None = None
    host: str = "127.0.0.1"
    port: int = 7411
    brain: str = "main"
    durable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a running profile tells its owner."""

    url: str
    mcp: str
    brain: str
    person: str
    token: str
    sign_in: str
    data: Path
    log: Path
    made: bool


class Stopped(BaseException):
    """Raised in the main thread by SIGINT and SIGTERM; a stop that was asked for is no failure."""


Report = Callable[[str], None]
"""Told of each step of the start in a few words."""


def run(options: Options, *, ready: Callable[[Ready], None], report: Report) -> None:
    """Runs the profile in the main thread until SIGINT or SIGTERM, then stops it cleanly.

    Raises Misconfigured where it cannot start: the folder or the port is taken, or Postgres does not run.
    """
    with _stopped_by_signals(), ExitStack() as parts:
        try:
            _run(options, parts, ready=ready, report=report)
        except Stopped:
            report("stopping")
        finally:
            # a second ctrl-C must not tear the server down in the middle of its checkpoint
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _run(options: Options, parts: ExitStack, *, ready: Callable[[Ready], None], report: Report) -> None:
    where = place.of(options.data)
    postgres = parts.enter_context(_postgres(where, options, report))
    _log_to_file(where)
    listening = parts.enter_context(_bound(options.host, options.port))
    host, port = options.host, int(listening.getsockname()[1])
    url = f"http://{_authority(host, port)}"
    report("preparing the database")
    steward.make_database(postgres.dsn())
    admin = postgres.dsn(database=steward.DATABASE)
    household = steward.prepare(admin, brain=options.brain, person=_person(), token=_known_token(where, options.brain))
    # the few that an operator may set here come from the environment, as in any other process
    settings = replace(
        from_environment(),
        database=_without_user(admin),
        data_dir=where.top,
        host=host,
        port=port,
        sweep_seconds=SWEEP_SECONDS,
        worker_threads=THREADS_A_LANE,
    )
    report("loading the services")
    app = parts.enter_context(_services(settings))
    control = parts.enter_context(_controlled(where, lambda: _link(url, admin, household.person)))
    _keep_credentials(where, household, url, control)
    told = Ready(
        url=url,
        mcp=f"{url}/mcp/{household.brain}",
        brain=household.brain,
        person=household.person,
        token=household.token,
        sign_in=_link(url, admin, household.person)["url"],
        data=where.top,
        log=where.log,
        made=household.made,
    )
    _serve(app, listening, postgres, ready=lambda: ready(told))


@contextmanager
def _stopped_by_signals() -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _postgres(where: Place, options: Options, report: Report) -> Generator[Postgres]:
    from memoranda_up.postgres import Postgres

    report("starting Postgres" if (where.top / "cluster").exists() else "making a Postgres in the data folder")
    with Postgres.start(where.top, durable=options.durable) as postgres:
        yield postgres


@contextmanager
def _bound(host: str, port: int) -> Generator[socket.socket]:
    """A socket that holds the port, and listens once the server is ready. Raises Misconfigured where the port is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as exc:
        raise Misconfigured(f"the host '{host}' is not known here", mend="use --host 127.0.0.1") from exc
    with socket.socket(family, kind, protocol) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            # a bound socket that does not listen keeps nobody else from binding it with SO_REUSEADDR
            listening.listen(128)
        except OSError as exc:
            raise Misconfigured(
                f"port {port} on {host} is taken: {exc.strerror}", mend="stop what uses it, or choose another one: memoranda up --port 7412"
            ) from exc
        yield listening


def _authority(host: str, port: int) -> str:
    """Host and port as a client on this machine names them: a wildcard address is one to listen on and none to go to."""
    named = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  not bound here
    return f"[{named}]:{port}" if ":" in named else f"{named}:{port}"


def _without_user(dsn: str) -> str:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    parts = {name: value for name, value in conninfo_to_dict(dsn).items() if name != "user"}
    return make_conninfo("", **parts)


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _known_token(where: Place, brain: str) -> str | None:
    known = place.read(where)
    return known.tokens.get(brain) if known else None


def _keep_credentials(where: Place, household: steward.Household, url: str, control: Path) -> None:
    known = place.read(where)
    fresh = Credentials(url=url, brain=household.brain, person=household.person, pid=os.getpid(), control=str(control))
    place.write(where, replace(fresh, tokens={**(known.tokens if known else {}), household.brain: household.token}))


def _link(url: str, admin: str, person: str) -> dict[str, Any]:
    minutes = int(steward.LINK_LIFETIME.total_seconds() // 60)
    return {"url": f"{url}/sign-in?link={steward.new_link(admin, person)}", "person": person, "minutes": minutes}


@contextmanager
def _controlled(where: Place, link: Callable[[], dict[str, Any]]) -> Generator[Path]:
    from memoranda_up.control import Control

    control = Control(where, {"sign-in": link})
    control.start()
    try:
        yield control.path
    finally:
        control.stop()


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


def _log_to_file(where: Place) -> None:
    """Sends the log to the data folder, so that the terminal stays readable; it is cut at a few megabytes."""
    from logging.handlers import RotatingFileHandler

    from memoranda.telemetry import JsonLines

    where.log.touch(mode=0o600)
    handler = RotatingFileHandler(where.log, maxBytes=4 * 1024 * 1024, backupCount=2, delay=True)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for talkative in TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.WARNING)
