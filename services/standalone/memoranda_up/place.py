"""The data folder of an embedded profile: what lies in it, and the credentials by which a client on the same machine finds it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from memoranda.errors import Misconfigured

DEFAULT: Final = "~/.memoranda"
# sun_path holds 108 bytes with the closing zero on Linux, 104 on macOS
LONGEST_SOCKET: Final = 103


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files of one data folder. Nothing here is made by asking for its path."""

    top: Path

    @property
    def credentials(self) -> Path:
        """Address, brain and tokens; readable by its owner only."""
        return self.top / "credentials.json"

    @property
    def person(self) -> Path:
        """The browser-style session of the person who signed in with ``memoranda sign-in --here``."""
        return self.top / "person.json"

    @property
    def control(self) -> Path:
        """The socket over which the running process gives sign-in links to whoever may enter the folder."""
        return self.top / "control.sock"

    @property
    def log(self) -> Path:
        """The process' log, JSON lines."""
        return self.top / "memoranda.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a client on this machine needs. ``tokens`` are by brain; the store has their digests only.

    ``control`` is where the control socket is, which is outside the folder where the folder's path is too long for a socket.
    """

    url: str
    brain: str
    person: str
    pid: int
    control: str = ""
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def token(self) -> str:
        """The token of the brain in use."""
        return self.tokens.get(self.brain, "")


def of(folder: Path | None) -> Place:
    """The place that was named, else that of MEMORANDA_DATA, else the home folder's."""
    return Place(top=(folder or Path(os.environ.get("MEMORANDA_DATA") or DEFAULT)).expanduser().absolute())


def read(place: Place) -> Credentials | None:
    """The credentials of a place, or None where no profile was ever started in it.

    Raises Misconfigured where the file is there and cannot be used.
    """
    try:
        found: dict[str, Any] = json.loads(place.credentials.read_bytes())
        return Credentials(**{name: found[name] for name in found.keys() & Credentials.__slots__})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as exc:
        raise Misconfigured(
            f"{place.credentials} cannot be used: {type(exc).__name__}",
            mend="move it away, and 'memoranda up' makes a new one",
        ) from exc


def write(place: Place, credentials: Credentials) -> None:
    """Keeps the credentials, whole or not at all, for the owner's eyes."""
    keep_private(place.credentials, json.dumps(asdict(credentials), indent=2).encode() + b"\n")


def keep_private(path: Path, content: bytes) -> None:
    """Replaces a file by one that only its owner may read."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(opened, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
