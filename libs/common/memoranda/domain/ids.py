"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then random bits, so that new rows meet in the same index pages."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)
