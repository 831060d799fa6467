"""A line as a JSON record, whatever stands in it: every failure becomes a notice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

import orjson

from memoranda_capture.events import Notice
from memoranda_capture.fields import Fields, is_fields
from memoranda_capture.lines import Line, lines
from memoranda_capture.notices import Code, Tally, notice

_SURROGATE = re.compile("[\ud800-\udfff]")


class _NotJsonError(Exception):
    """Says why a line is no JSON."""


def records(file: BinaryIO, tally: Tally) -> Iterator[tuple[int, Fields] | Notice]:
    """Yields (line number, record) for each line that is a JSON object and notices for the others, in file order."""
    for line in lines(file):
        if isinstance(line, Notice):
            yield from tally.give(line)
            continue
        value, remark = decoded(line)
        if remark is not None:
            yield from tally.give(remark)
        if value is not None:
            yield line.number, value


def decoded(line: Line) -> tuple[Fields | None, Notice | None]:
    """The record on a line, or None with the notice that says why; a record whose bytes had to be repaired comes with a notice too."""
    try:
        value: object = orjson.loads(line.raw)
        remark = None
    except orjson.JSONDecodeError:
        try:
            value, remark = _patiently(line)
        except _NotJsonError as exc:
            return None, _not_json(line, exc)
    if is_fields(value):
        return value, remark
    return None, notice(line.number, "line_not_object", f"it is {_kind(value)}")


def _patiently(line: Line) -> tuple[object, Notice]:
    """orjson refuses invalid UTF-8, lone surrogates, NaN and deep nesting; all but the last are read here, slower."""
    try:
        text, code = line.raw.decode(), "odd_unicode"
    except UnicodeDecodeError:
        text, code = line.raw.decode(errors="replace"), "invalid_utf8"
    try:
        value: object = json.loads(text, strict=False)
        if _SURROGATE.search(written := json.dumps(value, ensure_ascii=False)):
            value = json.loads(_SURROGATE.sub("\ufffd", written))
    except (ValueError, RecursionError) as exc:
        raise _NotJsonError(_reason(exc)) from exc
    known: Code = "invalid_utf8" if code == "invalid_utf8" else "odd_unicode"
    return value, notice(line.number, known, kept=True)


def _reason(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "nested too deeply"
    if isinstance(exc, json.JSONDecodeError):
        return f"{exc.msg} at character {exc.pos}"
    return "a number is too long"


def _not_json(line: Line, exc: _NotJsonError) -> Notice:
    if not line.finished:
        return notice(line.number, "last_line_unfinished")
    return notice(line.number, "line_not_json", exc)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a bare string"
    if isinstance(value, list):
        return "a list"
    return "null, true or false" if value is None or isinstance(value, bool) else "a bare number"
