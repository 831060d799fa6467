"""The command ``recall``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memoranda_cli import console, target
from memoranda_cli.errors import Misused


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it came from the command line."""

    text: str
    mode: str
    at: str | None
    when: str | None
    limit: int
    scope: dict[str, list[str]] | None
    as_json: bool


def ask(question: Question, *, data: Path | None, url: str | None, brain: str | None) -> None:
    """Asks, and shows the answer. History is asked for as the person who is signed in here, if one is."""
    from memoranda_cli.client import Client

    knowledge, fact = moment(question.at, "--at"), moment(question.when, "--when")
    found = target.find(data, url, brain)
    session = target.read_session(found) if question.mode == "history" else None
    with Client(found, session) as client:
        recalled = client.recall(
            question.text, mode=question.mode, limit=question.limit, scope=question.scope, knowledge_time=knowledge, fact_time=fact
        )
    if question.as_json:
        console.json(recalled)
    else:
        from memoranda_cli import render

        render.answer(console.out(), recalled)


def scope(repositories: list[str] | None, areas: list[str] | None, environments: list[str] | None) -> dict[str, list[str]] | None:
    """The scope that was asked for, or None where none was."""
    asked: dict[str, Any] = {"repositories": repositories or [], "areas": areas or [], "environments": environments or []}
    return asked if any(asked.values()) else None


def moment(text: str | None, option: str) -> str | None:
    """A time in ISO 8601, local where no zone is named. Raises Misused."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as exc:
        raise Misused(f"{option} is '{text}', which is no time", mend=f"write a date, or date and time: {option} 2026-03-01T12:00") from exc
    return (found if found.tzinfo else found.astimezone()).isoformat()
