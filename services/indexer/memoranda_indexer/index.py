"""The text index: the words of sealed chunks, so that questions find them, and how common the common words are."""

from __future__ import annotations

from datetime import timedelta

from memoranda.bus.work import Work
from memoranda.store import evidence, jobs, words

SAMPLE_AFTER = timedelta(seconds=30)
"""Counting a brain's rows takes a tenth of a second for a million: once for all that comes in meanwhile."""


def index(work: Work) -> None:
    """Indexes the job's version. Parsing a megabyte of text takes Postgres about half a second, so nothing waits for it."""
    brain = work.lease.brain_id
    with work.effect() as effect:
        effect.result["indexed"] = evidence.index_chunks(effect.connection, work.lease.subject_id)
        jobs.add(effect.connection, brain_id=brain, lane="index", kind="sample", subject_id=brain, delay=SAMPLE_AFTER, keep_earlier=True)


def sample(work: Work) -> None:
    """Samples the words of the job's brain again, where it has doubled since the last time."""
    with work.effect() as effect:
        for place in words.PLACES:
            effect.result[place] = words.sample(effect.connection, work.lease.brain_id, place)
