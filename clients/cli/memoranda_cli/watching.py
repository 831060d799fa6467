"""The option ``--watch``: what is written below the folders from now on is imported too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda_capture import find
from memoranda_cli import console
from memoranda_cli.errors import Unreachable

if TYPE_CHECKING:
    from memoranda_cli.client import Client
    from memoranda_cli.intake import Order

# an agent writes a reply in bursts: half a second after the last line the file is read
QUIET_MILLISECONDS: Final = 500
# and in a burst that does not end it is read this often
LONGEST_MILLISECONDS: Final = 3000


def follow(client: Client, roots: list[Path], order: Order, take: Callable[[list[tuple[Path, int]]], int]) -> None:
    """Imports files as they grow, until ctrl-C. A server that goes away is waited for: the next change is read with what was missed."""
    from watchfiles import watch

    if not order.as_json:
        console.err().print(f"watching {', '.join(map(str, roots))}; ctrl-C ends it", style="dim", markup=False, soft_wrap=True)
    missed: set[Path] = set()
    for changes in watch(*roots, debounce=LONGEST_MILLISECONDS, step=QUIET_MILLISECONDS, raise_interrupt=False):
        changed = {Path(name) for _, name in changes} | missed
        files = _wanted(roots, changed)
        if not files:
            continue
        try:
            take(files)
            missed = set()
        except Unreachable as error:
            missed = changed
            console.fail(error)
    _ = client


def _wanted(roots: list[Path], changed: set[Path]) -> list[tuple[Path, int]]:
    """Those of the changed files that an import of the folders would read, too."""
    there = {path.resolve() for path in changed if path.is_file()}
    return [(path, path.stat().st_size) for path in find(roots) if path.resolve() in there]
