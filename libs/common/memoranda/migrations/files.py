"""The numbered .sql files of this folder, in order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memoranda.errors import Misconfigured

FOLDER: Final = Path(__file__).parent
NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file: its name without the ending, its bytes, and their SHA-256 in hex."""

    name: str
    script: bytes
    sha256: str


def read(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """Every migration, first to last. Raises Misconfigured unless the numbers run from 0001 without a gap or a double."""
    found = tuple(_read_one(path) for path in sorted(folder.glob("*.sql")))
    for place, migration in enumerate(found, start=1):
        if int(migration.name[:4]) != place:
            raise Misconfigured(f"migrations are numbered without gaps and doubles: {migration.name}.sql should be number {place:04}")
    return found


def _read_one(path: Path) -> Migration:
    if NAME.fullmatch(path.stem) is None:
        raise Misconfigured(f"{path.name} is no name for a migration: it should look like 0007_rights.sql")
    script = path.read_bytes()
    return Migration(name=path.stem, script=script, sha256=hashlib.sha256(script).hexdigest())
