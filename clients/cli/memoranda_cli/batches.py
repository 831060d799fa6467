"""Events as they are sent: split where a text is too long, and packed into batches that the API takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from memoranda_capture.events import Event, Heading
from memoranda_capture.identity import digest

MOST_EVENTS: Final = 2000
MOST_BYTES: Final = 8 * 1024 * 1024
# characters at which a batch is closed: escapes and other scripts make them more bytes, and a batch that is too large is halved
ENOUGH_CHARACTERS: Final = 4_000_000
LONGEST_TEXT: Final = 1024 * 1024
# no character takes more than four bytes
SURELY_SHORT: Final = LONGEST_TEXT // 4
# characters that the API takes of a title, a branch or an external id
LONGEST_NAME: Final = 500

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The scope that was asked for on the command line; empty lists leave it to the session."""

    repositories: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A request body, and what it is about: its source, and the keys of its events."""

    body: bytes
    source: tuple[str, str]
    keys: frozenset[str]


@dataclass(slots=True)
class Packer:
    """Collects the events of one source."""

    source: Wire
    _events: list[Wire] = field(default_factory=list[Wire])
    _characters: int = 0

    def add(self, event: Event) -> list[Batch]:
        """Takes an event whose text is masked; gives the batches that are full now, mostly none."""
        text = event.text
        self._characters += len(text)
        if len(text) > SURELY_SHORT:
            self._events.extend(_parts(event, text))
        else:
            self._events.append(_wire(event, event.key, event.parent_key, text))
        if self._characters < ENOUGH_CHARACTERS and len(self._events) < MOST_EVENTS:
            return []
        return self._close(last=False)

    def end(self) -> list[Batch]:
        """The last batches; the file ends with them."""
        return self._close(last=True)

    def _close(self, *, last: bool) -> list[Batch]:
        events, self._events, self._characters = self._events, [], 0
        return list(_batches(self.source, events, last=last)) if events else []


def source_of(heading: Heading, kind: str, wanted: Wanted) -> Wire:
    """What is said about where events come from."""
    own = (heading.repository,) if heading.repository else ()
    return {
        "host": heading.host,
        "external_id": _named(heading.external_id),
        "kind": kind,
        "title": heading.title[:LONGEST_NAME],
        "repositories": list(wanted.repositories or own),
        "areas": list(wanted.areas),
        "environments": list(wanted.environments),
        **({"branch": heading.branch[:LONGEST_NAME]} if heading.branch else {}),
    }


def _named(external_id: str) -> str:
    """The id; one that is too long ends in a digest of the whole, so that it stays the same and stays apart from others."""
    if len(external_id) <= LONGEST_NAME:
        return external_id
    end = f"~{digest(external_id)}"
    return external_id[: LONGEST_NAME - len(end)] + end


def _batches(source: Wire, events: list[Wire], *, last: bool) -> Iterator[Batch]:
    packed = orjson.dumps({"source": source, "events": events, "last": last})
    if len(events) > 1 and (len(packed) > MOST_BYTES or len(events) > MOST_EVENTS):
        middle = len(events) // 2
        yield from _batches(source, events[:middle], last=False)
        yield from _batches(source, events[middle:], last=last)
    else:
        keys = frozenset(event["key"] for event in events)
        yield Batch(body=packed, source=(source["host"], source["external_id"]), keys=keys)


def _wire(event: Event, key: str, parent_key: str | None, text: str) -> Wire:
    return {
        "key": key,
        "parent_key": parent_key,
        "role": event.role,
        "kind": event.kind,
        "said_at": event.said_at,
        "text": text,
        "abandoned": event.abandoned,
    }


def _parts(event: Event, text: str) -> Iterator[Wire]:
    """The first part keeps the event's key, so that whoever names it as parent still finds it; the others follow one another."""
    parent = event.parent_key
    for place, part in enumerate(_cut(text)):
        key = f"{event.key}~{place}" if place else event.key
        yield _wire(event, key, parent, part)
        parent = key


def _cut(text: str) -> Iterator[str]:
    """Parts of at most a megabyte, cut after a line where there is one in the last quarter."""
    if len(text.encode()) <= LONGEST_TEXT:
        yield text
        return
    start = 0
    while start < len(text):
        end = start + _characters_within(text, start)
        line = text.rfind("\n", start + (end - start) * 3 // 4, end) if end < len(text) else -1
        end = line + 1 if line > start else end
        yield text[start:end]
        start = end


def _characters_within(text: str, start: int) -> int:
    """How many characters from ``start`` on fit into the longest text."""
    encoded = text[start : start + LONGEST_TEXT].encode()
    return len(encoded[:LONGEST_TEXT].decode(errors="ignore"))
