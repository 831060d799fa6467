"""Which reader a file is for: told by its content, with the extension as a hint for documents only."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from memoranda_capture.errors import READ_TODAY, Binary, Empty, JsonArray, NotASession, Unreadable, Unsupported, WrongEncoding
from memoranda_capture.events import Event, Heading, Notice, Record
from memoranda_capture.json_lines import decoded
from memoranda_capture.lines import Line, lines, opened
from memoranda_capture.readers import claude_code, codex, document, known

Reader = Callable[[Path, datetime], Iterator[Record]]

HEAD = 1024 * 1024
"""Bytes looked at to tell a whole-file format."""

_HELD = 10_000
"""Notices held back until the first event shows that the file is understood at all."""

_SPACE = b" \t\r\n\0"
_BOMS_16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"SQLite format 3\0", b"\x7fELF", b"BZh", b"\xfd7zXZ")


def read(path: Path, *, now: datetime | None = None) -> Iterator[Record]:
    """Yields the file's heading, then its events and notices; raises ``Refused`` before anything is yielded if it has no event.

    ``now`` is what times are held against (the present by default). The file stays open until the iterator is exhausted or closed.
    Nothing in the file's content makes the iterator raise; the disk may (``Unreadable``).
    """
    try:
        _refuse_what_is_no_file(path)
        found = _understood(path, _reader(path)(path, now or datetime.now(UTC)))
    except OSError as exc:
        raise Unreadable(path, f"The file cannot be read: {exc.strerror or exc}.") from exc
    return _guarded(path, found)


def _guarded(path: Path, found: Iterator[Record]) -> Iterator[Record]:
    try:
        yield from found
    except OSError as exc:
        raise Unreadable(path, f"The file cannot be read to its end: {exc.strerror or exc}.") from exc


def _understood(path: Path, found: Iterator[Record]) -> Iterator[Record]:
    """Reads ahead to the first event, so that a file without one is refused and not reported as read."""
    ahead: list[Record] = []
    for record in found:
        if isinstance(record, Event):
            return chain(ahead, [record], found)
        if isinstance(record, Heading) or len(ahead) < _HELD:
            ahead.append(record)
    reasons = "; ".join(dict.fromkeys(record.message for record in ahead if isinstance(record, Notice)))
    raise NotASession(path, f"No line holds anything that was said. {reasons[:600]}".rstrip())


def _reader(path: Path) -> Reader:
    with opened(path) as file:
        head = file.read(HEAD)
    _refuse_what_is_no_text(path, head)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
    is_document = path.suffix.lower() in document.EXTENSIONS
    if start[:1] in (b"{", b"[", b'"') or not is_document:
        if reader := _of_lines(path, is_document=is_document):
            return reader
        if not is_document:
            _refuse_json(path, start)
    return document.read


def _refuse_what_is_no_file(path: Path) -> None:
    """Asked before it is opened: opening a FIFO waits for a writer, and a device may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise Unreadable(path, f"This is not a regular file but {what}.")


def _refuse_what_is_no_text(path: Path, head: bytes) -> None:
    if head.startswith(_MAGIC):
        raise Binary(path, "This is a binary file (an image, archive, database or program), not a transcript.")
    if head.startswith(_BOMS_16_32) or _looks_wide(head):
        raise WrongEncoding(path, "This file is UTF-16 or UTF-32. Convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8.")
    if not head.strip(_SPACE + b"\xef\xbb\xbf"):
        raise Empty(path, "The file is empty.")
    control = sum(head[:4096].count(byte) for byte in (1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20))
    if control > 16:
        raise Binary(path, "This is a binary file, not a transcript.")


def _looks_wide(head: bytes) -> bool:
    """ASCII in UTF-16 without a byte order mark: every second byte is zero."""
    sample = head[:64]
    return len(sample) >= 8 and any(not any(sample[at::2]) and all(sample[1 - at :: 2]) for at in (0, 1))


def _of_lines(path: Path, *, is_document: bool) -> Reader | None:
    """The reader that claims the first line which any claims; None when no line is claimed."""
    with opened(path) as file:
        for line in lines(file):
            record = decoded(line)[0] if isinstance(line, Line) and line.raw[:1] == b"{" else None
            if record is None:
                if is_document:
                    return None
                continue
            if codex.recognises(record):
                return codex.read
            if claude_code.recognises(record):
                return claude_code.read
            if not is_document and (name := known.of_line(record)):
                raise Unsupported(path, name)
    return None


def _refuse_json(path: Path, start: bytes) -> None:
    if start[:1] in (b"{", b"[") and (name := known.of_whole(start)):
        raise Unsupported(path, name)
    if start[:1] == b"[":
        raise JsonArray(path, f"This is one JSON array, not one record a line. {READ_TODAY}")
    raise NotASession(path, f"No line is a record of a known format. {READ_TODAY}")
