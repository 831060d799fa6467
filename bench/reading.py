"""The reading transaction of a recall, timed: the lens opened by a token, both searches, the rows and their supports through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.stores import BRAIN, Store
from memoranda.store import lens
from memoranda.store.database import Database
from memoranda_api.recall import Question, recall

LIMIT = 10
BUDGET = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One of the things compared: asked the same questions in turn with the others."""

    name: str
    ask: Callable[[str], object]


def recaller(database: Database, store: Store, mode: lens.Mode = "accepted") -> Callable[[str], object]:
    """Asks as the API does, everything but HTTP."""

    def ask(question: str) -> object:
        with lens.reading(database, store.token, BRAIN, lens.View(mode=mode), timeout=10) as reading:
            return recall(reading, Question(text=question, limit=LIMIT, budget_bytes=BUDGET))

    return ask


def timed(arms: Sequence[Arm], questions: Sequence[str], *, warm: int) -> dict[str, list[float]]:
    """Seconds of each arm for each question. The arms take turns, and take turns in going first; the first ``warm`` are not counted."""
    seconds: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for place, question in enumerate(questions):
        turn = place % len(arms)
        for arm in (*arms[turn:], *arms[:turn]):
            started = time.perf_counter()
            arm.ask(question)
            if place >= warm:
                seconds[arm.name].append(time.perf_counter() - started)
    return seconds


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)
