"""Recorded and hand-written transcripts of public projects, where the folder with them is at hand."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from memoranda_capture import read
from memoranda_capture.errors import NotASession, Unsupported
from memoranda_capture.redact import mask_events
from tests.capture.builders import by_author, events

FOLDER = Path(os.environ.get("MEMORANDA_TRANSCRIPTS") or Path(__file__).parents[3] / "shared" / "transcripts")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="optional: MEMORANDA_TRANSCRIPTS names no folder with public transcripts")

PP, AR, AC, AS, AP, TR, TN = (
    ("person", "prompt"), ("assistant", "reply"), ("assistant", "tool_call"), ("assistant", "summary"), ("assistant", "prompt"),
    ("tool", "tool_result"), ("tool", "notice"),
)  # fmt: skip

READ: dict[str, dict[tuple[str, str], int]] = {
    "claude-code/ad-d1d1d1d1-agent-omega01.jsonl": {AP: 1, AC: 1, AR: 1, AS: 1},
    "claude-code/ad-d1d1d1d1-parent.jsonl": {PP: 1, AR: 1},
    "claude-code/av-queued_system_messages.jsonl": {TN: 3},
    "claude-code/av-valid_session.jsonl": {PP: 2, AR: 2, AC: 1},
    "claude-code/ccl-edge_cases.jsonl": {PP: 4, AR: 2, AC: 3, TR: 1, TN: 6, AS: 1},
    "claude-code/ccl-representative_messages.jsonl": {PP: 4, AR: 3, AC: 2, TR: 2, AS: 1},
    "claude-code/ccl-session_id_steering_order.jsonl": {PP: 3, AR: 2},
    "claude-code/ccl-todowrite_examples.jsonl": {PP: 2, AR: 3, AC: 3, TR: 3, AS: 1},
    "claude-code/ccv-1af7fc5e.jsonl": {TN: 3, AR: 3, AC: 12, TR: 11},
    "claude-code/ccv-agent-test-hash-123.jsonl": {AP: 1, AR: 1},
    "claude-code/ccv-fe5e1c67-large-summary-sidechain.jsonl": {AS: 1, TN: 31, AR: 95, AC: 167, TR: 156, AP: 5, PP: 1},
    "claude-code/sw-sample_session.jsonl": {AS: 1, PP: 2, AR: 2, AC: 2, TR: 2},
    "codex/ad-rollout-2026-03-11.jsonl": {PP: 1, AC: 1, TR: 1, AR: 1},
    "codex/av-function_calls.jsonl": {PP: 1, AC: 2},
    "codex/av-standard_session.jsonl": {PP: 1, AR: 1},
    "codex/ccl-malformed-rollout-66666666.jsonl": {PP: 1},
    "codex/ccl-rollout-11111111.jsonl": {PP: 1, AC: 3, TR: 3, AR: 1},
}
"""Counted by hand in the small files; in the two recorded ones checked against the record types and read through."""

REFUSED = {"chatgpt": "ChatGPT", "claude-web": "Claude on the web", "copilot-cli": "Copilot CLI", "cursor": "Cursor",
           "gemini": "Gemini CLI", "opencode": "opencode", "other": "pi"}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_public_transcript_gives_the_events_that_are_in_it(name: str) -> None:
    path = FOLDER / name
    assert dict(by_author(path)) == READ[name]
    assert len({event.key for event in events(path)}) == len(events(path))


def test_a_file_of_usage_numbers_is_refused() -> None:
    with pytest.raises(NotASession, match="usage"):
        read(FOLDER / "claude-code/ccusage-alpha.jsonl")


@pytest.mark.parametrize("folder", REFUSED)
def test_each_format_that_is_not_read_is_refused_by_its_name(folder: str) -> None:
    for path in sorted((FOLDER / folder).iterdir()):
        with pytest.raises(Unsupported, match=REFUSED[folder]):
            read(path)


def test_masking_finds_no_secret_where_there_is_none() -> None:
    counts: Counter[str] = Counter()
    for name in READ:
        for _ in mask_events(read(FOLDER / name), counts):
            pass
    assert counts == {}
