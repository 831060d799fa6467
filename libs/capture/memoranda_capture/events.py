"""What a reader yields: one session's heading, its events in file order, and notices about what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["person", "assistant", "tool", "document", "memoranda"]
"""Who wrote a line. ``memoranda`` marks text that Memoranda itself delivered: it is kept, and never learned from."""

Kind = Literal["prompt", "reply", "tool_call", "tool_result", "summary", "notice", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The session or document that a file holds.

    ``external_id`` is stable across copies, moves and longer versions of the same session.
    ``repository`` is a remote URL where the transcript names one, else the working directory, else None.
    """

    host: str
    external_id: str
    title: str
    repository: str | None
    branch: str | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that one author said or did.

    ``key`` names the event within its host, across files: a copy of the event in another file has the same key.
    ``text`` is valid Unicode without NUL and without lone surrogates (each becomes U+FFFD).
    ``said_at`` is aware, in UTC, and None where the transcript gives no believable time.
    ``line`` is the 1-based line of the file that it came from.
    ``abandoned`` marks what hangs from a prompt that the person took back and wrote anew: kept, and no longer current.
    """

    key: str
    parent_key: str | None
    role: Role
    kind: Kind
    said_at: datetime | None
    text: str
    line: int
    abandoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something in a file that was not kept, or kept changed: where, why, and what to do about it.

    ``code`` is from a closed set in ``notices.py``; ``kept`` says whether the record's good part was kept.
    """

    line: int
    code: str
    message: str
    kept: bool


Record = Heading | Event | Notice
