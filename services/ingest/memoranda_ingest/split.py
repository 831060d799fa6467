"""Splitting: events in order become pieces of some thousand characters, each line with its author and its time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memoranda.domain.evidence import Piece, Run, StoredEvent

TARGET = 2000
"""Characters after which a piece ends at the next line: about 500 tokens, so that ten of them fit into a 16 KiB answer."""
LONGEST = 4000
"""A line longer than this is continued in further pieces, cut at white space where there is some."""


@dataclass(slots=True)
class _Open:
    first_line: int
    abandoned: bool
    delivered: bool
    continues: bool = False
    lines: list[str] = field(default_factory=list[str])
    runs: list[Run] = field(default_factory=list[Run])
    size: int = 0

    def close(self) -> Piece:
        last = self.first_line + len(self.lines) - 1
        return Piece(
            first_line=self.first_line,
            last_line=last,
            text="\n".join(self.lines),
            runs=tuple(self.runs),
            continues=self.continues,
            abandoned=self.abandoned,
        )


def split(events: Iterable[StoredEvent], *, first_line: int) -> Iterator[Piece]:
    """Pieces of the events' text, in order. Lines are numbered from ``first_line`` on.

    Text that Memoranda delivered, and abandoned branches, never share a piece with anything else. Erased events leave nothing.
    """
    number = first_line
    piece: _Open | None = None
    for event in events:
        if not event.body:
            continue
        delivered = event.role == "memoranda"
        begins_event = True
        for line in event.body.split("\n"):
            if piece and (piece.abandoned, piece.delivered) != (event.abandoned, delivered):
                yield piece.close()
                piece = None
            if len(line) > LONGEST:
                if piece:
                    yield piece.close()
                    piece = None
                yield from _long_line(line, number, event)
            else:
                piece = piece or _Open(first_line=number, abandoned=event.abandoned, delivered=delivered)
                if begins_event or not piece.runs:
                    _begin_run(piece, number, event)
                piece.lines.append(line)
                piece.size += len(line) + 1
                if piece.size >= TARGET:
                    yield piece.close()
                    piece = None
            begins_event = False
            number += 1
    if piece:
        yield piece.close()


def _begin_run(piece: _Open, number: int, event: StoredEvent) -> None:
    last = piece.runs[-1] if piece.runs else None
    if last is None or (last.role, last.said_at) != (event.role, event.said_at):
        piece.runs.append(Run(line=number, role=event.role, said_at=event.said_at))


def _long_line(line: str, number: int, event: StoredEvent) -> Iterator[Piece]:
    runs = (Run(line=number, role=event.role, said_at=event.said_at),)
    for place, part in enumerate(_cut(line)):
        yield Piece(first_line=number, last_line=number, text=part, runs=runs, continues=place > 0, abandoned=event.abandoned)


def _cut(line: str) -> Iterator[str]:
    start = 0
    while len(line) - start > LONGEST:
        blank = _last_blank(line, start + TARGET, start + LONGEST)
        end = blank + 1 if blank > 0 else start + LONGEST
        yield line[start:end]
        start = end
    yield line[start:]


def _last_blank(line: str, low: int, high: int) -> int:
    found = -1
    for match in re.finditer(r"\s", line[low:high]):
        found = low + match.start()
    return found
