"""What a reader remembers of the lines behind it, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

REMEMBERED = 400_000
"""Entries, about 60 MB. What is forgotten is given twice with the same key, and the store keeps one of them."""


@dataclass(slots=True)
class Seen:
    """A map from names to content, both as hashes; the oldest entries are forgotten first."""

    _entries: dict[int, int] = field(default_factory=dict[int, int])

    def meet(self, name: object, content: object = None) -> Literal["new", "same", "other"]:
        """Whether the name is new (it is then remembered), or came before with the same or with other content."""
        key, value = hash(name), hash(content) & 0x3FFFFFFF
        known = self._entries.get(key)
        if known is not None:
            return "same" if known == value else "other"
        if len(self._entries) >= REMEMBERED:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = value
        return "new"

    def knows(self, name: object) -> bool:
        """Whether the name was met before."""
        return hash(name) in self._entries


@dataclass(slots=True)
class Occurrences:
    """Counts how often a content came, where two families of records may both report the same occurrence."""

    _counts: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def next(self, content: object, family: int = 0) -> int | None:
        """The number of this occurrence (from 1), or None when the other family (0 or 1) has already reported it."""
        key = hash(content)
        counts = self._counts.get(key)
        if counts is None:
            if len(self._counts) >= REMEMBERED:
                del self._counts[next(iter(self._counts))]
            counts = self._counts[key] = [0, 0]
        counts[family] += 1
        return counts[family] if counts[family] > counts[1 - family] else None
