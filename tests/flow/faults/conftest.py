"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from memoranda.errors import Misconfigured
from tests.flow.faults import site as sites
from tests.flow.faults.site import DIALOGUES, LATER_ON, WORKERS, Place, Site


@pytest.fixture(scope="session")
def place() -> Generator[Place]:
    """Postgres, RabbitMQ, and what an undisturbed run leaves in the store."""
    try:
        opened = sites.place()
        here = opened.__enter__()
    except Misconfigured as error:
        pytest.skip(f"no RabbitMQ or Postgres: {error}; {error.mend}")
    try:
        with sites.site(here) as undisturbed:
            undisturbed.start("api", *WORKERS)
            undisturbed.capture(DIALOGUES)
            undisturbed.quiet()
            undisturbed.capture(LATER_ON)
            undisturbed.quiet()
            here.reference = undisturbed.ledger()
        yield here
    finally:
        opened.__exit__(None, None, None)


@pytest.fixture
def site(place: Place) -> Generator[Site]:
    """The services of one scenario; none runs yet."""
    with sites.site(place) as made:
        yield made
