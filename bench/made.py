"""Made data: words that are as common as words are, questions, and transcripts of the size and shape of real ones. Seeded."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

CONSONANTS = "bcdfghjklmnprstvwz"
VOWELS = "aeiou"
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def vocabulary(size: int, *, seed: int = 7) -> list[str]:
    """Made words of two to four syllables, all different."""
    draw = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(draw.choice(CONSONANTS) + draw.choice(VOWELS) for _ in range(draw.randint(2, 4)))] = None
    return list(words)


class Words:
    """Draws words by Zipf's law (exponent 1): the second word is half as common as the first."""

    def __init__(self, size: int = 20_000, *, seed: int = 11) -> None:
        self.all = vocabulary(size)
        self._draw = random.Random(seed)
        self._weights = [1 / (rank + 2.7) for rank in range(size)]
        total = 0.0
        self._sums = [total := total + weight for weight in self._weights]

    def some(self, number: int) -> list[str]:
        """That many words, common ones more often."""
        return self._draw.choices(self.all, cum_weights=self._sums, k=number)

    def rare(self) -> str:
        """One of the rarer half."""
        return self._draw.choice(self.all[len(self.all) // 2 :])

    def sentence(self) -> str:
        """A sentence."""
        return " ".join(self.some(self._draw.randint(6, 18))).capitalize() + "."

    def identifier(self) -> str:
        """An identifier in one of the usual styles."""
        parts = self.some(self._draw.randint(2, 3))
        return self._draw.choice(("_".join(parts), "-".join(parts), parts[0] + "".join(part.title() for part in parts[1:])))

    def question(self) -> str:
        """Three to ten words; most mix rare and common ones, and some are whole sentences."""
        common = self.some(self._draw.randint(2, 7))
        asked = [*common, *(self.rare() for _ in range(self._draw.randint(1, 3)))]
        self._draw.shuffle(asked)
        return ("What is the " if self._draw.random() < 0.3 else "") + " ".join(asked)


def transcript(path: Path, megabytes: float, *, seed: int = 3) -> None:
    """Writes a Claude Code session of about that size, shaped like recorded ones.

    Lines of 1.8 KB on average (half under 1 KB, one in a hundred over 10 KB, some of 50 to 100 KB), 17 escapes a kilobyte, one
    letter in a hundred not ASCII, and each tool result twice in its line, as the tool writes it.
    """
    draw = random.Random(seed)
    words = Words(seed=seed)
    prose = [words.sentence() + draw.choice(("", "", "", " “" + words.rare() + "” — naïve")) for _ in range(3000)]
    code = [f'\t{words.identifier()} = {words.identifier()}({draw.randint(0, 9999)}, "{words.rare()}")' for _ in range(3000)]
    left = int(megabytes * 1_000_000)
    parent: str | None = None
    session = str(UUID(int=draw.getrandbits(128), version=4))
    with path.open("w") as file:
        for number in range(100_000_000):
            record = _record(draw, prose, code, number)
            identity = str(UUID(int=draw.getrandbits(128), version=4))
            line = json.dumps(_wrapped(record, session, identity, parent, number), ensure_ascii=False)
            file.write(line + "\n")
            parent = identity
            left -= len(line) + 1
            if left <= 0:
                return


def _record(draw: random.Random, prose: list[str], code: list[str], number: int) -> dict[str, object]:
    turn = number % 6
    if number % 60 == 0:
        return {"type": "user", "message": {"role": "user", "content": " ".join(draw.choices(prose, k=draw.randint(1, 4)))}}
    if turn in (0, 3):
        text = "\n\n".join(draw.choices(prose, k=draw.randint(1, 6)))
        return {"type": "assistant", "message": {"id": f"msg_{number}", "role": "assistant", "content": [{"type": "text", "text": text}]}}
    if turn in (1, 4):
        new = "\n".join(draw.choices(code, k=draw.randint(1, 40)))
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": {"file_path": f"/srv/app/{number}.py", "new": new}}
        return {"type": "assistant", "message": {"id": f"msg_{number}", "role": "assistant", "content": [call]}}
    size = draw.randint(50, 100) * 500 if draw.random() < 0.01 else int(draw.triangular(100, 4000, 400))
    text = "\n".join(draw.choices(code, k=max(1, size // 50)))
    result = {"tool_use_id": f"toolu_{number - 1}", "type": "tool_result", "content": text}
    return {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": {"stdout": text, "stderr": ""}}


def _wrapped(record: dict[str, object], session: str, identity: str, parent: str | None, number: int) -> dict[str, object]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/srv/app",
        "sessionId": session,
        "version": "2.1.4",
        "gitBranch": "main",
        **record,
        "uuid": identity,
        "timestamp": (START + timedelta(seconds=number * 7)).isoformat().replace("+00:00", "Z"),
    }


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file as bytes."""
    with path.open("rb") as file:
        yield from file
