"""Folders in which the private server may run whoever runs the tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def data() -> Generator[Path]:
    """An empty data folder. Not pytest's own, which is closed to the user that the server of a root runs as."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-up-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
