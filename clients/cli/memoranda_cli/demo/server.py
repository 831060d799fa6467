"""The demo's own profile: another process, in a temporary folder, on any free port."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoranda_cli.errors import Failure

STOP_SECONDS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A profile that answers."""

    url: str
    brain: str
    token: str
    sign_in: str
    person: str
    data: Path


@contextmanager
def running(*, keep: bool) -> Generator[Running]:
    """Runs ``memoranda up`` for the time of the block. Its folder is removed afterwards unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-demo-", dir=_room()))
    command = [sys.executable, "-m", "memoranda_cli.main", "up", "--json", "--port", "0", "--data", str(folder)]
    # a session of its own, so that ctrl-C reaches the demo first and the demo ends the server
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        yield _ready(process, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _ready(process: subprocess.Popen[bytes], folder: Path) -> Running:
    assert process.stdout is not None
    said: list[bytes] = []
    for line in process.stdout:
        said.append(line)
        if line.rstrip() == b"}":
            told: dict[str, Any] = json.loads(b"".join(said))
            return Running(
                url=told["url"], brain=told["brain"], token=told["token"], sign_in=told["sign_in"], person=told["person"], data=folder
            )
    _, complaint = process.communicate(timeout=STOP_SECONDS)
    raise Failure(f"the demo's server did not start:\n{complaint.decode(errors='replace').strip()}", mend="memoranda doctor")


def _room() -> Path:
    """Where temporary folders are made. As root the server may have to run as another user, who must be able to come in."""
    room = Path(tempfile.gettempdir()).resolve()
    if os.geteuid() == 0 and any(not folder.stat().st_mode & stat.S_IXOTH for folder in (room, *room.parents)):
        return Path("/tmp")  # noqa: S108  mkdtemp makes a private folder in it
    return room
