"""What the literal extractor takes from a line, and what it leaves."""

from __future__ import annotations

import uuid

import pytest

from memoranda.domain.evidence import EVERYWHERE, Chunk, Piece, Role, Run
from memoranda_learner.extract import extract


def chunk(text: str, role: Role = "person", *, first_line: int = 1) -> Chunk:
    runs = (Run(line=first_line, role=role, said_at=None),)
    piece = Piece(first_line=first_line, last_line=first_line + text.count("\n"), text=text, runs=runs)
    return Chunk(id=uuid.uuid4(), piece=piece)


def found(*chunks: Chunk) -> list[tuple[str, str, str, str]]:
    statements = [candidate.statement for candidate in extract(chunks, scope=EVERYWHERE).candidates]
    return [(s.subject, s.predicate, s.value, s.polarity) for s in statements]


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("billing-service.port = 8080", ("billing-service", "port", "8080", "affirms")),
        ("- `mail-service.queue = sqs`", ("mail-service", "queue", "sqs", "affirms")),
        ("api.v2.timeout = 30 s.", ("api.v2", "timeout", "30 s", "affirms")),
        ('shop.name = "The Shop"', ("shop", "name", "The Shop", "affirms")),
        ("shop.database != mysql", ("shop", "database", "mysql", "denies")),
        ("Remember: shop.owner = payments", ("shop", "owner", "payments", "affirms")),
        ("Decision: deploy on Tuesdays", ("team", "decided", "deploy on Tuesdays", "affirms")),
        ("Never push on Fridays", ("team", "rule", "push on Fridays", "denies")),
    ],
)
def test_a_line_that_states_something_outright_is_a_candidate(line: str, claim: tuple[str, str, str, str]) -> None:
    assert found(chunk(line)) == [claim]


@pytest.mark.parametrize(
    "line",
    [
        "is an.port = 8080?",
        "> billing.port = 8080",
        "ai.debug = true  # only on staging",
        "x.y = z if a else b",
        "self.port = 8080",
        "config.load = open(path)",
        "a.b == c",
        "Never mind, I found it.",
        "Always the same error: connection refused",
        "Always fails with code 3",
        "Always: yes",
        "we always squash commits",
    ],
)
def test_a_question_a_quotation_a_remark_code_and_talk_are_none(line: str) -> None:
    assert found(chunk(line)) == []


def test_nothing_in_a_fence_is_a_candidate_also_where_the_fence_goes_on_in_the_next_chunk() -> None:
    first = chunk("see:\n```\nbilling.port = 8080\nAlways push")
    second = chunk("billing.host = alpha\n```\nbilling.owner = payments", first_line=5)
    assert found(first, second) == [("billing", "owner", "payments", "affirms")]


def test_a_fence_that_is_never_closed_ends_with_what_its_author_said() -> None:
    assert found(chunk("```\nbilling.port = 8080"), chunk("billing.owner = payments", role="tool", first_line=3)) == [
        ("billing", "owner", "payments", "affirms")
    ]


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_directives_are_taken_from_people_and_documents_only(role: Role) -> None:
    assert found(chunk("Always squash commits\nRemember: x.y = z", role=role)) == []
