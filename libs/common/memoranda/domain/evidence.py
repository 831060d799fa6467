"""Evidence as services share it: events, sources, and the lines of a chunk with their authors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

Role = Literal["person", "assistant", "tool", "document", "memoranda"]
SourceKind = Literal["session", "document", "contribution", "review"]

RANKS: dict[str, int] = {"memoranda": 0, "assistant": 1, "tool": 2, "document": 3, "person": 4}
"""Who is to be believed before whom, for succession."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where something applies inside a brain. An empty list means everywhere."""

    repositories: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()


EVERYWHERE = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One captured event, masked, in the order of its arrival (``id``). ``opens`` says that nothing precedes it in its document."""

    id: int
    opens: bool
    role: Role
    kind: str
    said_at: datetime | None
    abandoned: bool
    body: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of lines by one author: it begins at ``line`` and goes on to the next run."""

    line: int
    role: Role
    said_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A span of lines that becomes a chunk. ``continues`` says that it begins in the middle of its first line."""

    first_line: int
    last_line: int
    text: str
    runs: tuple[Run, ...]
    continues: bool = False
    abandoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored piece."""

    id: UUID
    piece: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Cited lines of one chunk."""

    chunk_id: UUID
    first_line: int
    last_line: int
