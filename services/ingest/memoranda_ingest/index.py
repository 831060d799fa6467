"""The text index: the words of sealed chunks, so that questions find them. It can be dropped and made again."""

from __future__ import annotations

from memoranda.bus.work import Work
from memoranda.store import evidence


def index(work: Work) -> None:
    """Indexes the job's version. Parsing a megabyte of text takes Postgres about half a second, so nothing waits for it."""
    with work.effect() as effect:
        effect.result["indexed"] = evidence.index_chunks(effect.connection, work.lease.subject_id)
