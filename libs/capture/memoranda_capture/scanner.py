"""The door to RE2: many expressions at once over bytes, in one pass that never backtracks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any, Protocol

_MEMORY = 64 * 1024 * 1024
"""Bytes for the automaton's states; with RE2's 8 MB it starts over again and again on mixed text."""


class Scanner(Protocol):
    """What is used of RE2's compiled expression, which carries no types."""

    def search(self, text: bytes, pos: int = 0) -> re.Match[bytes] | None:
        """The first match at or after ``pos``; offsets are in bytes."""
        ...


def scanner(expressions: Iterable[str]) -> Scanner:
    """One automaton for all the expressions, in the syntax of RE2 (no look-around), for UTF-8 bytes taken one by one."""
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.never_capture = True
    return re2.compile("|".join(f"(?:{expression})" for expression in expressions).encode(), options)
