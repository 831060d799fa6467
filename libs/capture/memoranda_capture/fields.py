"""Typed looks into decoded JSON, whose shapes nothing guarantees."""

from __future__ import annotations

import json
from typing import TypeGuard

import orjson

Fields = dict[str, object]

_NONE: Fields = {}


def is_fields(value: object) -> TypeGuard[Fields]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def object_at(record: Fields, name: str) -> Fields:
    """The object under this name; an empty one where there is none."""
    value = record.get(name)
    return value if is_fields(value) else _NONE


def text_at(record: Fields, name: str) -> str:
    """The string under this name; '' where there is none."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def is_items(value: object) -> TypeGuard[list[object]]:
    """Whether the value is a JSON list."""
    return isinstance(value, list)


def compact(value: object) -> str:
    """The value as JSON without spaces; '' for None, a string as it is, a remark where it cannot be written."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        return _slowly(value)


def _slowly(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return "[arguments that cannot be written as JSON]"
