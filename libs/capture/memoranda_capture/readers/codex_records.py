"""What single Codex records mean: the text of calls and results in each of the shapes they come in."""

from __future__ import annotations

import orjson

from memoranda_capture.fields import Fields, compact, is_fields, object_at, text_at
from memoranda_capture.readers.blocks import words
from memoranda_capture.wording import clean

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "mcp_tool_call"})
RESULTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output", "tool_search_output"}
)

OUTPUT_LOOKED_INTO = 1_000_000
"""Characters. A result that is JSON in a string is opened up to this length; a longer one is kept as it stands."""


def call_text(payload: Fields) -> str:
    """A call as 'name arguments'; arguments may be a string, an object, or missing."""
    name = text_at(payload, "name") or text_at(payload, "type").removesuffix("_call")
    for place in ("arguments", "input", "action", "query"):
        if place in payload:
            return clean(f"{name} {compact(payload[place])}").rstrip()
    return clean(name)


def result_text(payload: Fields) -> str:
    """A result's text: from a string, from JSON in a string, from a list of blocks, or from an object around one of these."""
    output = payload.get("output")
    if isinstance(output, str) and output.startswith('{"') and len(output) <= OUTPUT_LOOKED_INTO:
        output = _opened(output)
    if is_fields(output):
        inner = next((output[name] for name in ("output", "content", "stdout") if name in output), None)
        return words(inner) if inner is not None else clean(compact(output))
    return words(output)


def _opened(output: str) -> object:
    """The shell tool wraps its output as {"output": …, "metadata": …}; other JSON is what the tool said, and stays."""
    try:
        value: object = orjson.loads(output)
    except orjson.JSONDecodeError:
        return output
    return value if is_fields(value) and isinstance(value.get("output"), str) else output


def parent_id(meta: Fields) -> str:
    """The session that this one was forked or spawned from, '' for a session of its own."""
    for name in ("forked_from_id", "parent_thread_id", "parent_id", "parent_session_id"):
        if found := text_at(meta, name):
            return found
    return text_at(_spawn(meta), "parent_thread_id")


def is_subagent(meta: Fields) -> bool:
    """Whether another agent wrote this session's prompts."""
    return "subagent" in object_at(meta, "source") or bool(text_at(meta, "agent_role") or text_at(meta, "agent_nickname"))


def _spawn(meta: Fields) -> Fields:
    return object_at(object_at(object_at(meta, "source"), "subagent"), "thread_spawn")
