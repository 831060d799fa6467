"""Which Memoranda a command talks to: options first, then the environment, then the profile on this machine."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoranda.errors import Misconfigured
from memoranda_cli.errors import Failure, Misused, Unreachable
from memoranda_up import place
from memoranda_up.place import Credentials, Place

TOKEN: Final = re.compile(r"mem_[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A person's browser-style session: its cookie, and the token that proves each write to be meant."""

    cookie: str
    csrf: str
    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address, a brain in it, and the token for it."""

    url: str
    brain: str
    token: str
    place: Place
    local: bool


def find(data: Path | None, url: str | None, brain: str | None) -> Target:
    """The target that is meant. Raises Unreachable where none is named and none was started on this machine."""
    where = place.of(data)
    address = url or os.environ.get("MEMORANDA_URL")
    name = brain or os.environ.get("MEMORANDA_BRAIN")
    token = _token()
    known = credentials(where)
    if address is None and known is None:
        raise Unreachable(
            f"no Memoranda is known here: {where.credentials} does not exist",
            mend="start one with 'memoranda up', or set MEMORANDA_URL and MEMORANDA_TOKEN",
        )
    local = known is not None and address in (None, known.url)
    wanted = name or (known.brain if known and local else "main")
    kept = known.tokens.get(wanted, "") if known and local else ""
    return Target(url=(address or (known.url if known else "")).rstrip("/"), brain=wanted, token=token or kept, place=where, local=local)


def _token() -> str | None:
    """The token of the environment. Raises Misused for what no token can be."""
    token = os.environ.get("MEMORANDA_TOKEN")
    if token and not TOKEN.fullmatch(token):
        raise Misused(
            "MEMORANDA_TOKEN holds no token: one begins with mem_ and goes on with letters, digits, - and _",
            mend="copy the whole token, without quotes and spaces, or unset MEMORANDA_TOKEN",
        )
    return token


def credentials(where: Place) -> Credentials | None:
    """What the profile of a data folder left for clients, or None."""
    try:
        return place.read(where)
    except Misconfigured as exc:
        raise Failure(exc.message, mend=exc.mend) from exc


def read_session(target: Target) -> Session | None:
    """The session of the person who signed in here, or None.

    It belongs to the data folder and so to the server that runs on it, on whichever port; to another server it is not shown.
    """
    try:
        found: dict[str, Any] = json.loads(target.place.person.read_bytes())
        session = Session(cookie=found["cookie"], csrf=found["csrf"], name=found["name"], url=found["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return session if target.local or session.url == target.url else None


def keep_session(where: Place, session: Session) -> None:
    """Keeps a session for the owner's eyes."""
    content = {"cookie": session.cookie, "csrf": session.csrf, "name": session.name, "url": session.url}
    place.keep_private(where.person, json.dumps(content).encode())
