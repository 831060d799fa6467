"""Times as transcripts write them: ISO with any offset, naive, epoch seconds, epoch milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EARLIEST = datetime(2015, 1, 1, tzinfo=UTC)
"""No coding agent wrote a transcript before; an earlier time is a clock that was never set."""

AHEAD = timedelta(days=1)
"""How far a clock may be ahead; more, and a wrong clock would win over every later correction."""

_MILLISECONDS_FROM = 1e11
"""As seconds this is the year 5138, as milliseconds 1973: numbers above it are milliseconds."""


def instant(value: object, now: datetime) -> datetime | None:
    """The time in UTC, or None where it is missing, unreadable or not believable; a time without an offset is taken as UTC."""
    moment = _iso(value) if isinstance(value, str) else _epoch(value)
    if moment is None or not EARLIEST <= moment <= now + AHEAD:
        return None
    return moment


def _iso(value: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return _digits(value)


def _digits(value: str) -> datetime | None:
    try:
        return _epoch(float(value))
    except ValueError:
        return None


def _epoch(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
