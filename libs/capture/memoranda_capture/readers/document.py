"""Documents: plain text and mark-up, as events of bounded size that end where lines end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from memoranda_capture.events import Event, Heading, Notice, Record
from memoranda_capture.identity import digest
from memoranda_capture.lines import BUFFER, opened
from memoranda_capture.memory import Occurrences
from memoranda_capture.notices import notice
from memoranda_capture.pieces import said
from memoranda_capture.wording import clean

EXTENSIONS = frozenset({".md", ".markdown", ".txt", ".rst", ".adoc"})

PART_LIMIT = 16 * 1024
"""Bytes an event holds: some pages, so that a citation points near and a changed paragraph does not make the whole document new."""


def read(path: Path, now: datetime) -> Iterator[Record]:  # noqa: ARG001  a document says nothing of its time
    """Yields the heading and the document's parts in order; a part without changed text keeps its key in the next version."""
    with opened(path) as file:
        title = _title(file)
        location = str(path.absolute())
        yield Heading(host="document", external_id=location, title=title or path.name, repository=None, branch=None, started_at=None)
        file.seek(0)
        yield from _events(file, location)


def _title(file: BinaryIO) -> str:
    for line in file.readline(4096).decode(errors="replace").lstrip("\ufeff"), file.readline(4096).decode(errors="replace"):
        if words := line.strip("#= \t\r\n\0"):
            return clean(words)[:80]
    return ""


def _events(file: BinaryIO, location: str) -> Iterator[Event | Notice]:
    occurrences = Occurrences()
    told = False
    for line, raw in _parts(file):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode(errors="replace")
            if not told:
                told = True
                yield notice(line, "invalid_utf8", kept=True)
        text = clean(text.removeprefix("\ufeff") if line == 1 else text).replace("\r\n", "\n")
        for piece in said("document", "document", text):
            key = digest(location, piece.text, occurrences.next(piece.text))
            yield Event(key=key, parent_key=None, role=piece.role, kind="document", said_at=None, text=piece.text, line=line)


def _parts(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines together up to PART_LIMIT; a longer line is a part of its own, and one longer than BUFFER several."""
    held: list[bytes] = []
    size, first, number = 0, 1, 1
    while chunk := file.readline(BUFFER):
        if size + len(chunk) > PART_LIMIT and held:
            yield first, b"".join(held)
            held, size, first = [], 0, number
        held.append(chunk)
        size += len(chunk)
        number += chunk[-1] == 10
    if held:
        yield first, b"".join(held)
