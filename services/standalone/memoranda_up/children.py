"""The services as processes of their own: how each is started, and what it is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MODULES: Final[Mapping[str, str]] = {
    "api": "memoranda_api.main",
    "ingest": "memoranda_ingest.worker",
    "learner": "memoranda_learner.worker",
    "indexer": "memoranda_indexer.worker",
    "graph": "memoranda_graph.worker",
}
"""The services by name, in the order in which a capture passes them. Each may start before the others."""


@dataclass(slots=True, kw_only=True)
class Child:
    """One service's process. It may be started again after it ended. ``module`` is what Python runs."""

    name: str
    environment: Mapping[str, str]
    log: Path
    module: str = ""
    health: str = ""
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Starts the process. What it needs may not be there yet: it waits."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ending_with_parent([sys.executable, "-m", self.module or MODULES[self.name]]),
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # a ctrl-C in the terminal is for the one who started them
                start_new_session=True,
            )
        self.starts += 1

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code of the last process; None while it runs."""
        return None if self._process is None else self._process.poll()

    def end(self) -> None:
        """Asks it to drain and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it and its own children at once."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def freeze(self, *, frozen: bool) -> None:
        """Stops it in its tracks, or lets it go on."""
        self._signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    def wait(self, seconds: float) -> bool:
        """Waits until it has ended. Whether it did."""
        if self._process is None:
            return True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return not self.running

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def ending_with_parent(command: list[str]) -> list[str]:
    """The command, run so that the kernel ends it when this process ends, also by a kill. On Linux; elsewhere as it was."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", *command] if setpriv else command


def stop_all(children: list[Child], *, seconds: float) -> None:
    """Lets all drain at once, for so long together; what has not ended then is killed."""
    for child in children:
        child.end()
    deadline = time.monotonic() + seconds
    for child in children:
        if not child.wait(max(0.1, deadline - time.monotonic())):
            child.kill()
