"""The closed set of notices, their wording, and the counting that keeps ten thousand equal ones from being ten thousand lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from memoranda_capture.events import Notice

Code = Literal[
    "line_too_long",
    "line_not_json",
    "line_not_object",
    "last_line_unfinished",
    "zero_bytes",
    "invalid_utf8",
    "odd_unicode",
    "no_content",
    "odd_content",
    "id_repeated_with_other_content",
    "time_not_believable",
    "unknown_record",
    "not_conversation",
    "thinking_not_kept",
    "repeated_record",
    "more_of_the_same",
]
CODES: frozenset[str] = frozenset(get_args(Code))

_WORDS: dict[Code, str] = {
    "line_too_long": "The line is longer than {detail} and was skipped.",
    "line_not_json": "The line is not JSON and was skipped ({detail}).",
    "line_not_object": "The line is valid JSON but {detail}, not a record; it was skipped.",
    "last_line_unfinished": "The last line has no end yet; it is read when the rest has been written.",
    "zero_bytes": "{detail} zero bytes, as a crash leaves them, were left out.",
    "invalid_utf8": "Bytes that are not UTF-8 were replaced by U+FFFD.",
    "odd_unicode": "Half of a surrogate pair or a NUL was replaced by U+FFFD.",
    "no_content": "The {detail} record has no text to keep.",
    "odd_content": "The {detail} has a shape that no client writes and was skipped.",
    "id_repeated_with_other_content": "The id {detail} was used before for other content; the first record was kept, this one was not.",
    "time_not_believable": "The time {detail} is before 2015, in the future, or no time; the record was kept without it.",
    "unknown_record": "{count} records of the unknown type '{detail}' were skipped; the first is on this line.",
    "not_conversation": "{count} records of type '{detail}' hold no conversation and were not kept.",
    "thinking_not_kept": "{count} blocks of the model's private thinking were not kept.",
    "repeated_record": "{count} records were exact copies of earlier ones and were taken once.",
    "more_of_the_same": "{count} more notices '{detail}' were left out; the first of them is for this line.",
}

SINGLES = 100
"""Notices of one code that are given line by line; a broken file of a million lines must not become a million notices."""

NAMES = 64
"""Different names counted for one code; a hostile file could use a new record type on each line."""


def notice(line: int, code: Code, detail: object = "", *, kept: bool = False, count: int = 1) -> Notice:
    """One notice in its fixed wording; ``detail`` is cut to 80 characters because it may come from the file."""
    return Notice(line=line, code=code, message=_WORDS[code].format(detail=str(detail)[:80], count=count), kept=kept)


@dataclass(slots=True)
class _Count:
    line: int
    total: int = 0


@dataclass(slots=True)
class Tally:
    """Counts notices of one file: some are given at once, some only as a total at the end."""

    _totals: dict[tuple[Code, str], _Count] = field(default_factory=dict[tuple[Code, str], _Count])
    _singles: dict[str, int] = field(default_factory=dict[str, int])

    def count(self, line: int, code: Code, name: str = "") -> None:
        """Adds to the total of this code and name; nothing is given before ``totals``."""
        key = (code, name[:80])
        if key not in self._totals and len(self._totals) >= NAMES:
            key = (code, "(others)")
        entry = self._totals.get(key)
        if entry is None:
            entry = self._totals[key] = _Count(line)
        entry.total += 1

    def give(self, single: Notice) -> Iterator[Notice]:
        """Yields the notice itself while there are few of its code, and counts it afterwards."""
        self._singles[single.code] = self._singles.get(single.code, 0) + 1
        if self._singles[single.code] <= SINGLES:
            yield single
        else:
            self.count(single.line, "more_of_the_same", single.code)

    def totals(self) -> Iterator[Notice]:
        """One notice for each code and name that was counted."""
        for (code, name), entry in self._totals.items():
            yield notice(entry.line, code, name, count=entry.total)
