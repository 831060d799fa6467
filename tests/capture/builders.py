"""Small transcripts in the clients' own formats, written for these tests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from memoranda_capture import Event, Heading, Notice, Record, read

SESSION = "7d1f2c3a-0000-4000-8000-000000000001"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
AT = "2026-05-01T10:00:00.000Z"

Json = dict[str, object]


def record(kind: str, uuid: str | None = None, parent: str | None = None, **more: object) -> Json:
    """One Claude Code record with the fields that each of them has."""
    base: Json = {"parentUuid": parent, "isSidechain": False, "cwd": "/srv/app", "sessionId": SESSION, "gitBranch": "main", "type": kind}
    return base | ({"uuid": uuid} if uuid else {}) | {"timestamp": AT} | more


def prompt(text: object, uuid: str | None = "u1", parent: str | None = None, **more: object) -> Json:
    return record("user", uuid, parent, message={"role": "user", "content": text}, **more)


def answer(*blocks: Json, uuid: str | None = "a1", parent: str | None = "u1", message_id: str = "m1", **more: object) -> Json:
    message: Json = {"id": message_id, "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    return record("assistant", uuid, parent, message=message, **more)


def say(text: str) -> Json:
    return {"type": "text", "text": text}


def call(name: str, call_id: str = "t1", **arguments: object) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(content: object, call_id: str = "t1") -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def jsonl(records: Iterable[object]) -> bytes:
    return b"".join(line(value) + b"\n" for value in records)


def session(folder: Path, *records: object, name: str = f"{SESSION}.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(records))
    return path


def meta(session_id: str = "r1", **more: object) -> Json:
    payload: Json = {"id": session_id, "cwd": "/srv/app", "git": {"repository_url": "git@host:team/app.git", "branch": "main"}}
    return {"timestamp": AT, "type": "session_meta", "payload": payload | more}


def item(payload: Json, at: str = AT) -> Json:
    return {"timestamp": at, "type": "response_item", "payload": payload}


def message(role: str, text: str, at: str = AT) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, at)


def event_msg(kind: str, text: str) -> Json:
    return {"timestamp": AT, "type": "event_msg", "payload": {"type": kind, "message": text}}


def taken(path: Path) -> list[Record]:
    return list(read(path, now=NOW))


def events(path: Path) -> list[Event]:
    return [found for found in taken(path) if isinstance(found, Event)]


def notices(path: Path) -> list[Notice]:
    return [found for found in taken(path) if isinstance(found, Notice)]


def heading(path: Path) -> Heading:
    first = taken(path)[0]
    assert isinstance(first, Heading)
    return first


def by_author(path: Path) -> Counter[tuple[str, str]]:
    return Counter((event.role, event.kind) for event in events(path))


def said(path: Path, role: str, kind: str | None = None) -> list[str]:
    return [event.text for event in events(path) if event.role == role and kind in (None, event.kind)]


def codes(path: Path) -> list[str]:
    return [notice.code for notice in notices(path)]
