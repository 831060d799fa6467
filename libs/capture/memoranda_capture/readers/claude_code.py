"""Claude Code transcripts: one JSON record a line, a tree of records in which side chains and abandoned branches hang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memoranda_capture.events import Event, Notice, Record
from memoranda_capture.fields import Fields, compact, is_fields, is_items, object_at, text_at
from memoranda_capture.identity import digest
from memoranda_capture.json_lines import records
from memoranda_capture.lines import opened
from memoranda_capture.memory import Occurrences, Seen
from memoranda_capture.notices import Code, Tally, notice
from memoranda_capture.pieces import REMINDER, Piece, around_blocks, said
from memoranda_capture.readers.blocks import block_words, words
from memoranda_capture.readers.claude_records import attached_text, queued_pieces, queued_text, queued_words, spoken
from memoranda_capture.readers.claude_survey import Survey, survey
from memoranda_capture.times import instant
from memoranda_capture.wording import clean

_TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "queue-operation", "progress", "file-history-snapshot"})
_NO_CONVERSATION = frozenset(
    {"progress", "file-history-snapshot", "custom-title", "ai-title", "last-prompt", "agent-name", "agent-color", "agent-setting"}
    | {"permission-mode", "mode", "tag", "pr-link", "worktree-state", "content-replacement", "attribution-snapshot", "saved_hook_context"}
)
_MARKS = frozenset({"message", "uuid", "sessionId", "leafUuid", "isSidechain", "parentUuid", "messageId", "attachment"})
_HASHED, _SAMPLE = 2048, 512
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SILENT = _THOUGHTS | {"tool_result"}


def recognises(record: Fields) -> bool:
    """Whether a record can only have been written by Claude Code."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return is_fields(record.get("message")) or "parentUuid" in record or "isSidechain" in record
    if isinstance(kind, str):
        return kind in _TYPES and not _MARKS.isdisjoint(record)
    return _counts_usage(record)


def _counts_usage(record: Fields) -> bool:
    return "type" not in record and "sessionId" in record and "usage" in object_at(record, "message")


def read(path: Path, now: datetime) -> Iterator[Record]:
    """Yields the heading, then events and notices in file order; a record yields one event for each author and block in it."""
    with opened(path) as file:
        known = survey(path, file, now)
        yield known.heading()
        file.seek(0)
        reading = _Reading(known, now)
        for found in records(file, reading.tally):
            if isinstance(found, Notice):
                yield found
            else:
                yield from reading.take(*found)
        yield from reading.tally.totals()


@dataclass(slots=True)
class _Reading:
    """One pass over one file, and what it remembers of the lines behind it."""

    known: Survey
    now: datetime
    tally: Tally = field(default_factory=Tally)
    ids: Seen = field(default_factory=Seen)
    blocks: Seen = field(default_factory=Seen)
    queued: Seen = field(default_factory=Seen)
    ours: Seen = field(default_factory=Seen)
    occurrences: Occurrences = field(default_factory=Occurrences)
    abandoned: set[int] = field(default_factory=set[int])

    def take(self, line: int, record: Fields) -> Iterator[Event | Notice]:
        kind = text_at(record, "type")
        if kind in _NO_CONVERSATION:
            self.tally.count(line, "not_conversation", kind)
        elif kind in _TYPES:
            yield from self._conversation(line, record, kind)
        elif _counts_usage(record):
            self.tally.count(line, "not_conversation", "usage")
        else:
            self.tally.count(line, "unknown_record", clean(kind) or "(no type)")

    def _conversation(self, line: int, record: Fields, kind: str) -> Iterator[Event | Notice]:
        self._follow_branch(record)
        if kind == "assistant":
            pieces = [piece for block in _content(record) for piece in self._answer(line, block)]
        elif kind == "user":
            pieces = self._user(record)
        else:
            pieces = list(self._aside(record, kind))
            if not pieces:
                self.tally.count(line, "not_conversation", kind)
                return
        if pieces:
            yield from self._kept(line, record, kind, pieces)
        elif not _silent(record):
            yield from self.tally.give(notice(line, *_emptiness(record, kind)))

    def _follow_branch(self, record: Fields) -> None:
        """A record is abandoned when it is a prompt that was taken back, or hangs from an abandoned record."""
        if not self.known.abandoned:
            return
        own = hash(text_at(record, "uuid"))
        taken_back = own in self.known.abandoned
        if taken_back or (self.abandoned and hash(text_at(record, "parentUuid")) in self.abandoned):
            self.abandoned.add(own)

    def _answer(self, line: int, block: object) -> Iterator[Piece]:
        kind = text_at(block, "type") if is_fields(block) else ""
        if kind in _THOUGHTS:
            self.tally.count(line, "thinking_not_kept")
        elif is_fields(block) and kind in {"tool_use", "server_tool_use"}:
            yield from self._call(block)
        else:
            yield from said("assistant", "reply", block_words(block))

    def _call(self, block: Fields) -> Iterator[Piece]:
        name = text_at(block, "name")
        if "memoranda" in name.lower():
            self.ours.meet(text_at(block, "id"))
        yield from said("assistant", "tool_call", clean(f"{name} {compact(block.get('input'))}"))

    def _user(self, record: Fields) -> list[Piece]:
        pieces: list[Piece] = []
        for block in _content(record):
            if is_fields(block) and block.get("type") == "tool_result":
                pieces.extend(self._result(block))
        pieces.extend(spoken(record, side_chain=self.known.side_chain))
        return pieces

    def _result(self, block: Fields) -> Iterator[Piece]:
        text = words(block.get("content"))
        call = text_at(block, "tool_use_id")
        if call and self.ours.knows(call):
            yield Piece("memoranda", "tool_result", text)
        elif REMINDER in text:
            yield from around_blocks("tool", "tool_result", text)
        else:
            yield from said("tool", "tool_result", text)

    def _aside(self, record: Fields, kind: str) -> Iterator[Piece]:
        """Records that are neither a turn of the user's role nor of the assistant's."""
        queued = queued_text(record)
        if queued:
            yield from self._queued(record, queued)
        elif kind == "summary":
            yield from said("assistant", "summary", clean(text_at(record, "summary")))
        elif kind == "attachment":
            yield from said("tool", "notice", attached_text(record))
        elif kind == "system":
            yield from said("tool", "notice", words(record.get("content")))

    def _queued(self, record: Fields, text: str) -> Iterator[Piece]:
        """Queued words count once: not when a user record repeats them, nor when the queue itself does."""
        own = queued_words(record)
        if own and hash(own) in self.known.prompts:
            return
        if self.queued.meet(text) == "new":
            yield from queued_pieces(record, text, side_chain=self.known.side_chain)

    def _kept(self, line: int, record: Fields, kind: str, pieces: list[Piece]) -> Iterator[Event | Notice]:
        uuid = text_at(record, "uuid")
        if uuid:
            met = self.ids.meet(uuid, _gist(pieces[0]) if len(pieces) == 1 else tuple([_gist(piece) for piece in pieces]))
            if met == "same":
                self.tally.count(line, "repeated_record")
                return
            if met == "other":
                yield from self.tally.give(notice(line, "id_repeated_with_other_content", clean(uuid)))
                return
        said_at = instant(record.get("timestamp"), self.now)
        if said_at is None and record.get("timestamp") is not None:
            yield from self.tally.give(notice(line, "time_not_believable", clean(compact(record["timestamp"])), kept=True))
        yield from self._events(line, record, kind, pieces, said_at)

    def _events(self, line: int, record: Fields, kind: str, pieces: list[Piece], said_at: datetime | None) -> Iterator[Event]:
        uuid, parent = text_at(record, "uuid"), text_at(record, "parentUuid")
        message_id = text_at(object_at(record, "message"), "id") if kind == "assistant" else ""
        parent_key = f"{clean(parent)}#0" if parent else None
        stem = clean(uuid)
        for index, piece in enumerate(pieces):
            if message_id and self.blocks.meet((message_id, piece.kind, _gist(piece))) != "new":
                self.tally.count(line, "repeated_record")
                continue
            yield Event(
                key=f"{stem}#{index}" if uuid else self._key(kind, piece),
                parent_key=parent_key,
                role=piece.role,
                kind=piece.kind,
                said_at=said_at,
                text=piece.text,
                line=line,
                abandoned=bool(self.abandoned) and hash(uuid) in self.abandoned,
            )

    def _key(self, kind: str, piece: Piece) -> str:
        nth = self.occurrences.next((kind, piece.role, piece.text))
        return digest(self.known.external_id, kind, piece.role, piece.text, nth)


def _content(record: Fields) -> list[object]:
    message = record.get("message")
    content = message.get("content") if is_fields(message) else message
    return content if is_items(content) else [content]


def _gist(piece: Piece) -> object:
    """Enough of a piece to tell whether a record with the same id is a copy; hashing all of a long text took a sixth of the time."""
    text = piece.text
    if len(text) <= _HASHED:
        return piece.role, text
    middle = len(text) // 2
    return piece.role, len(text), text[:_SAMPLE], text[middle : middle + _SAMPLE], text[-_SAMPLE:]


def _silent(record: Fields) -> bool:
    """Whether it is no wonder that the record says nothing: it holds only thoughts, or a tool that printed nothing."""
    blocks = _content(record)
    return bool(blocks) and all(is_fields(block) and block.get("type") in _SILENT for block in blocks)


def _emptiness(record: Fields, kind: str) -> tuple[Code, str]:
    message = record.get("message")
    return ("odd_content", f"message of the {kind} record") if is_fields(message) and len(message) > 100 else ("no_content", kind)
