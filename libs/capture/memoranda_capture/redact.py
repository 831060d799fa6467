"""TEMPORARY placeholder by the lead so that others can import: the author of this package replaces this file whole."""

from __future__ import annotations
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Masked:
    text: str
    counts: dict[str, int]


def mask(text: str) -> Masked:
    return Masked(text=text, counts={})
