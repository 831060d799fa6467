"""Formats that are recognised by their content and not read yet; the refusal names them."""

from __future__ import annotations

import re

from memoranda_capture.fields import Fields, is_fields

GEMINI, GEMINI_OLD = "Gemini CLI (JSON lines)", "Gemini CLI (one JSON object)"
COPILOT, CURSOR, OPENCODE, PI = "GitHub Copilot CLI", "Cursor", "opencode", "pi"
CHATGPT, CLAUDE_WEB = "ChatGPT (data export)", "Claude on the web (data export)"

_GEMINI_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_PI_TYPES = frozenset({"session", "message", "model_change", "thinking_level_change", "compaction", "branch_summary"})


def of_line(record: Fields) -> str | None:
    """The format whose line this is, None for no known one. Ask the readers first: this is for lines they do not claim."""
    kind = record.get("type")
    if isinstance(kind, str):
        return _of_type(record, kind)
    if "$set" in record or ("sessionId" in record and "startTime" in record):
        return GEMINI
    if {"role", "message"} == set(record) or "composerId" in record:
        return CURSOR
    return None


def _of_type(record: Fields, kind: str) -> str | None:
    if "." in kind and is_fields(record.get("data")):
        return COPILOT
    if kind in _GEMINI_TYPES and "content" in record and "message" not in record:
        return GEMINI
    if kind in _PI_TYPES and ("message" in record or "cwd" in record or "thinkingLevel" in record or "modelId" in record):
        return PI
    return None


_WHOLE: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (CHATGPT, re.compile(rb'"mapping"\s*:\s*\{')),
    (CLAUDE_WEB, re.compile(rb'"chat_messages"\s*:')),
    (CURSOR, re.compile(rb'"composerId"|"bubbleId"|"cursor[-_ ]|"workbench\.panel\.aichat', re.IGNORECASE)),
    (OPENCODE, re.compile(rb'"sessionID"\s*:\s*"ses_|"id"\s*:\s*"(?:ses|msg|prt)_[^"]*"[^{}]*"(?:projectID|messageID)"')),
    (GEMINI_OLD, re.compile(rb'"type"\s*:\s*"gemini"|"projectHash"\s*:')),
    (CURSOR, re.compile(rb'\A\s*\{\s*"conversations"\s*:\s*\[')),
)


def of_whole(head: bytes) -> str | None:
    """The format of a file that is one JSON value, told by its first megabyte."""
    return next((name for name, mark in _WHOLE if mark.search(head)), None)
