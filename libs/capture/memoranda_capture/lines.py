"""A file as lines: split on LF only, cleaned of what crashes and editors leave, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memoranda_capture.events import Notice
from memoranda_capture.notices import notice

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes. The longest true messages seen are a few MB (inline images); progress records of 60 to 144 MB exist and hold nothing to keep."""

BUFFER = 1024 * 1024
"""Bytes read at once: 12 GB/s from the page cache, where Python's default of 8 KB gives 1.5."""

ZERO_RUN = 8
"""Zero bytes at a line's end that are worth telling; fewer are stripped in silence."""

_EDGES = b"\r\n\0 \t"
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its end. ``finished`` is False for a last line that no LF closes: its writer may still be at work."""

    number: int
    raw: bytes
    finished: bool = True


def opened(path: Path) -> BinaryIO:
    """The file, open for fast reading of lines."""
    return path.open("rb", buffering=BUFFER)


def lines(file: BinaryIO) -> Iterator[Line | Notice]:
    """Yields each line that is not blank, and a notice for each that was skipped or cleaned; memory stays near LINE_LIMIT.

    U+2028, U+0085, VT and FF do not end a line: JSON lines are ended by LF alone.
    """
    number = 0
    while chunk := file.readline(LINE_LIMIT + 1):
        number += 1
        raw = chunk.strip(_EDGES)
        if raw and number > 1 and 0 < len(chunk) - len(raw) <= ZERO_RUN:
            yield Line(number, raw, chunk[-1] == 10)
        elif chunk[-1] != 10 and len(chunk) > LINE_LIMIT:
            _skip_rest(file)
            yield notice(number, "line_too_long", f"{LINE_LIMIT // (1024 * 1024)} MiB")
        else:
            yield from _cleaned(number, chunk)


def _skip_rest(file: BinaryIO) -> None:
    while chunk := file.readline(BUFFER):
        if chunk[-1] == 10:
            return


def _cleaned(number: int, chunk: bytes) -> Iterator[Line | Notice]:
    raw = chunk.strip(_EDGES)
    if number == 1 and raw.startswith(_BOM):
        raw = raw[len(_BOM) :].strip(_EDGES)
    if len(chunk) - len(raw) > ZERO_RUN and (zeros := chunk.count(0) - raw.count(0)) > ZERO_RUN:
        yield notice(number, "zero_bytes", zeros, kept=bool(raw))
    if raw:
        yield Line(number, raw, finished=chunk[-1] == 10)
