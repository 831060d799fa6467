"""Extraction without a model: lines that state a value outright, and directives by a person or in a document.

Deterministic. It reads two forms, and no others:

    billing-service.port = 8080            a fact; ``!=`` denies it
    Decision: … / Remember: … / Always … / Never …      by a person or in a document
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memoranda.domain.claim import Statement
from memoranda.domain.evidence import Chunk, Citation, Role, Run, Scope

LONGEST_LINE = 2000
"""Longer lines are data, not statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement with its citation, and who said it when, as the evidence has it."""

    statement: Statement
    citation: Citation
    role: Role
    said_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found, and what was dropped, by reason."""

    candidates: list[Candidate]
    dropped: dict[str, int]


_NAME = r"[^\W_](?:[\w \-/]*\w)?"
_FACT = re.compile(
    rf"^\s*(?:[-*+]\s+|>\s+)?`?(?P<subject>{_NAME}(?:\.{_NAME})*?)\.(?P<predicate>[^\W_](?:[\w\-]*\w)?)`?\s*(?P<sign>!?=)\s*(?P<value>\S.*)$"
)
_DIRECTIVE = re.compile(r"^\s*(?:[-*+]\s+)?(?P<form>decision|remember|always|never)\b(?P<colon>\s*:)?\s+(?P<text>\S.*)$", re.IGNORECASE)
_CODE_SUBJECTS = frozenset(
    {"self", "this", "cls", "super", "window", "document", "module", "exports", "process.env", "os", "sys", "e", "err"}
)
_QUOTED = re.compile(r"""^(["'`])(?P<inside>.*)\1$""")


def extract(chunks: Iterable[Chunk], *, scope: Scope) -> Extracted:
    """Every candidate in the chunks, in the order of their lines. Each cites the one line that states it."""
    candidates: list[Candidate] = []
    dropped: dict[str, int] = {}
    for chunk in chunks:
        for line, role, said_at, fenced in _lines(chunk):
            reason = _reason_to_skip(chunk, line, role)
            found = _fact(line, scope, fenced=fenced) or _directive(line, role, scope)
            if found is None:
                continue
            if reason is not None:
                dropped[reason] = dropped.get(reason, 0) + 1
                continue
            number = line_number(chunk, line)
            candidates.append(
                Candidate(
                    statement=found,
                    citation=Citation(chunk_id=chunk.id, first_line=number, last_line=number),
                    role=role,
                    said_at=said_at,
                )
            )
    return Extracted(candidates=candidates, dropped=dropped)


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    number: int


def line_number(chunk: Chunk, line: _Line) -> int:
    """Where a line of a chunk stands in its source."""
    return chunk.piece.first_line + line.number


def _reason_to_skip(chunk: Chunk, line: _Line, role: Role) -> str | None:
    if role == "memoranda":
        return "recalled_text"
    if chunk.piece.abandoned:
        return "abandoned_branch"
    if chunk.piece.continues and line.number == 0:
        return "cut_line"
    return None


def _lines(chunk: Chunk) -> Iterator[tuple[_Line, Role, datetime | None, bool]]:
    fenced = False
    for number, text in enumerate(chunk.piece.text.split("\n")):
        if text.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if len(text) <= LONGEST_LINE:
            run = run_of(chunk.piece.runs, chunk.piece.first_line + number)
            yield _Line(text, number), run.role, run.said_at, fenced


def run_of(runs: tuple[Run, ...], line: int) -> Run:
    """The run that a line belongs to."""
    found = runs[0]
    for run in runs:
        if run.line > line:
            break
        found = run
    return found


def _fact(line: _Line, scope: Scope, *, fenced: bool) -> Statement | None:
    match = _FACT.match(line.text)
    if match is None or fenced:
        return None
    subject, predicate = match["subject"].strip(), match["predicate"]
    value = _value(match["value"])
    if value is None or subject.lower() in _CODE_SUBJECTS or subject.split(".")[0].lower() in _CODE_SUBJECTS:
        return None
    polarity = "denies" if match["sign"] == "!=" else "affirms"
    verb = "is not" if polarity == "denies" else "is"
    return Statement(
        kind="fact",
        subject=subject,
        predicate=predicate,
        value=value,
        sentence=f"{subject}: {predicate} {verb} {value}.",
        polarity=polarity,
        scope=scope,
    )


def _value(text: str) -> str | None:
    """The value as it is written, or None where it is an expression of some programming language."""
    text = re.sub(r"\s+(?:#|//)\s.*$", "", text.strip()).strip().rstrip(";,")
    if text.startswith("="):
        return None
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted["inside"].strip() or None
    text = text.rstrip(".") if not re.match(r".*\.\.$", text) else text
    if not text or re.search(r"[(){}\[\]<>=|&]|=>|::", text) or len(text) > 500:
        return None
    return text


def _directive(line: _Line, role: Role, scope: Scope) -> Statement | None:
    if role not in ("person", "document"):
        return None
    match = _DIRECTIVE.match(line.text)
    if match is None:
        return None
    form, text = match["form"].lower(), match["text"].strip()
    if form in ("decision", "remember"):
        if match["colon"] is None:
            return None
        inner = _fact(_Line(text, line.number), scope, fenced=False) if form == "remember" else None
        return inner or _noted(form, text, scope)
    return _rule(form, text, scope)


def _noted(form: str, text: str, scope: Scope) -> Statement:
    decided = form == "decision"
    return Statement(
        kind="decision" if decided else "note",
        subject="team" if decided else "memory",
        predicate="decided" if decided else "remembers",
        value=text,
        sentence=text,
        cardinality="many",
        scope=scope,
    )


def _rule(form: str, text: str, scope: Scope) -> Statement:
    return Statement(
        kind="preference",
        subject="team",
        predicate="rule",
        value=text,
        sentence=f"{form.capitalize()} {text}",
        polarity="denies" if form == "never" else "affirms",
        cardinality="many",
        scope=scope,
    )


def cited_words(candidate: Candidate, line: str) -> bool:
    """Whether the cited line holds the value as it is written, white space and case aside."""
    return _flat(candidate.statement.value) in _flat(line)


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).casefold()
