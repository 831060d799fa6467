"""A worker's process: waits for what it needs, consumes its lane, tells of itself, and drains at SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from memoranda.bus.announce import Announcer
from memoranda.bus.health import Health
from memoranda.bus.rabbit import RabbitBroker, quiet_logs
from memoranda.bus.sweep import Ticker
from memoranda.bus.work import Handler, Worker
from memoranda.domain.job import Lane
from memoranda.errors import MemorandaError, Misconfigured
from memoranda.settings import Settings, from_environment
from memoranda.store import workers
from memoranda.store.database import Database, Role
from memoranda.telemetry import log_to_stderr

if TYPE_CHECKING:
    from types import FrameType

log = logging.getLogger("memoranda.service")

STATEMENT_SECONDS = 60.0
CONNECTION_SECONDS = 5.0
"""How long a thread waits for a connection. While the database is away this is also what draining takes beyond its grace."""
REPORT_SECONDS = 3.0
"""How often a process says that it is there."""
STUCK_SECONDS = 60.0
"""A process that did not come round to reporting for so long is not alive, whatever its sockets answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a worker's process does. ``health_port`` is that of a machine on which all services run; settings may name another."""

    name: str
    role: Role
    lane: Lane
    handlers: Mapping[str, Handler]
    health_port: int


def run(service: Service) -> None:
    """Runs the service in the main thread until SIGTERM or SIGINT; exits with 2 and one message where it cannot work as it is set up."""
    log_to_stderr()
    quiet_logs()
    try:
        process = Process(service, from_environment())
    except (MemorandaError, ValueError) as error:
        mend = getattr(error, "mend", "")
        sys.exit(f"memoranda-{service.name}: {error}{f'; {mend}' if mend else ''}")
    process.run()


class Process:
    """The parts of a worker's process, and their order."""

    def __init__(self, service: Service, settings: Settings) -> None:
        """Raises Misconfigured; reaches nothing but its health port."""
        if not settings.database:
            raise Misconfigured("no database is named", mend="set MEMORANDA_DATABASE to 'host=… dbname=memoranda'")
        self._service = service
        self._settings = settings
        self._database = Database(
            settings.database, pool_size=settings.worker_threads + 4, wait=CONNECTION_SECONDS, idle=settings.lease_seconds
        )
        self._broker = RabbitBroker(settings)
        self._announcer = Announcer(self._database, service.role, self._broker)
        self._worker = Worker(
            self._database,
            service.role,
            self._announcer.ring,
            service.handlers,
            lease_seconds=settings.lease_seconds,
            timeout=STATEMENT_SECONDS,
        )
        self._ticker = Ticker(self._database, service.role, self._announcer.ring, seconds=settings.sweep_seconds)
        self._ending = threading.Event()
        self._store_trouble = "not reached yet"
        self._consuming = False
        self._came_round = datetime.now(UTC)
        port = service.health_port if settings.health_port is None else settings.health_port
        self._health = Health(settings.health_host, port, live=self._live, ready=self._ready)

    def run(self) -> None:
        """From start to drained."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        self._database.open(self._service.role)
        self._announcer.start()
        log.info("starting", extra={"fields": {"service": self._service.name, "worker": self._worker.name, "health": self._health.port}})
        self._wait_for_the_store()
        if not self._ending.is_set():
            self._ticker.start()
            self._broker.consume(self._service.lane, self._worker.handle, threads=self._settings.worker_threads)
            self._consuming = True
            log.info("consuming", extra={"fields": {"lane": self._service.lane, "threads": self._settings.worker_threads}})
        while not self._ending.wait(REPORT_SECONDS):
            self._report("working")
        self._drain()

    def _wait_for_the_store(self) -> None:
        """The broker is not waited for: consuming begins when it is there, and until then jobs wait in their rows."""
        said = ""
        while not self._ending.is_set():
            self._report("working")
            if not self._store_trouble:
                return
            if said != self._store_trouble:
                said = self._store_trouble
                log.warning("waiting for the database", extra={"fields": {"why": said}})
            self._ending.wait(1)

    def _drain(self) -> None:
        """Takes nothing more, waits for what is in hand, gives back what does not end in time, and says goodbye."""
        log.info("draining", extra={"fields": {"holds": self._worker.holds, "grace_seconds": self._settings.grace_seconds}})
        self._worker.stop()
        if not self._store_trouble:
            self._report("draining")
        if self._consuming:
            giving_up = threading.Timer(self._settings.grace_seconds, self._give_back)
            giving_up.daemon = True
            giving_up.start()
            self._broker.stop(seconds=self._settings.grace_seconds + 2)
            giving_up.cancel()
            self._ticker.stop()
        self._announcer.stop()
        if not self._store_trouble:
            self._report("stopped")
        self._broker.close()
        self._health.stop()
        self._database.close()
        log.info("stopped")

    def _give_back(self) -> None:
        with suppress(MemorandaError):
            log.warning("gave back what did not end in time", extra={"fields": {"jobs": self._worker.hand_back()}})

    def _report(self, state: workers.State) -> None:
        trouble = self._announcer.trouble or self._broker.trouble()
        try:
            with self._database.transaction(self._service.role, timeout=REPORT_SECONDS) as connection:
                workers.report(
                    connection,
                    name=self._worker.name,
                    lane=self._service.lane,
                    version=version("memoranda"),
                    clock=datetime.now(UTC),
                    holds=self._worker.holds,
                    state=state,
                    trouble=trouble,
                )
            self._store_trouble = ""
        except MemorandaError as error:
            self._store_trouble = error.message
        self._came_round = datetime.now(UTC)

    def _live(self) -> dict[str, str]:
        silent = (datetime.now(UTC) - self._came_round).total_seconds()
        return {"process": f"stuck for {silent:.0f} s" if silent > STUCK_SECONDS else ""}

    def _ready(self) -> dict[str, str]:
        return {
            "database": self._store_trouble,
            "broker": self._announcer.trouble or self._broker.trouble() or ("" if self._consuming else "not consuming yet"),
            "process": "draining" if self._ending.is_set() else "",
        }

    def _end(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._ending.set()
