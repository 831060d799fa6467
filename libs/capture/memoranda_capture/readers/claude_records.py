"""What single Claude Code records mean: who speaks in them, and which of their words are a person's own."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda_capture.events import Kind, Role
from memoranda_capture.fields import Fields, is_fields, is_items, object_at, text_at
from memoranda_capture.pieces import Piece, said, typed
from memoranda_capture.readers.blocks import block_words, words

HUMAN_ORIGINS = frozenset({"", "human", "user", "keyboard"})


def agent_in(record: Fields) -> bool:
    """Whether the record belongs to a side chain, where the user's role is the parent agent."""
    return record.get("isSidechain") is True


def spoken(record: Fields, *, side_chain: bool) -> Iterator[Piece]:
    """The pieces of a user record apart from tool results."""
    message = record.get("message")
    content = message.get("content") if is_fields(message) else message
    for block in content if is_items(content) else (content,):
        if not (is_fields(block) and block.get("type") == "tool_result"):
            yield from _by_author(record, block_words(block), side_chain=side_chain)


def _by_author(record: Fields, text: str, *, side_chain: bool) -> Iterator[Piece]:
    if record.get("isCompactSummary") is True:
        yield from said("assistant", "summary", text)
    elif record.get("isMeta") is True or _from_machine(record):
        yield from said("tool", "notice", text)
    else:
        role: Role = "assistant" if side_chain or agent_in(record) else "person"
        kind: Kind = "prompt"
        yield from typed(role, kind, text)


def _from_machine(record: Fields) -> bool:
    origin = record.get("origin")
    kind = text_at(origin, "kind") if is_fields(origin) else origin
    return isinstance(kind, str) and kind not in HUMAN_ORIGINS


def own_words(record: Fields) -> str:
    """What a person typed in a user record, white space evened out; '' where no person speaks."""
    pieces = spoken(record, side_chain=False)
    return " ".join(" ".join(piece.text for piece in pieces if piece.role == "person").split())


def queued_text(record: Fields) -> str:
    """The text that waited in the queue while the agent worked, as queue-operation and queued_command records hold it."""
    if text_at(record, "type") == "queue-operation":
        return words(record.get("content"))
    attachment = object_at(record, "attachment")
    return words(attachment.get("prompt")) if text_at(attachment, "type") == "queued_command" else ""


def queued_words(record: Fields) -> str:
    """A person's own words among the queued text, evened out like ``own_words``."""
    pieces = queued_pieces(record, queued_text(record), side_chain=False)
    return " ".join(" ".join(piece.text for piece in pieces if piece.role == "person").split())


def queued_pieces(record: Fields, text: str, *, side_chain: bool) -> Iterator[Piece]:
    """Queued text by author; machine notices wait in the same queue as a person's words."""
    attachment = object_at(record, "attachment")
    machine = text_at(attachment, "commandMode") == "task-notification" or _from_machine(attachment)
    if machine:
        yield from said("tool", "notice", text)
    else:
        yield from _by_author(record, text, side_chain=side_chain)


def attached_text(record: Fields) -> str:
    """The text of an attachment that a machine made: hook output, instruction files, notices."""
    attachment = object_at(record, "attachment")
    for name in ("content", "stdout", "prompt", "text", "message"):
        value = attachment.get(name)
        if text := words(value if not is_fields(value) else value.get("content")):
            return text
    return ""
