"""Ids as they are named on the command line: looked at before anything is asked of the server."""

from __future__ import annotations

from memoranda_cli.errors import Misused


def claim(value: str | None) -> str | None:
    """A claim's id. Raises Misused."""
    return _checked(value, "claim", "memoranda claims list")


def source(value: str | None) -> str | None:
    """A source's id. Raises Misused."""
    return _checked(value, "source", "memoranda sources list")


def job(value: str | None) -> str | None:
    """A job's id. Raises Misused."""
    return _checked(value, "job", "memoranda jobs list")


def conflict(value: str | None) -> str | None:
    """A conflict's id. Raises Misused."""
    return _checked(value, "conflict", "memoranda conflicts list")


def _checked(value: str | None, what: str, listing: str) -> str | None:
    if value is None:
        return None
    from uuid import UUID

    try:
        return str(UUID(value))
    except ValueError as exc:
        raise Misused(f"'{value}' is no id of a {what}", mend=f"'{listing}' shows the ids") from exc
