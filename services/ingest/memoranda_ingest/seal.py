"""Sealing: what was captured of a source since its last version becomes the next version."""

from __future__ import annotations

import hashlib
from uuid import UUID

from memoranda.bus.work import Effect, Work
from memoranda.domain.evidence import StoredEvent
from memoranda.domain.ids import new_id
from memoranda.domain.job import Lane
from memoranda.errors import Stale
from memoranda.store import evidence, jobs
from memoranda.telemetry import traceparent
from memoranda_ingest.split import split

EVENTS_AT_ONCE = 2000
BYTES_AT_ONCE = 1_000_000
"""A version holds about a megabyte at most, so that sealing and learning it stay short transactions in bounded memory."""


def seal(work: Work) -> None:
    """Seals the next part of the job's source; where more is left, another job follows.

    Two workers on one source: the second finds the version's ordinal taken and starts over.
    """
    with work.read() as connection:
        source = evidence.source(connection, work.lease.subject_id)
        done = evidence.last_sealed(connection, work.lease.subject_id)
        events = evidence.unsealed(connection, work.lease.subject_id, after=done.last_event, limit=EVENTS_AT_ONCE, size=BYTES_AT_ONCE)
    if source is None or source.erased_at is not None or not events:
        with work.effect() as effect:
            effect.result.update(events=0, chunks=0)
        return
    if source.kind == "document":
        events = _one_reading(events)
    replaces = source.kind == "document" and done.ordinal > 0 and events[0].opens
    version_id = new_id()
    first_line = 1 if replaces else done.last_line + 1
    chunks = [
        evidence.NewChunk(id=new_id(), ordinal=done.last_chunk + place, digest=hashlib.sha256(piece.text.encode()).digest(), piece=piece)
        for place, piece in enumerate(split(events, first_line=first_line), start=1)
    ]
    version = evidence.NewVersion(
        id=version_id,
        source_id=source.id,
        ordinal=done.ordinal + 1,
        last_event=events[-1].id,
        line_count=chunks[-1].piece.last_line if chunks else done.last_line,
        digest=hashlib.sha256(b"".join(chunk.digest for chunk in chunks)).digest(),
        replaces=replaces,
    )
    with work.effect() as effect:
        if evidence.last_sealed(effect.connection, source.id) != done:
            raise Stale("another worker sealed this source meanwhile")
        evidence.add_chunks(effect.connection, brain_id=work.lease.brain_id, source_id=source.id, version_id=version_id, chunks=chunks)
        evidence.add_version(effect.connection, brain_id=work.lease.brain_id, version=version)
        effect.result.update(events=len(events), chunks=len(chunks), version=str(version_id))
        _follow_up(effect, work, source.id, version_id)


def _one_reading(events: list[StoredEvent]) -> list[StoredEvent]:
    """A document whose content changed is read again from its beginning: a version holds lines of one reading only."""
    for place, event in enumerate(events[1:], start=1):
        if event.opens:
            return events[:place]
    return events


def _follow_up(effect: Effect, work: Work, source_id: UUID, version_id: UUID) -> None:
    following: tuple[tuple[Lane, str, UUID], ...] = (
        ("learn", "learn", version_id),
        ("index", "index", version_id),
        ("ingest", "seal", source_id),
    )
    for lane, kind, subject in following:
        jobs.add(effect.connection, brain_id=work.lease.brain_id, lane=lane, kind=kind, subject_id=subject, traceparent=traceparent())
        effect.follow_up.add(lane)
