"""Capture: a batch of a session's events is masked, stored once, and its sealing is put into the queue."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from memoranda.domain.evidence import Role, Scope, SourceKind
from memoranda.errors import Erased, Forbidden
from memoranda.store import evidence, jobs
from memoranda.telemetry import traceparent
from memoranda_api.acting import Acting
from memoranda_capture.redact import mask

IDLE = timedelta(seconds=2)
"""How long a session that did not say it ends is waited for before it is sealed: a batch is followed by the next within that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedSource:
    """Where events come from. ``external_id`` names it within its host and never changes."""

    host: str
    external_id: str
    kind: SourceKind
    title: str
    scope: Scope
    branch: str | None = None


class CapturedEvent(Protocol):
    """One event as a client sends it."""

    @property
    def key(self) -> str: ...
    @property
    def parent_key(self) -> str | None: ...
    @property
    def role(self) -> Role: ...
    @property
    def kind(self) -> str: ...
    @property
    def said_at(self) -> datetime | None: ...
    @property
    def text(self) -> str: ...
    @property
    def abandoned(self) -> bool: ...


def capture(acting: Acting, source: CapturedSource, events: Sequence[CapturedEvent], *, last: bool) -> dict[str, Any]:
    """Stores what is new of a batch and queues the sealing. Sending the same again stores nothing.

    Raises Erased for a source that a person erased, Forbidden for readers.
    """
    acting.need("writer")
    if source.kind not in ("session", "document"):
        raise Forbidden(f"a {source.kind} is not captured")
    found = evidence.open_source(
        acting.connection,
        brain_id=acting.brain_id,
        kind=source.kind,
        host=source.host,
        external_id=source.external_id,
        title=mask(source.title).text[:500],
        scope=source.scope,
        branch=source.branch,
    )
    if found.erased_at is not None:
        raise Erased("this source was erased: nothing of it is taken in again")
    masked: Counter[str] = Counter()
    rows = [_row(source.host, event, masked) for event in events]
    added = evidence.add_events(acting.connection, brain_id=acting.brain_id, source_id=found.id, events=rows)
    job_id = None
    if added.new or last:
        job_id = jobs.add(
            acting.connection,
            brain_id=acting.brain_id,
            lane="ingest",
            kind="seal",
            subject_id=found.id,
            delay=timedelta(0) if last else IDLE,
            traceparent=traceparent(),
        )
        acting.lanes.add("ingest")
    return {
        "source_id": found.id,
        "received": len(events),
        "new": added.new,
        "duplicate": len(events) - added.new - len(added.differing),
        "differing": [{"index": place, "key": events[place].key} for place in added.differing],
        "masked": dict(masked),
        "job_id": job_id,
    }


def _row(host: str, event: CapturedEvent, masked: Counter[str]) -> evidence.NewEvent:
    clean = mask(event.text)
    if clean.counts:
        masked.update(clean.counts)
    return evidence.NewEvent(
        key=_key(host, event.key),
        parent_key=_key(host, event.parent_key) if event.parent_key else None,
        role=event.role,
        kind=event.kind,
        said_at=event.said_at,
        abandoned=event.abandoned,
        body=clean.text,
        digest=hashlib.sha256(f"{event.role}\0{clean.text}".encode()).digest()[:16],
    )


def _key(host: str, key: str) -> bytes:
    """An event's name within its brain: 16 bytes, whatever the host calls it."""
    return hashlib.sha256(f"{host}\0{key}".encode()).digest()[:16]
