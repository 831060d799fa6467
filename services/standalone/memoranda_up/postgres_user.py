"""Which user a private Postgres runs as: Postgres itself refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memoranda.errors import Misconfigured

MAPPED: Final = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAs:
    """How a program is started so that it does not run as root: a command in front of it, or another user id."""

    prefix: tuple[str, ...] = ()
    user: int | None = None
    group: int | None = None

    @property
    def extra_groups(self) -> list[int] | None:
        """None keeps the groups of this process, and another user gets none of them."""
        return None if self.user is None else []

    def give(self, path: Path) -> None:
        """Hand a file or folder to the user that the server runs as."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)


def choose(data_dir: Path) -> RunAs:
    """The present user; as root a user namespace in which root is called nobody; where that is forbidden (as in most
    containers) nobody itself, who must then be able to reach
    `data_dir`. Raises Misconfigured where none of these works."""
    if os.geteuid() != 0:
        return RunAs()
    if _namespaces_work():
        return RunAs(prefix=MAPPED)
    return _as_nobody(data_dir)


def obstacle(path: Path) -> Path | None:
    """The first folder on the way to `path` that other users may not enter."""
    folders = [*reversed(path.resolve().parents)]
    return next((folder for folder in folders if not folder.stat().st_mode & stat.S_IXOTH), None)


def _namespaces_work() -> bool:
    if shutil.which(MAPPED[0]) is None:
        return False
    return subprocess.run([*MAPPED, "true"], check=False, capture_output=True).returncode == 0


def _as_nobody(data_dir: Path) -> RunAs:
    closed = obstacle(data_dir)
    if closed is not None:
        raise Misconfigured(
            "Postgres does not run as root, user namespaces are not permitted here, and the user nobody cannot reach "
            f"{data_dir}, because {closed} is closed to others",
            mend=f"use a data folder outside {closed}, or start Memoranda as an ordinary user",
        )
    nobody = pwd.getpwnam("nobody")
    return RunAs(user=nobody.pw_uid, group=nobody.pw_gid)
