"""What is read, what is refused and why, and what is found below a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memoranda_capture import Event, Refused, find, read
from memoranda_capture.errors import Binary, Empty, JsonArray, NotASession, Unreadable, Unsupported, WrongEncoding
from memoranda_capture.fields import is_items
from tests.capture.builders import events, heading, jsonl, message, meta, prompt, said, session


def _refusal(path: Path) -> Refused:
    with pytest.raises(Refused) as refusal:
        read(path)
    assert str(path) in str(refusal.value)
    return refusal.value


KNOWN: list[tuple[str, str, object]] = [
    (
        "Gemini CLI",
        "g.json",
        {"sessionId": "s", "projectHash": "h", "messages": [{"type": "user", "content": "x"}, {"type": "gemini", "content": "y"}]},
    ),
    ("Gemini CLI", "g.jsonl", [{"sessionId": "s", "startTime": "2026-01-01"}, {"$set": {"messages": []}}]),
    ("Gemini CLI", "h.jsonl", [{"id": "1", "timestamp": "t", "type": "user", "content": "x"}]),
    ("Copilot CLI", "c.jsonl", [{"type": "session.start", "id": "1", "data": {"sessionId": "s"}}]),
    ("Cursor", "cu.jsonl", [{"role": "user", "message": {"content": [{"type": "text", "text": "x"}]}}]),
    ("Cursor", "cu.json", {"conversations": [{"id": "1", "messages": [{"role": "user", "content": "x"}]}]}),
    ("Cursor", "co.json", {"composerId": "1", "fullConversationHeadersOnly": [{"bubbleId": "b", "type": 1}]}),
    ("opencode", "o.json", {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1733011200000}}),
    ("ChatGPT", "conversations.json", [{"id": "1", "title": "t", "mapping": {"root": {"id": "root", "message": None}}}]),
    ("Claude on the web", "web.json", [{"uuid": "1", "name": "t", "chat_messages": []}]),
    ("pi", "p.jsonl", [{"type": "session", "id": "1", "cwd": "/srv"}, {"type": "message", "message": {"role": "user"}}]),
]


@pytest.mark.parametrize(("name", "file", "content"), KNOWN)
def test_a_known_format_is_refused_by_name(tmp_path: Path, name: str, file: str, content: object) -> None:
    path = tmp_path / file
    path.write_bytes(jsonl(content) if is_items(content) and file.endswith("l") else json.dumps(content, indent=2).encode())
    refusal = _refusal(path)
    assert isinstance(refusal, Unsupported)
    assert name in refusal.message
    assert "Read today" in refusal.message


@pytest.mark.parametrize(
    ("file", "raw", "error"),
    [
        ("empty.jsonl", b"", Empty),
        ("zeros.jsonl", b"\0" * 500 + b"\n", Empty),
        ("image.jsonl", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), Binary),
        ("blob.jsonl", bytes(range(1, 32)) * 40, Binary),
        ("wide.jsonl", '{"type":"user"}\n'.encode("utf-16"), WrongEncoding),
        ("wide-le.jsonl", '{"type":"user"}\n'.encode("utf-16-le"), WrongEncoding),
        ("wide.md", "# Title\n".encode("utf-16"), WrongEncoding),
        ("array.jsonl", b'[{"type":"user"}]', JsonArray),
        ("prose.jsonl", b"This is prose.\n", NotASession),
        ("odd.jsonl", b'{"a":1}\n{"b":2}\n', NotASession),
        ("usage.jsonl", b'{"sessionId":"s","message":{"role":"assistant","usage":{}},"costUSD":1}\n', NotASession),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(tmp_path: Path, file: str, raw: bytes, error: type[Refused]) -> None:
    path = tmp_path / file
    path.write_bytes(raw)
    assert type(_refusal(path)) is error


def test_what_is_not_there_or_is_a_folder_is_unreadable(tmp_path: Path) -> None:
    assert isinstance(_refusal(tmp_path / "missing.jsonl"), Unreadable)
    assert isinstance(_refusal(tmp_path), Unreadable)


def test_a_file_of_unknown_types_only_is_refused_and_its_neighbours_are_read(tmp_path: Path) -> None:
    for number in range(5):
        session(tmp_path, prompt(f"p{number}"), name=f"{number}.jsonl")
    session(tmp_path, *({"type": f"new-{n}", "uuid": str(n), "sessionId": "s"} for n in range(9)), name="all-new.jsonl")
    (tmp_path / "zero.jsonl").write_bytes(b"")
    done, refused = 0, 0
    for path in find([tmp_path]):
        try:
            done += any(isinstance(record, Event) for record in read(path))
        except Refused:
            refused += 1
    assert (done, refused) == (5, 2)


def test_content_decides_and_not_the_extension(tmp_path: Path) -> None:
    assert said(session(tmp_path, prompt("x"), name="notes.txt"), "person") == ["x"]
    assert said(session(tmp_path, meta(), message("user", "y"), name="odd.name"), "person") == ["y"]
    assert said(session(tmp_path, "noise", [1], prompt("z"), name="array-first.jsonl"), "person") == ["z"]


def test_a_document_is_read_in_parts_that_end_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "Guide.md"
    text = "\ufeff# The guide\r\n\r\n" + "".join(f"Line {n} of the café guide.\r\n" for n in range(2_000))
    path.write_bytes(text.encode())
    parts = events(path)
    assert heading(path).title == "The guide"
    assert len(parts) > 2
    assert all(part.text.endswith("\n") and part.role == "document" for part in parts)
    assert "".join(part.text for part in parts) == text.replace("\r\n", "\n").removeprefix("\ufeff")
    assert parts[0].line == 1


def test_a_documents_unchanged_parts_keep_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{n} line\n" for n in range(9_000)))
    before = [part.key for part in events(path)]
    path.write_text(path.read_text() + "one more\n")
    assert [part.key for part in events(path)][: len(before) - 1] == before[:-1]


@pytest.mark.parametrize("start", ["[link](https://x)\n", "{curly} prose\n", '"quoted" prose\n', '{"a": 1}\n'])
def test_a_document_may_begin_like_json(tmp_path: Path, start: str) -> None:
    path = tmp_path / "x.md"
    path.write_text(start)
    assert [event.text for event in events(path)] == [start]


def test_find_walks_in_one_order_and_leaves_out_what_holds_no_sessions(tmp_path: Path) -> None:
    wanted = [
        "z.txt",
        ".claude/projects/-srv-app/a.jsonl",
        ".claude/projects/-srv-app/s/subagents/agent-1.jsonl",
        ".codex/sessions/2026/01/rollout-1.jsonl",
        "docs/a.md",
    ]
    unwanted = [
        ".claude/settings.jsonl",
        ".claude/CLAUDE.md",
        ".codex/history.jsonl",
        ".git/x.md",
        "node_modules/p/README.md",
        ".cache/y.jsonl",
        "a.png",
        ".hidden.md",
    ]
    for name in (*unwanted, *wanted):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [str(path.relative_to(tmp_path)) for path in find([tmp_path, tmp_path / "docs"])] == wanted
    hidden = tmp_path / ".claude"
    assert [path.name for path in find([hidden])] == ["a.jsonl", "agent-1.jsonl"]
    assert list(find([tmp_path / ".cache"])) == [tmp_path / ".cache/y.jsonl"]
    assert list(find([tmp_path / ".hidden.md"])) == [tmp_path / ".hidden.md"]


def test_a_pipe_that_is_named_like_a_session_is_refused_and_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    os.mkfifo(path)
    refusal = _refusal(path)
    assert isinstance(refusal, Unreadable)
    assert "not a regular file" in refusal.message
