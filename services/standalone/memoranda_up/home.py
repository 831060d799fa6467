"""What every way of running on this machine shares: the folder, its Postgres, the brain in it, and how clients find it."""

from __future__ import annotations

import getpass
import logging
import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import Misconfigured
from memoranda_up import place, steward
from memoranda_up.place import Credentials, Place

if TYPE_CHECKING:
    from types import FrameType

    from memoranda_up.postgres import Postgres

TALKATIVE: Final = ("alembic", "dramatiq", "mcp", "httpx", "pika", "psycopg.pool", "uvicorn")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A data folder in use: its Postgres runs, its database is ready, and the port of the API is held by ``listening``."""

    where: Place
    postgres: Postgres
    admin: str
    household: steward.Household
    listening: socket.socket
    url: str

    @property
    def database(self) -> str:
        """The connection string for serving roles: without a user."""
        return _without_user(self.admin)

    @property
    def port(self) -> int:
        """The port of the API."""
        return self.address[1]

    @property
    def address(self) -> tuple[str, int]:
        """Where a client on this machine connects."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host.strip("[]"), int(port)

    @contextmanager
    def published(self) -> Generator[Ready]:
        """Writes down how clients on this machine find it, and answers who asks for a sign-in link."""
        with _controlled(self.where, lambda: _link(self.url, self.admin, self.household.person)) as control:
            _keep_credentials(self.where, self.household, self.url, control)
            yield Ready(
                url=self.url,
                mcp=f"{self.url}/mcp/{self.household.brain}",
                brain=self.household.brain,
                person=self.household.person,
                token=self.household.token,
                sign_in=_link(self.url, self.admin, self.household.person)["url"],
                data=self.where.top,
                log=self.where.log,
                made=self.household.made,
            )


def run(options: Options, serve: Callable[[Home], None], report: Report) -> None:
    """Opens the data folder and serves in the main thread until SIGINT or SIGTERM, then stops cleanly.

    Raises Misconfigured where it cannot start: the folder or the port is taken, or Postgres does not run.
    """
    with _stopped_by_signals():
        try:
            with _opened(options, report) as home:
                try:
                    serve(home)
                except Stopped:
                    report("stopping")
                finally:
                    # a second ctrl-C must not tear the server down in the middle of its checkpoint
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
        except Stopped:
            report("stopping")


@contextmanager
def _opened(options: Options, report: Report) -> Generator[Home]:
    where = place.of(options.data)
    with _postgres(where, options, report) as postgres:
        _log_to_file(where)
        with _bound(options.host, options.port) as listening:
            url = f"http://{_authority(options.host, int(listening.getsockname()[1]))}"
            report("preparing the database")
            steward.make_database(postgres.dsn())
            admin = postgres.dsn(database=steward.DATABASE)
            household = steward.prepare(admin, brain=options.brain, person=_person(), token=_known_token(where, options.brain))
            yield Home(where=where, postgres=postgres, admin=admin, household=household, listening=listening, url=url)


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
