"""What gets installed is what was locked, and nothing else starts with Python."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LOCKS: Final = sorted((ROOT / "requirements").glob("*.txt"))
# the editable install, setuptools' shim (comes with venv on Python 3.11), and the hooks of coverage tools
EXPECTED_PTH: Final = {"_memoranda.pth", "distutils-precedence.pth", "a1_coverage.pth", "_virtualenv.pth"}


def requirements(lock: Path) -> list[str]:
    """The requirements of a lock, each with its continuation lines, without comments."""
    plain = "\n".join(line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#"))
    return [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", plain.replace("\\\n", " ").strip())]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_requirement_is_one_version_with_hashes(lock: Path) -> None:
    loose = [entry for entry in requirements(lock) if not re.match(r"[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry)]
    assert not loose


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_index_and_no_path(lock: Path) -> None:
    assert not re.findall(r"https?://\S*|file:\S*|--[a-z-]*index\S*|--find-links\S*|\s/\S+", lock.read_text())


def test_the_locks_agree_on_every_version() -> None:
    versions = [dict(entry.split(" ", 1)[0].split("==", 1) for entry in requirements(lock)) for lock in LOCKS]
    shared = set[str].intersection(*(set(version) for version in versions))
    assert [name for name in shared if len({version[name] for version in versions}) > 1] == []


def test_no_installed_package_runs_code_at_every_start_of_python() -> None:
    folder = Path(sysconfig.get_path("purelib"))
    assert {path.name for path in folder.glob("*.pth")} - EXPECTED_PTH == set()
