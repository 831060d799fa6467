"""What the doctor finds: one thing looked at, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. ``mend`` says what to do where it is not right."""

    what: str
    verdict: Verdict
    found: str
    mend: str = ""
