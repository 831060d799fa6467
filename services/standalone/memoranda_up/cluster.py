"""The services on one machine: the same processes as in a cluster, against a private RabbitMQ and the embedded Postgres."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memoranda.errors import Misconfigured
from memoranda_up import home as at_home
from memoranda_up.children import MODULES, Child, stop_all
from memoranda_up.home import Home, Options, Ready, Report
from memoranda_up.rabbit import Rabbit, free_port

log = logging.getLogger("memoranda.cluster")

GRACE_SECONDS: Final = 10.0
# a process that ends at once would otherwise be started without pause
RESTART_SECONDS: Final = 1.0
API_WORKERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service as the owner of a cluster is told of it."""

    name: str
    pid: int
    health: str
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What a running cluster tells its owner. ``broker`` has the password in it."""

    ready: Ready
    broker: str
    services: list[Running]


def run(options: Options, *, ready: Callable[[Cluster], None], report: Report) -> None:
    """Runs every service until SIGINT or SIGTERM, and starts again what ends by itself.

    The RabbitMQ is that of MEMORANDA_BROKER, else a private node in the data folder. Raises Misconfigured where it cannot start.
    """

    def serve(home: Home) -> None:
        with _broker(home, report) as broker:
            children = _children(home, options, broker)
            # until now nobody else could take the port
            home.listening.close()
            report("starting the services")
            try:
                for child in children:
                    child.start()
                _wait_for_api(home, children[0])
                with home.published() as told:
                    services = [Running(name=each.name, pid=each.pid, health=each.health, log=each.log) for each in children]
                    ready(Cluster(ready=replace(told, log=children[0].log), broker=broker, services=services))
                    _keep_running(home, children)
            finally:
                stop_all(children, seconds=GRACE_SECONDS + 3)

    at_home.run(options, serve, report)


@contextmanager
def _broker(home: Home, report: Report) -> Generator[str]:
    given = os.environ.get("MEMORANDA_BROKER")
    if given:
        yield given
        return
    report("starting RabbitMQ")
    with Rabbit.make(home.where.top / "rabbitmq") as rabbit:
        yield rabbit.url


def _children(home: Home, options: Options, broker: str) -> list[Child]:
    logs = home.where.top / "logs"
    logs.mkdir(mode=0o700, exist_ok=True)
    shared = {
        "MEMORANDA_DATABASE": home.database,
        "MEMORANDA_BROKER": broker,
        "MEMORANDA_DATA": str(home.where.top),
        "MEMORANDA_GRACE_SECONDS": str(GRACE_SECONDS),
        "MEMORANDA_HOST": options.host,
        "MEMORANDA_PORT": str(home.port),
        "MEMORANDA_API_WORKERS": os.environ.get("MEMORANDA_API_WORKERS", str(API_WORKERS)),
    }
    children: list[Child] = []
    for name in MODULES:
        port = home.port if name == "api" else free_port()
        health = f"{home.url}/v1/health/ready" if name == "api" else f"http://127.0.0.1:{port}/ready"
        own = {} if name == "api" else {"MEMORANDA_HEALTH_PORT": str(port)}
        children.append(Child(name=name, environment=shared | own, log=logs / f"{name}.log", health=health))
    return children


def _wait_for_api(home: Home, api: Child) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(home.address, timeout=1).close()
        except OSError:
            if not api.running or time.monotonic() > deadline:
                raise Misconfigured("the API did not start", mend=f"see {api.log}") from None
            time.sleep(0.05)
        else:
            return


def _keep_running(home: Home, children: list[Child]) -> None:
    """Returns never; raises Misconfigured where Postgres is gone, and whatever a signal raises."""
    pause = threading.Event()
    while True:
        pause.wait(RESTART_SECONDS)
        if not home.postgres.running:
            raise Misconfigured("Postgres ended unexpectedly", mend="see postgres.log in the data folder, then start again")
        for child in children:
            if not child.running:
                log.warning("started again", extra={"fields": {"service": child.name, "code": child.code, "starts": child.starts}})
                child.start()
