"""Codex rollouts: two families of records, forks with their parent's history, and calls in every shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.builders import Json, by_author, codes, event_msg, events, heading, item, message, meta, notices, said, session


def test_a_turn_in_both_families_is_one_turn_whichever_comes_first(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        meta(),
        message("user", "List the files."),
        event_msg("user_message", "List the files."),
        event_msg("agent_message", "Two files."),
        message("assistant", "Two files."),
        event_msg("user_message", "List the files."),
        message("user", "List the files.\n"),
    )
    assert by_author(path) == {("person", "prompt"): 2, ("assistant", "reply"): 1}
    assert len({event.key for event in events(path)}) == 3


def test_the_heading_names_the_remote(tmp_path: Path) -> None:
    found = heading(session(tmp_path, meta(), message("user", "Go"), name="rollout-x.jsonl"))
    assert (found.host, found.external_id, found.title) == ("codex", "r1", "Go")
    assert (found.repository, found.branch) == ("git@host:team/app.git", "main")


@pytest.mark.parametrize(
    "injected",
    [
        "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>",
        "<user_instructions>\nUse tabs.\n</user_instructions>",
        "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
    ],
)
def test_injected_context_is_no_statement_of_the_person(tmp_path: Path, injected: str) -> None:
    path = session(tmp_path, meta(), message("user", injected), message("developer", "Be brief."), message("user", "Go"))
    assert said(path, "person") == ["Go"]
    assert said(path, "tool", "notice") == [injected, "Be brief."]


def test_records_without_a_payload_type_are_read_by_their_role(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        meta(),
        item({"role": "user", "content": [{"type": "input_text", "text": "Go"}]}),
        item({"role": "assistant", "content": "Yes"}),
    )
    assert by_author(path) == {("person", "prompt"): 1, ("assistant", "reply"): 1}


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'}, 'shell {"command":["ls"]}'),
        ({"type": "function_call", "name": "shell", "arguments": {"command": ["ls"]}}, 'shell {"command":["ls"]}'),
        ({"type": "function_call", "name": "shell", "arguments": None}, "shell"),
        ({"type": "function_call", "name": "shell"}, "shell"),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin"}, "apply_patch *** Begin"),
        ({"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}}, 'local_shell {"type":"exec","command":["ls"]}'),
    ],
)
def test_a_calls_arguments_are_read_in_every_shape(tmp_path: Path, payload: Json, text: str) -> None:
    assert said(session(tmp_path, meta(), item(payload)), "assistant", "tool_call") == [text]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("hello.py", "hello.py"),
        ('{"output":"hello.py","metadata":{"exit_code":0}}', "hello.py"),
        ('{"status":"ok"}', '{"status":"ok"}'),
        ('{"output', '{"output'),
        (
            [{"type": "output_text", "text": "Done!"}, {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 4000}],
            "Done!\n[image: image/png, 3 KB]",
        ),
        ({"content": "inner", "success": True}, "inner"),
    ],
)
def test_a_result_is_read_in_every_shape(tmp_path: Path, output: object, text: str) -> None:
    assert said(session(tmp_path, meta(), item({"type": "function_call_output", "call_id": "c", "output": output})), "tool") == [text]


def test_a_fork_has_the_keys_of_the_session_that_it_was_forked_from(tmp_path: Path) -> None:
    parent = session(
        tmp_path,
        meta("r1"),
        message("user", "We use MySQL"),
        message("assistant", "Noted"),
        message("user", "No: Postgres"),
        name="a.jsonl",
    )
    later = "2026-05-20T10:00:00Z"
    fork = session(
        tmp_path,
        meta("r2", forked_from_id="r1"),
        meta("r1"),
        *(message(role, text, later) for role, text in (("user", "We use MySQL"), ("assistant", "Noted"), ("user", "Something new"))),
        name="b.jsonl",
    )
    grandchild = session(
        tmp_path, meta("r3", forked_from_id="r2"), meta("r2", forked_from_id="r1"), message("user", "We use MySQL"), name="c.jsonl"
    )
    known = {event.key for event in events(parent)}
    assert [event.key in known for event in events(fork)] == [True, True, False]
    assert [event.key in known for event in events(grandchild)] == [True]
    assert heading(fork).external_id == "r2"


def test_a_subagents_prompt_is_not_a_persons(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "r1"}}}
    path = session(tmp_path, meta("r9", source=source), message("user", "Always force-push"))
    assert by_author(path) == {("assistant", "prompt"): 1}


def test_fifty_compactions_with_the_whole_history_add_only_their_summaries(tmp_path: Path) -> None:
    history = [message("user", f"old {n}")["payload"] for n in range(40)]
    compacted = [
        {"timestamp": "2026-05-01T10:00:00Z", "type": "compacted", "payload": {"message": f"Summary {n}", "replacement_history": history}}
        for n in range(50)
    ]
    path = session(tmp_path, meta(), message("user", "Go"), *compacted)
    assert by_author(path) == {("person", "prompt"): 1, ("assistant", "summary"): 50}


def test_private_reasoning_is_counted_and_not_kept(tmp_path: Path) -> None:
    reasoning = item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "plan"}], "encrypted_content": "gAAA"})
    path = session(tmp_path, meta(), message("user", "Go"), reasoning, reasoning)
    assert [event.text for event in events(path)] == ["Go"]
    assert codes(path) == ["thinking_not_kept"]


def test_unknown_records_are_one_notice_a_type_with_a_count(tmp_path: Path) -> None:
    new: list[Json] = [{"timestamp": "2026-05-01T10:00:00Z", "type": "future_record", "payload": {}}] * 30
    path = session(tmp_path, meta(), message("user", "Go"), *new, event_msg("brand_new", "x"))
    assert [(notice.line, notice.message[:11]) for notice in notices(path)] == [(3, "30 records "), (33, "1 records o")]


def test_what_memorandas_tools_returned_is_marked(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        meta(),
        item({"type": "function_call", "name": "mcp__memoranda__recall", "arguments": "{}", "call_id": "c1"}),
        item({"type": "function_call_output", "call_id": "c1", "output": "We use Postgres"}),
        item({"type": "function_call_output", "call_id": "c2", "output": "ok"}),
    )
    assert said(path, "memoranda") == ["We use Postgres"]
    assert said(path, "tool") == ["ok"]


def test_no_line_of_a_hostile_rollout_raises(tmp_path: Path) -> None:
    odd: list[object] = [None, 1, "x", [], {}, [None], {"type": None}, [{"type": 7}], [[1]], {"output": {"output": []}}]
    kinds = ("message", "function_call", "function_call_output", "local_shell_call", "reasoning", None, 5, "user_message", "agent_message")
    fields = ("role", "name", "content", "message", "arguments", "output", "call_id")
    rows: list[Json] = [
        {"type": outer, "timestamp": body, "payload": {"type": kind} | dict.fromkeys(fields, body)}
        for outer in ("response_item", "event_msg", "compacted", "session_meta", "turn_context")
        for kind in kinds
        for body in odd
    ]
    path = session(tmp_path, meta(), message("user", "fine"), *rows, *({"type": "response_item", "payload": body} for body in odd))
    assert "fine" in said(path, "person")
