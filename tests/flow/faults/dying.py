"""A service that kills itself, once, at a named point: run as ``python -m tests.flow.faults.dying``.

``DYING_SERVICE`` is the service, ``DYING_AT`` the point and ``DYING_MARK`` a file whose making is the one death: a process that
finds it there lives on. ``DYING_FREEZES`` has it stop in its tracks instead, until somebody lets it go on; ``DYING_TWICE`` has it
publish every message twice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from memoranda.bus import announce, rabbit, work
from memoranda.store import jobs
from memoranda_up.children import MODULES

POINTS = ("before the lease", "after the lease", "in the work", "before the commit", "after the commit")


def die() -> None:
    """Ends the process as kill -9 does, or freezes it, unless it died before."""
    try:
        os.close(os.open(os.environ["DYING_MARK"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGSTOP if os.environ.get("DYING_FREEZES") else signal.SIGKILL)


def _first(then: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        die()
        return then(*arguments, **named)

    return wrapped


def _afterwards(then: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        result = then(*arguments, **named)
        die()
        return result

    return wrapped


def _put(point: str) -> None:
    match point:
        case "before the lease":
            jobs.take = _first(jobs.take)
        case "after the lease":
            work.Worker._do = _first(work.Worker._do)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        case "in the work":
            work.Work.effect = _in_the_work(work.Work.effect)  # pyright: ignore[reportAttributeAccessIssue]
        case "before the commit":
            jobs.complete = _afterwards(jobs.complete)
        case "after the commit":
            announce.Announcer.ring = _first(announce.Announcer.ring)  # pyright: ignore[reportAttributeAccessIssue]
        case "":
            pass
        case _:
            raise ValueError(point)


def _in_the_work(then: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def effect(self: Any) -> Generator[Any]:
        with then(self) as opened:
            # the transaction is open and has written nothing yet
            die()
            yield opened

    return effect


def _twice(then: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> None:
        then(*arguments, **named)
        then(*arguments, **named)

    return wrapped


def main() -> None:
    """Runs the service."""
    _put(os.environ.get("DYING_AT", ""))
    if os.environ.get("DYING_TWICE"):
        rabbit.RabbitBroker.publish = _twice(rabbit.RabbitBroker.publish)  # pyright: ignore[reportAttributeAccessIssue]
    module = __import__(MODULES[os.environ["DYING_SERVICE"]], fromlist=["main"])
    module.main()


if __name__ == "__main__":
    main()
