"""Masking secrets: one fast scan finds suspicious lines, and only those reach the detectors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate

from memoranda_capture import assignments, detectors, private_keys, token_formats, wrapped
from memoranda_capture.events import Event, Heading, Record
from memoranda_capture.scanner import Scanner, scanner
from memoranda_capture.token_formats import Span

_LEFT, _RIGHT, _FARTHEST = 160, 240, 65_536
"""Bytes looked at before and after a hit within its line, and how far a token that runs on past them is followed.

Lines of minified code and of logs have megabytes; a key and its value stand close together.
"""

_PASSES = 4
"""A mask may uncover what stood beside it; more passes than two were never needed."""

_ACROSS = 200
"""Characters on each side of the border between two events that are looked at together; no token but a private key is longer."""

_LONGEST_RUN = 8
"""Events through which one token is followed."""

_SOURCES = (token_formats.spans, wrapped.spans, detectors.spans, assignments.spans)
"""In the order of how well they know what they found: where findings overlap, the first gives the kind."""

_MASK = re.compile(r"\[secret:[a-z0-9_]+\]")
_BLANK = re.compile(r"\s")
_DELIMITER = re.compile(rb"[\s\"'`<>]")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which each secret is now '[secret:kind]', and how many there were of each kind."""

    text: str
    counts: dict[str, int]


def mask(text: str) -> Masked:
    """Masks every secret that is recognised; all other text stays as it is, and masking a second time changes nothing.

    Text without anything suspicious costs one scan (several hundred MB/s) and is returned as the same object.
    """
    return _masked(text) if _suspicious(text) else Masked(text, {})


def _suspicious(text: str) -> bool:
    return _scanner().search(text.encode("utf-8", "surrogatepass")) is not None


def _masked(text: str) -> Masked:
    counts: Counter[str] = Counter()
    for _ in range(_PASSES):
        found = _spans(text)
        if not found:
            break
        text = _replaced(text, found)
        counts.update(span.kind for span in found)
    return Masked(text, dict(counts))


def _spans(text: str) -> list[Span]:
    raw = text.encode("utf-8", "surrogatepass")
    first = _scanner().search(raw)
    if first is None:
        return []
    ranked = [(span, 0) for span in (private_keys.spans(text)[0] if "PRIVATE KEY" in text else ())]
    for offset, line in _regions(raw, first, is_ascii=text.isascii()):
        for rank, spans in enumerate(_SOURCES, 1):
            ranked.extend(
                (Span(span.start + offset, span.end + offset, span.kind), rank)
                for span in spans(line)
                if not _MASK.fullmatch(line, span.start, span.end)
            )
    return _merged(ranked)


def _regions(raw: bytes, hit: re.Match[bytes] | None, *, is_ascii: bool) -> Iterator[tuple[int, str]]:
    """Yields each suspicious region as (offset in characters, text); regions do not overlap."""
    done, characters = 0, 0
    while hit is not None:
        start, end = _bounds(raw, done, hit.start(), hit.end())
        characters += start - done if is_ascii else len(raw[done:start].decode("utf-8", "surrogatepass"))
        line = raw[start:end].decode("utf-8", "surrogatepass")
        yield characters, line
        characters += len(line)
        done = end
        hit = _scanner().search(raw, done)


def _bounds(raw: bytes, done: int, start: int, end: int) -> tuple[int, int]:
    """The line around a hit, cut where it is long: on the right after the sign that ends a token, and never inside a character."""
    left = max(raw.rfind(b"\n", done, start) + 1, done, start - _LEFT)
    line_end = raw.find(b"\n", end)
    right = len(raw) if line_end < 0 else line_end
    if right > end + _RIGHT:
        delimiter = _DELIMITER.search(raw, end + _RIGHT, min(right, end + _FARTHEST))
        right = delimiter.end() if delimiter else min(right, end + _FARTHEST)
    while left < start and raw[left] & 0xC0 == 0x80:
        left += 1
    while right < len(raw) and raw[right] & 0xC0 == 0x80:
        right += 1
    return left, right


def _merged(ranked: list[tuple[Span, int]]) -> list[Span]:
    """Overlapping findings as one, of the kind that the better informed source gave."""
    merged: list[tuple[Span, int]] = []
    for span, rank in sorted(ranked):
        if merged and span.start < merged[-1][0].end:
            last, last_rank = merged[-1]
            kind = last.kind if last_rank <= rank else span.kind
            merged[-1] = (Span(last.start, max(last.end, span.end), kind), min(rank, last_rank))
        elif span.end > span.start:
            merged.append((span, rank))
    return [span for span, _ in merged]


def _replaced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], f"[secret:{span.kind}]")
        at = span.end
    return "".join((*parts, text[at:]))


@cache
def _scanner() -> Scanner:
    """RE2: 600 MB/s with sixty expressions at once, where ``re`` has 42 and sixty ``in`` have 53."""
    hints = [form.hint for form in token_formats.FORMATS]
    return scanner([*hints, token_formats.COOKIE_HINT, private_keys.HINT, wrapped.HINT, assignments.HINT, *detectors.HINTS])


def mask_events(records: Iterable[Record], counts: Counter[str] | None = None) -> Iterator[Record]:
    """Masks headings and events, and secrets that are split over consecutive events of one role, as chunked output splits them.

    One event is held back to see its successor, and short ones without a blank as long as a token may run on through them.
    ``counts`` gains the number of secrets of each kind.
    """
    border = _Border(counts if counts is not None else Counter())
    for record in records:
        if isinstance(record, Event):
            yield from border.next(record)
        else:
            yield from border.flush()
            yield border.heading(record) if isinstance(record, Heading) else record
    yield from border.flush()


@dataclass(slots=True)
class _Border:
    """The events held back, whether each has to be masked, and whether a private key runs on beyond the last."""

    counts: Counter[str]
    held: list[tuple[Event, bool]] = field(default_factory=list[tuple[Event, bool]])
    role: str = ""
    key_is_open: bool = False

    def heading(self, heading: Heading) -> Heading:
        return replace(
            heading,
            title=self._masked(heading.title),
            repository=heading.repository and self._masked(heading.repository),
            branch=heading.branch and self._masked(heading.branch),
        )

    def next(self, event: Event) -> Iterator[Event]:
        """Yields the events before this one over whose borders nothing can run any more."""
        if event.role != self.role:
            yield from self.flush()
            self.role, self.key_is_open = event.role, False
        if self.key_is_open:
            yield from self.flush()
            if event.text.strip():
                event, self.key_is_open = self._key_continued(event)
                self._hold(event)
            else:
                self.held = [(event, False)]
            return
        self._hold(event)
        if len(self.held) > 1 and (self.key_is_open or len(self.held) > _LONGEST_RUN or not _runs_through(event.text)):
            self._part()
            last = self.held.pop()
            yield from self.flush()
            self.held = [last]

    def flush(self) -> Iterator[Event]:
        if len(self.held) > 1:
            self._part()
        for event, suspicious in self.held:
            yield replace(event, text=self._masked(event.text)) if suspicious else event
        self.held = []

    def _hold(self, event: Event) -> None:
        suspicious = _suspicious(event.text)
        self.held.append((event, suspicious))
        if suspicious and "PRIVATE KEY" in event.text:
            self.key_is_open = self.key_is_open or private_keys.spans(event.text)[1]

    def _masked(self, text: str) -> str:
        masked = mask(text)
        self.counts.update(masked.counts)
        return masked.text

    def _key_continued(self, event: Event) -> tuple[Event, bool]:
        reach, runs_on = private_keys.continued(event.text)
        if not reach:
            return event, False
        return replace(event, text=f"[secret:{private_keys.KIND}]{event.text[reach:]}"), runs_on

    def _part(self) -> None:
        """Masks every part of the secrets that begin in one of the events held back and end in a later one."""
        texts = [event.text for event, _ in self.held]
        for kind, parts in _across(texts):
            self.counts[kind] += 1
            for at, (start, end) in parts:
                texts[at] = f"{texts[at][:start]}[secret:{kind}]{texts[at][end:]}"
        self.held = [
            (replace(event, text=text) if text != event.text else event, flag) for (event, flag), text in zip(self.held, texts, strict=True)
        ]


def _runs_through(text: str) -> bool:
    """Whether a token may begin before this text and end after it."""
    return len(text) <= _ACROSS and (text.isspace() or not _BLANK.search(text))


def _across(texts: list[str]) -> Iterator[tuple[str, list[tuple[int, tuple[int, int]]]]]:
    """Yields secrets over the borders of texts as (kind, [(which text, (start, end))]), the last one first."""
    pieces = [texts[0][-_ACROSS:].rpartition("\n")[2], *("" if text.isspace() else text for text in texts[1:-1])]
    pieces.append(texts[-1][:_ACROSS].partition("\n")[0])
    starts = [0, *accumulate(map(len, pieces))]
    offsets = [len(texts[0]) - len(pieces[0]), *(0 for _ in texts[1:])]
    if not pieces[0] and not any(pieces[1:-1]):
        return
    for span in reversed(_spans("".join(pieces))):
        parts = [
            (at, (max(span.start - start, 0) + offsets[at], min(span.end - start, len(piece)) + offsets[at]))
            for at, (start, piece) in enumerate(zip(starts, pieces, strict=False))
            if piece and span.start < start + len(piece) and span.end > start
        ]
        if len(parts) > 1 and span.kind != private_keys.KIND:
            yield span.kind, parts
