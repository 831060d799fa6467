"""Codex rollouts: one JSON record a line, in two families that report the same turns side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from memoranda_capture.events import Event, Heading, Notice, Record, Role
from memoranda_capture.fields import Fields, compact, is_fields, object_at, text_at
from memoranda_capture.identity import digest, directory
from memoranda_capture.json_lines import records
from memoranda_capture.lines import opened
from memoranda_capture.memory import Occurrences, Seen
from memoranda_capture.notices import Tally, notice
from memoranda_capture.pieces import Piece, said, typed
from memoranda_capture.readers.blocks import words
from memoranda_capture.readers.codex_records import CALLS, RESULTS, call_text, is_subagent, parent_id, result_text
from memoranda_capture.times import instant
from memoranda_capture.wording import clean

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_IGNORED_ITEMS = frozenset({"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "other"})
_IGNORED_MESSAGES = frozenset(
    {"agent_reasoning", "agent_reasoning_raw_content", "token_count", "task_started", "task_complete", "turn_started", "turn_complete"}
    | {"turn_aborted", "session_configured", "context_compacted", "thread_rolled_back", "thread_name_updated", "entered_review_mode"}
    | {"exited_review_mode", "exec_command_begin", "exec_command_output_delta", "exec_command_end", "mcp_tool_call_begin", "plan_update"}
    | {"mcp_tool_call_end", "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end", "view_image_tool_call"}
    | {"agent_message_delta", "stream_error", "warning", "error", "background_event", "turn_diff", "item_started", "item_completed"}
)
_HEAD = 200
"""Records at the start that are searched for the session's own meta record and for those of its ancestors, which a fork repeats."""

_ITEMS, _MESSAGES = 0, 1


def recognises(record: Fields) -> bool:
    """Whether a record can only have been written by Codex."""
    return record.get("type") in _TYPES and is_fields(record.get("payload"))


def read(path: Path, now: datetime) -> Iterator[Record]:
    """Yields the heading, then events and notices in file order; each turn once, though both families report it."""
    with opened(path) as file:
        session = _session(path, file, now)
        yield session.heading
        file.seek(0)
        reading = _Reading(session, now)
        for found in records(file, reading.tally):
            if isinstance(found, Notice):
                yield found
            else:
                yield from reading.take(*found)
        yield from reading.tally.totals()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    heading: Heading
    root_id: str
    subagent: bool


def _session(path: Path, file: BinaryIO, now: datetime) -> _Session:
    metas: dict[str, Fields] = {}
    first: Fields = {}
    title = ""
    started_at: datetime | None = None
    for count, found in enumerate(records(file, Tally())):
        if isinstance(found, Notice):
            continue
        record = found[1]
        payload = object_at(record, "payload")
        started_at = started_at or instant(record.get("timestamp"), now)
        if record.get("type") == "session_meta":
            first = first or payload
            metas.setdefault(text_at(payload, "id"), payload)
        title = title or _prompt(record, payload)
        if (title and first) or count >= _HEAD:
            break
    return _described(path, first, metas, title, started_at)


def _prompt(record: Fields, payload: Fields) -> str:
    is_turn = text_at(payload, "role") == "user" or (record.get("type"), payload.get("type")) == ("event_msg", "user_message")
    if not is_turn:
        return ""
    pieces = typed("person", "prompt", words(payload.get("content")) or words(payload.get("message")))
    return " ".join(next((piece.text for piece in pieces if piece.role == "person"), "").split())[:80]


def _described(path: Path, meta: Fields, metas: dict[str, Fields], title: str, started_at: datetime | None) -> _Session:
    own_id = clean(text_at(meta, "id")) or path.stem
    git = object_at(meta, "git")
    heading = Heading(
        host="codex",
        external_id=own_id,
        title=title or path.stem,
        repository=text_at(git, "repository_url") or directory(text_at(meta, "cwd")),
        branch=text_at(git, "branch") or None,
        started_at=started_at,
    )
    return _Session(heading=heading, root_id=_root(own_id, meta, metas), subagent=is_subagent(meta))


def _root(own_id: str, meta: Fields, metas: dict[str, Fields]) -> str:
    """The oldest known ancestor: a fork copies its parent's records, and copies must have the parent's keys."""
    root, seen = own_id, {own_id}
    while (parent := parent_id(meta)) and parent not in seen:
        root = parent
        seen.add(parent)
        meta = metas.get(parent, {})
    return root


@dataclass(slots=True)
class _Reading:
    """One pass over one rollout, and what it remembers of the lines behind it."""

    session: _Session
    now: datetime
    tally: Tally = field(default_factory=Tally)
    ours: Seen = field(default_factory=Seen)
    occurrences: Occurrences = field(default_factory=Occurrences)

    def take(self, line: int, record: Fields) -> Iterator[Event | Notice]:
        kind, payload = text_at(record, "type"), object_at(record, "payload")
        if kind == "response_item":
            yield from self._events(line, record, self._item(line, payload), _ITEMS)
        elif kind == "event_msg":
            yield from self._events(line, record, self._message(line, payload), _MESSAGES)
        elif kind == "compacted":
            yield from self._events(line, record, said("assistant", "summary", words(payload.get("message"))), _ITEMS)
        elif kind not in {"session_meta", "turn_context"}:
            self.tally.count(line, "unknown_record", clean(kind) or "(no type)")

    def _item(self, line: int, payload: Fields) -> Iterator[Piece]:
        kind = text_at(payload, "type")
        if kind == "message" or (not kind and "role" in payload):
            yield from self._turn(text_at(payload, "role"), words(payload.get("content")))
        elif kind in CALLS:
            self._remember(payload)
            yield from said("assistant", "tool_call", call_text(payload))
        elif kind in RESULTS:
            yield from self._result(payload)
        elif kind == "reasoning":
            self.tally.count(line, "thinking_not_kept")
        elif kind not in _IGNORED_ITEMS:
            self.tally.count(line, "unknown_record", clean(f"response_item/{kind}"))

    def _message(self, line: int, payload: Fields) -> Iterator[Piece]:
        kind = text_at(payload, "type")
        if kind == "user_message":
            yield from self._turn("user", words(payload.get("message")))
        elif kind == "agent_message":
            yield from self._turn("assistant", words(payload.get("message")))
        elif kind not in _IGNORED_MESSAGES:
            self.tally.count(line, "unknown_record", clean(f"event_msg/{kind}"))

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        if role == "assistant":
            yield from said("assistant", "reply", text)
        elif role == "user":
            yield from typed("person", "prompt", text)
        else:
            yield from said("tool", "notice", text)

    def _remember(self, payload: Fields) -> None:
        if "memoranda" in f"{text_at(payload, 'name')} {text_at(payload, 'namespace')}".lower():
            self.ours.meet(text_at(payload, "call_id"))

    def _result(self, payload: Fields) -> Iterator[Piece]:
        text = result_text(payload)
        call = text_at(payload, "call_id")
        if call and self.ours.knows(call):
            yield Piece("memoranda", "tool_result", text)
        else:
            yield from said("tool", "tool_result", text)

    def _events(self, line: int, record: Fields, pieces: Iterator[Piece], family: int) -> Iterator[Event | Notice]:
        said_at: datetime | None = None
        for count, piece in enumerate(pieces):
            if count == 0:
                said_at = instant(record.get("timestamp"), self.now)
                if said_at is None and record.get("timestamp") is not None:
                    yield from self.tally.give(notice(line, "time_not_believable", clean(compact(record["timestamp"])), kept=True))
            yield from self._event(line, piece, said_at, family)

    def _event(self, line: int, piece: Piece, said_at: datetime | None, family: int) -> Iterator[Event]:
        """The key names what was said in the family of sessions, whoever it is laid to here: a copy in a subagent's file has it too."""
        text = piece.text.strip()
        nth = self.occurrences.next((piece.role, piece.kind, text), family)
        if nth is None:
            return
        role: Role = "assistant" if self.session.subagent and piece.role == "person" else piece.role
        key = digest(self.session.root_id, piece.role, piece.kind, text, nth)
        yield Event(key=key, parent_key=None, role=role, kind=piece.kind, said_at=said_at, text=piece.text, line=line)
