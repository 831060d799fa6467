"""The first, cheap pass over a Claude Code transcript: what its heading says, and what later lines tell about earlier ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from memoranda_capture.events import Heading, Notice
from memoranda_capture.fields import Fields, object_at, text_at
from memoranda_capture.identity import directory
from memoranda_capture.json_lines import decoded
from memoranda_capture.lines import lines
from memoranda_capture.readers.claude_records import agent_in, own_words, queued_words
from memoranda_capture.times import instant
from memoranda_capture.wording import clean

_READ_WHOLE = 40
"""Records at the start that are decoded whatever they are: they name session, directory and branch."""

_LONG, _ENDS = 4_000, 1_000
"""Bytes. In a long line the type and the role stand near one of the ends, before or after the text."""

_TITLE_LENGTH = 80
_REMOTES = ("gitRemote", "gitRemoteUrl", "repositoryUrl", "repository_url")
_CONVERSATION = frozenset({"user", "assistant"})


@dataclass(slots=True)
class Survey:
    """What is known of a transcript before its events are read.

    A file whose first record of a session is in a side chain is wholly one, whatever it is called.
    ``prompts`` and ``abandoned`` hold hashes: of what a person said in user records, and of the ids of prompts taken back.
    """

    side_chain: bool
    stem: str
    session_id: str = ""
    names_stem: bool = False
    agent: str = ""
    title: str = ""
    summary: str = ""
    first_words: str = ""
    directory: str | None = None
    remote: str = ""
    branch: str = ""
    started_at: datetime | None = None
    prompts: set[int] = field(default_factory=set[int])
    abandoned: set[int] = field(default_factory=set[int])
    children: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def external_id(self) -> str:
        """The session's id; a side chain in a file of its own gets an id below its parent's, so that it never replaces it."""
        if self.side_chain:
            agent = self.agent or self.stem
            return f"{self.session_id or 'unknown'}/{agent if agent.startswith('agent-') else 'agent-' + agent}"
        return self.stem if self.names_stem or not self.session_id else self.session_id

    def heading(self) -> Heading:
        """The heading as the whole file supports it."""
        title = self.title or self.summary or self.first_words or self.stem
        return Heading(
            host="claude_code",
            external_id=self.external_id,
            title=clean(" ".join(title.split())[:_TITLE_LENGTH]),
            repository=self.remote or self.directory,
            branch=self.branch or None,
            started_at=self.started_at,
        )


def survey(path: Path, file: BinaryIO, now: datetime) -> Survey:
    """Reads the whole file once; after the first records only those lines are decoded that can hold a person's words or a title."""
    found = Survey(side_chain=path.stem.startswith("agent-") or "subagents" in path.parts[:-1], stem=path.stem)
    stem_mark = f'"{path.stem}"'.encode()
    decoded_lines = 0
    for line in lines(file):
        if isinstance(line, Notice):
            continue
        ends = line.raw if len(line.raw) <= _LONG else line.raw[:_ENDS] + line.raw[-_ENDS:]
        if not found.names_stem and stem_mark in ends:
            found.names_stem = True
        if decoded_lines < _READ_WHOLE or _worth_decoding(ends):
            decoded_lines += 1
            record, _ = decoded(line)
            if record is not None:
                _note(found, record, now)
    return found


def _worth_decoding(ends: bytes) -> bool:
    """True for prompts and titles. Inside JSON strings a quote is escaped, so these marks are found only as whole strings."""
    if b'"user"' in ends:
        return b'"tool_result"' not in ends
    return b'-title"' in ends or b'"summary"' in ends


def _note(found: Survey, record: Fields, now: datetime) -> None:
    _note_place(found, record)
    kind = text_at(record, "type")
    if kind in _CONVERSATION and found.started_at is None:
        found.started_at = instant(record.get("timestamp"), now)
    if kind == "summary":
        found.summary = found.summary or text_at(record, "summary")
    elif kind in {"custom-title", "ai-title"}:
        found.title = text_at(record, "customTitle") or text_at(record, "aiTitle") or text_at(record, "title") or found.title
    elif kind == "user":
        _note_prompt(found, record)
    elif not found.first_words:
        found.first_words = queued_words(record)


def _note_place(found: Survey, record: Fields) -> None:
    session_id = text_at(record, "sessionId")
    if session_id and not found.session_id:
        found.session_id = session_id
        found.side_chain = found.side_chain or agent_in(record)
    found.agent = found.agent or text_at(record, "agentId")
    found.directory = found.directory or directory(text_at(record, "cwd"))
    found.branch = found.branch or text_at(record, "gitBranch")
    if not found.remote:
        places = (record, object_at(record, "git"))
        found.remote = next((url for place in places for name in _REMOTES if (url := text_at(place, name))), "")


def _note_prompt(found: Survey, record: Fields) -> None:
    """Remembers a person's prompt, and marks the one before it that hangs from the same parent: it was taken back."""
    words = own_words(record)
    if not words:
        return
    found.prompts.add(hash(words))
    found.first_words = found.first_words or words
    own, parent = text_at(record, "uuid"), text_at(record, "parentUuid")
    if own and parent:
        earlier = found.children.get(hash(parent))
        if earlier is not None and earlier != hash(own):
            found.abandoned.add(earlier)
        found.children[hash(parent)] = hash(own)
