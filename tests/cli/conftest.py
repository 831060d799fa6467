"""One embedded profile for all tests of the command line, and one that a person has signed in to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.standalone.profiles import EXAMPLES, Profile, started


@pytest.fixture(scope="session")
def profile() -> Generator[Profile]:
    """A running profile that every test shares; each test uses sessions or subjects of its own."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-cli-"))
    with started(folder) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def remembering(profile: Profile) -> Profile:
    """It, with the example sessions imported."""
    assert profile.cli("import", EXAMPLES / "claude-code", EXAMPLES / "codex").code == 0
    return profile
