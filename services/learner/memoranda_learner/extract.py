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
    rf"^\s*(?:[-*+]\s+)?`?(?P<subject>{_NAME}(?:\.{_NAME})*?)\.(?P<predicate>[^\W_](?:[\w\-]*\w)?)`?\s*(?P<sign>!?=)\s*(?P<value>\S.*)$"
)
_DIRECTIVE = re.compile(r"^\s*(?:[-*+]\s+)?(?P<form>decision|remember|always|never)\b(?P<colon>\s*:)?\s+(?P<text>\S.*)$", re.IGNORECASE)
_CODE_SUBJECTS = frozenset(
    {"self", "this", "cls", "super", "window", "document", "module", "exports", "process.env", "os", "sys", "e", "err"}
)
# 'Never mind', 'Always the same error', 'Always fails with code 3': told, not laid down
_NO_RULE = frozenset(
    {"mind", "ever", "again", "the", "a", "an", "fails", "failed", "failing", "happens", "happened", "works", "worked", "been", "had"}
    | {"has", "have", "was", "were", "is", "are", "said", "saw", "seen", "got", "gets", "did", "does"}
)
_QUOTED = re.compile(r"""^(["'`])(?P<inside>.*)\1$""")


def extract(chunks: Iterable[Chunk], *, scope: Scope) -> Extracted:
    """Every candidate in the chunks, in the order of their lines. Each cites the one line that states it."""
    candidates: list[Candidate] = []
    dropped: dict[str, int] = {}
    fence = _Fence()
    for chunk in chunks:
        for line, role, said_at, fenced in _lines(chunk, fence):
            reason = _reason_to_skip(chunk, line, role)
            found = None if fenced else _fact(line, scope) or _directive(line, role, scope)
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


@dataclass(slots=True)
class _Fence:
    """Whether a fence is open. It goes on across chunks, and ends with what its author said."""

    open: bool = False
    by: Run | None = None

    def passes(self, text: str, run: Run) -> bool:
        """Takes a line in; True where it is a fence's mark itself."""
        if self.by is None or (self.by.role, self.by.said_at) != (run.role, run.said_at):
            self.open, self.by = False, run
        mark = text.lstrip().startswith(("```", "~~~"))
        self.open ^= mark
        return mark


def _lines(chunk: Chunk, fence: _Fence) -> Iterator[tuple[_Line, Role, datetime | None, bool]]:
    for number, text in enumerate(chunk.piece.text.split("\n")):
        run = run_of(chunk.piece.runs, chunk.piece.first_line + number)
        if not fence.passes(text, run) and len(text) <= LONGEST_LINE:
            yield _Line(text, number), run.role, run.said_at, fence.open


def run_of(runs: tuple[Run, ...], line: int) -> Run:
    """The run that a line belongs to."""
    found = runs[0]
    for run in runs:
        if run.line > line:
            break
        found = run
    return found


def _fact(line: _Line, scope: Scope) -> Statement | None:
    match = _FACT.match(line.text)
    if match is None:
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
    """The value as it is written, or None where it is a question, has a remark, or is an expression of some programming language."""
    text = text.strip().rstrip(";,").removesuffix("`").rstrip()
    if text.startswith("=") or text.endswith("?") or re.search(r"\s(?:#|//)\s|\sif\s.*\selse\s", text):
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
        inner = _fact(_Line(text, line.number), scope) if form == "remember" else None
        return inner or _noted(form, text, scope)
    if match["colon"] is not None or text.endswith("?") or text.split()[0].lower().strip(",.:;") in _NO_RULE:
        return None
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
