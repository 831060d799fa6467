"""Lens rows as JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memoranda.errors import Invalid
from memoranda.store import lens


def claim_out(row: lens.Revision, supports: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A revision as the API shows it."""
    return {
        "claim_id": row.claim_id,
        "revision_id": row.id,
        "ordinal": row.ordinal,
        "recorded_at": row.recorded_at,
        "standing": row.standing,
        "withheld": row.withheld,
        "kind": row.kind,
        "subject": row.subject,
        "predicate": row.predicate,
        "value": row.value,
        "polarity": row.polarity,
        "statement": row.statement,
        "cardinality": row.cardinality,
        "scope": {"repositories": row.repositories, "areas": row.areas, "environments": row.environments},
        "valid_from": row.valid_from,
        "valid_to": row.valid_to,
        "said_at": row.said_at,
        "author_role": row.author_role,
        "review": row.review,
        "lifecycle": row.lifecycle,
        "freshness": row.freshness,
        "operational": row.operational,
        "observed_at": row.observed_at,
        "outcome": row.outcome,
        "admission": row.admission,
        "origin": row.origin,
        "superseded_by": row.superseded_by,
        "reviewer": row.reviewer,
        "acceptance_policy": row.acceptance_policy,
        "writer": row.writer,
        "reason": row.reason,
        "disputed": row.disputed,
        "pinned": row.pinned,
        "supports": list(supports),
    }


def support_out(span: lens.Support) -> dict[str, Any]:
    """A cited span as the API shows it."""
    return {
        "role": span.role,
        "said_at": span.said_at,
        "excerpt": span.excerpt,
        "withheld": span.withheld,
        "chunk_id": span.chunk_id,
        "first_line": span.first_line,
        "last_line": span.last_line,
        "source": {
            "id": span.source_id,
            "kind": span.source_kind,
            "host": span.host,
            "external_id": span.external_id,
            "title": span.title,
        },
    }


def with_supports(reading: lens.Reading, rows: Sequence[lens.Revision]) -> list[dict[str, Any]]:
    """Revisions with their cited spans, in the order given."""
    spans: dict[UUID, list[dict[str, Any]]] = {}
    for span in lens.supports(reading, [row.id for row in rows]) if rows else []:
        spans.setdefault(span.revision_id, []).append(support_out(span))
    return [claim_out(row, spans.get(row.id, [])) for row in rows]


def page_mark(time: datetime, row: UUID) -> str:
    """Where the next page goes on, opaque to the caller."""
    return base64.urlsafe_b64encode(f"{time.isoformat()}|{row}".encode()).decode()


def after(mark: str | None) -> lens.After | None:
    """The place that a page mark names. Raises Invalid for what is none."""
    if mark is None:
        return None
    try:
        time, _, row = base64.urlsafe_b64decode(mark.encode()).decode().partition("|")
        return lens.After(time=datetime.fromisoformat(time), id=UUID(row))
    except ValueError as error:
        raise Invalid("this is no page mark", field="after", mend="send the 'next' of the page before") from error
