"""Finding what can be read below the paths that were named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from memoranda_capture.readers.document import EXTENSIONS

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build"})
_AGENT_FOLDERS = frozenset({".claude", ".codex"})


def find(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields each file to read once, in an order that depends on names only.

    A file that was named is yielded whatever it is; a folder is walked for .jsonl files and documents. Hidden folders below it are
    skipped, and so are those of version control, packages and builds; .claude and .codex are not. Links to folders are not followed.
    """
    seen: set[Path] = set()
    for path in paths:
        for found in _walk(path) if path.is_dir() else (path,):
            place = found.resolve()
            if place not in seen:
                seen.add(place)
                yield found


def _walk(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if _entered(name))
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and _wanted(path):
                yield path


def _entered(name: str) -> bool:
    return name in _AGENT_FOLDERS or not (name.startswith(".") or name in _SKIPPED)


def _wanted(path: Path) -> bool:
    """In an agent's own folder only the sessions: its other files (settings, prompts, caches) are not what was said."""
    parts = path.parts
    if ".claude" in parts:
        return path.suffix == ".jsonl" and "projects" in parts
    if ".codex" in parts:
        return path.name.startswith("rollout-") and path.suffix == ".jsonl"
    return path.suffix == ".jsonl" or path.suffix.lower() in EXTENSIONS
