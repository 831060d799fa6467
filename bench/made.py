"""Made data: words that are as common as words are, claims, questions, and transcripts of the shape of real ones. Seeded."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from uuid import UUID

CONSONANTS = "bcdfghjklmnprstvwz"
VOWELS = "aeiou"
VOCABULARY = 20_000
START = datetime(2025, 1, 5, 9, 0, tzinfo=UTC)
PREDICATES = 300
REPOSITORIES = 40


@cache
def vocabulary() -> tuple[str, ...]:
    """Made words of two to four syllables, all different."""
    draw = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(draw.choice(CONSONANTS) + draw.choice(VOWELS) for _ in range(draw.randint(2, 4)))] = None
    return tuple(words)


@cache
def _sums() -> tuple[float, ...]:
    total = 0.0
    return tuple(total := total + 1 / (rank + 2.7) for rank in range(VOCABULARY))


class Words:
    """Draws words by Zipf's law (exponent 1): the second word is half as common as the first."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def some(self, number: int) -> list[str]:
        """That many words, common ones more often."""
        return self._draw.choices(vocabulary(), cum_weights=_sums(), k=number)

    def rare(self) -> str:
        """One of the rarer half: in one of four thousand short texts, on average."""
        return self._draw.choice(vocabulary()[VOCABULARY // 2 :])

    def sentence(self) -> str:
        """A sentence."""
        return " ".join(self.some(self._draw.randint(6, 18))).capitalize() + "."

    def identifier(self) -> str:
        """An identifier in one of the usual styles."""
        parts = self.some(self._draw.randint(2, 3))
        return self._draw.choice(("_".join(parts), "-".join(parts), parts[0] + "".join(part.title() for part in parts[1:])))

    def path(self) -> str:
        """The path of a file."""
        return f"{'/'.join(self.some(self._draw.randint(1, 3)))}/{self.identifier()}.py"

    def value(self) -> str:
        """A port, a version, a duration, a path, an identifier, or a few words."""
        draw = self._draw
        match draw.randrange(6):
            case 0:
                return str(draw.randint(1024, 65535))
            case 1:
                return f"v{draw.randint(0, 20)}.{draw.randint(0, 30)}.{draw.randint(0, 9)}"
            case 2:
                return f"{draw.randint(1, 90)} {draw.choice(('s', 'min', 'hours', 'days'))}"
            case 3:
                return self.path()
            case 4:
                return self.identifier()
            case _:
                return " ".join(self.some(draw.randint(2, 5)))

    def question(self) -> str:
        """Three to ten words, most of them a mix of rare and common ones; one in four is a whole sentence."""
        draw = self._draw
        rare = [self.rare() for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.25:
            start = draw.choice(("What is the", "Which", "Why does", "How long is the", "Where do we keep the"))
            return f"{start} {' '.join(self.some(draw.randint(1, 3)))} {rare[0]} of {self.identifier()}?"
        asked = [*self.some(draw.randint(2, 7)), *rare]
        draw.shuffle(asked)
        return " ".join(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a made revision says."""

    subject: str
    predicate: str
    value: str
    statement: str
    repository: str | None


@cache
def _predicates() -> tuple[str, ...]:
    words = Words(5)
    return tuple(" ".join(words.some(2)) for _ in range(PREDICATES))


def claims(seed: int) -> Iterator[Claim]:
    """Claims without end: about a service of some repository, its property and the value, with a sentence around them."""
    draw = random.Random(seed)
    words = Words(seed + 1)
    predicates = _predicates()
    while True:
        subject = f"{words.identifier()}-{draw.randint(1, 999)}"
        predicate, value = draw.choice(predicates), words.value()
        told = " ".join(words.some(draw.randint(5, 14)))
        yield Claim(
            subject=subject,
            predicate=predicate,
            value=value,
            statement=f"{told}: {subject} {predicate} is {value}.",
            repository=f"repository-{draw.randrange(REPOSITORIES)}" if draw.random() < 0.3 else None,
        )


def questions(number: int, *, seed: int) -> list[str]:
    """That many different questions; one in ten names the subject and the predicate of a claim that ``claims(0)`` begins with."""
    words = Words(seed)
    known = claims(0)
    asked = [words.question() for _ in range(number)]
    for place in range(0, number, 10):
        claim = next(known)
        asked[place] = f"{claim.subject} {claim.predicate}"
    return asked


def paragraph(words: Words, lines: int) -> str:
    """Lines of prose and identifiers, as a chunk of evidence holds them."""
    return "\n".join(f"{words.sentence()} {words.identifier()}" for _ in range(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How long the lines of a transcript are: the sentences of a reply at most, and the characters of a tool's result from and to."""

    reply: int
    shortest: int
    longest: int


LONG = Shape(reply=30, shortest=1000, longest=30_000)
"""Agents that read files and run tests: 9 KB a line."""
SHORT = Shape(reply=6, shortest=100, longest=4000)
"""Agents that talk and make small steps: 2 KB a line, so what each line costs counts more than its bytes."""


def transcripts(folder: Path, megabytes: float, shape: Shape, *, each: float = 5.0) -> list[Path]:
    """Claude Code sessions of about ``each`` megabytes, in ``folder``."""
    number = max(1, round(megabytes / each))
    paths = [folder / f"session-{place}.jsonl" for place in range(number)]
    for place, path in enumerate(paths):
        transcript(path, megabytes / number, shape, seed=100 + place + shape.reply)
    return paths


def transcript(path: Path, megabytes: float, shape: Shape, *, seed: int) -> None:
    """Writes one session: short prompts, replies, edits, and tool results, one in a hundred of which has 100 KB.

    Code has an escape every 20 letters, prose a letter that is not ASCII in every hundred, and each tool result stands twice in
    its line, as the tool writes it.
    """
    draw = random.Random(seed)
    words = Words(seed)
    prose = [words.sentence() + draw.choice(("", "", "", " “" + words.rare() + "” — naïve")) for _ in range(3000)]
    code = [f'\t{words.identifier()} = {words.identifier()}({draw.randint(0, 9999)}, "{words.rare()}")' for _ in range(3000)]
    left = int(megabytes * 1_000_000)
    parent: str | None = None
    session = str(UUID(int=draw.getrandbits(128), version=4))
    with path.open("wb") as file:
        for number in range(100_000_000):
            identity = str(UUID(int=draw.getrandbits(128), version=4))
            record = _wrapped(_record(draw, shape, prose, code, number), session, identity, parent, number)
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
            file.write(line + b"\n")
            parent = identity
            left -= len(line) + 1
            if left <= 0:
                return


def _record(draw: random.Random, shape: Shape, prose: list[str], code: list[str], number: int) -> dict[str, object]:
    turn = number % 6
    if number % 60 == 0:
        return {"type": "user", "message": {"role": "user", "content": " ".join(draw.choices(prose, k=draw.randint(1, 4)))}}
    if turn in (0, 3):
        text = "\n\n".join(draw.choices(prose, k=draw.randint(1, shape.reply)))
        return {"type": "assistant", "message": {"id": f"msg_{number}", "role": "assistant", "content": [{"type": "text", "text": text}]}}
    if turn in (1, 4):
        new = "\n".join(draw.choices(code, k=draw.randint(1, 40)))
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": {"file_path": f"/srv/app/{number}.py", "new": new}}
        return {"type": "assistant", "message": {"id": f"msg_{number}", "role": "assistant", "content": [call]}}
    size = 100_000 if draw.random() < 0.01 else int(shape.shortest * (shape.longest / shape.shortest) ** draw.random())
    text = "\n".join(draw.choices(code, k=max(1, size // 45)))
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
