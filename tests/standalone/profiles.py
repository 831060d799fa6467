"""An embedded profile in a process of its own, and the command line against it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoranda_cli import client, target
from memoranda_cli.target import Target
from memoranda_up.place import Place

COMMAND: Final = (sys.executable, "-m", "memoranda_cli.main")
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its answer to --json."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A running profile."""

    process: subprocess.Popen[str]
    data: Path
    told: dict[str, Any]

    @property
    def target(self) -> Target:
        """It, as the command line's client names it."""
        return Target(url=self.told["url"], brain=self.told["brain"], token=self.told["token"], place=Place(top=self.data), local=True)

    def cli(self, *words: str | Path, **environment: str) -> Said:
        """Runs a command against it."""
        return cli(*words, MEMORANDA_DATA=str(self.data), **environment)

    def sign_in(self) -> None:
        """Signs the command line's person in, as `sign-in --here` does at a terminal."""
        link = self.cli("sign-in", "--json").json["url"]
        target.keep_session(self.target.place, client.redeem(self.target, link))

    def person(self) -> client.Client:
        """A client in the person's session."""
        self.sign_in()
        return client.Client(self.target, target.read_session(self.target))

    def end(self, number: int = signal.SIGTERM) -> Said:
        """Sends a signal and waits for the end."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return Said(code=self.process.returncode, out=out, err=err)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """A running `import --watch`."""

    process: subprocess.Popen[str]

    def line_with(self, part: str) -> str:
        """Waits for a line that holds this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if part in line:
                return line
        raise AssertionError(f"it ended without saying '{part}'")

    def interrupted(self) -> int:
        """Sends what ctrl-C sends, and returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=SECONDS)
        assert "Traceback" not in said
        return self.process.returncode


@contextmanager
def watching(profile: Profile, *paths: Path) -> Generator[Watcher]:
    """Runs `import --watch`, its output and its messages in one stream."""
    process = subprocess.Popen(
        [*COMMAND, "import", "--watch", *map(str, paths)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment({"MEMORANDA_DATA": str(profile.data), "PYTHONUNBUFFERED": "1"}),
    )
    try:
        yield Watcher(process=process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def cli(*words: str | Path, **environment: str) -> Said:
    """Runs the command line with an environment of its own and an empty home."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        env=_environment(environment),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


@contextmanager
def started(data: Path, *words: str) -> Generator[Profile]:
    """Starts a profile on any free port, and ends it with the block if nothing ended it before."""
    process = subprocess.Popen(
        [*COMMAND, "up", "--json", "--port", "0", "--data", str(data), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=_environment({}),
    )
    try:
        yield Profile(process=process, data=data, told=_told(process))
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=SECONDS)


def without_colour(text: str) -> str:
    """A terminal's text without its escapes."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def _told(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if line.rstrip() == "}":
            return json.loads("".join(said))
    _, err = process.communicate(timeout=SECONDS)
    raise AssertionError(f"the profile did not start: {err}")


def _environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORANDA_", "NO_COLOR", "FORCE_COLOR"))}
    return {**kept, "HOME": "/nonexistent", "COLUMNS": "120", "TZ": "UTC", **extra}
