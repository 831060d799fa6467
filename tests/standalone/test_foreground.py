"""Captures go before jobs in one process, and never end all learning."""

from __future__ import annotations

import threading
import time
from uuid import UUID

from memoranda_up.foreground import Foreground

JOB = UUID(int=7)
SOON = 5.0


def begun(foreground: Foreground) -> threading.Event:
    """An event that is set when a job that has just arrived begins."""
    event = threading.Event()

    def work(job: UUID, traceparent: str | None) -> None:
        assert (job, traceparent) == (JOB, "00-trace")
        event.set()

    threading.Thread(target=foreground.before(work), args=(JOB, "00-trace"), daemon=True).start()
    return event


def test_a_job_begins_at_once_where_nothing_is_captured() -> None:
    assert begun(Foreground(quiet=SOON, longest=60)).wait(SOON)


def test_a_job_waits_until_the_last_capture_is_answered() -> None:
    foreground = Foreground(quiet=0.01, longest=60)
    foreground.begin()
    foreground.begin()
    job = begun(foreground)
    foreground.end()
    assert not job.wait(0.2)
    foreground.end()
    assert job.wait(SOON)


def test_a_job_waits_out_the_pause_between_two_captures() -> None:
    foreground = Foreground(quiet=60, longest=120)
    foreground.begin()
    foreground.end()
    job = begun(foreground)
    assert not job.wait(0.2)


def test_captures_without_end_hold_a_job_back_no_longer_than_is_bearable() -> None:
    foreground = Foreground(quiet=60, longest=0.2)
    foreground.begin()
    started = time.monotonic()
    assert begun(foreground).wait(SOON)
    assert time.monotonic() - started >= 0.15
