"""Claude Code sessions as tests write them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path


def record(text: str, session: str, *, role: str = "user", key: str | None = None) -> str:
    """One record of a session, without its line end."""
    return json.dumps(
        {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/work/shop",
            "sessionId": session,
            "version": "2.0.42",
            "gitBranch": "main",
            "type": role,
            "message": {"role": role, "content": text},
            "uuid": key or str(uuid.uuid4()),
            "timestamp": "2025-11-18T09:02:11.418Z",
        }
    )


def write(folder: Path, *texts: str, tail: str = "") -> Path:
    """A new session in which a person says these texts; `tail` is put after the last line."""
    session = str(uuid.uuid4())
    path = folder / f"{session}.jsonl"
    path.write_text("".join(f"{record(text, session)}\n" for text in texts) + tail)
    return path
