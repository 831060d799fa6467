"""The option ``--watch``: what is written below the folders from now on is imported too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from memoranda_capture import find
from memoranda_cli import console
from memoranda_cli.errors import Interrupted, Unreachable

# an agent writes a reply in bursts: half a second after the last line the file is read
QUIET_MILLISECONDS: Final = 500
# and in a burst that does not end it is read this often
LONGEST_MILLISECONDS: Final = 3000
# what the operating system did not report (before it began, or on a network drive) is found by looking
LOOK_MILLISECONDS: Final = 5000

Stamp = tuple[int, int]
"""A file's size and time of change: what tells that it has to be read again."""


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """The stamps of files as they are now; files that went away have none."""
    found: dict[Path, Stamp] = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_size, status.st_mtime_ns)
    return found


def follow(roots: list[Path], known: dict[Path, Stamp], take: Callable[[list[tuple[Path, int]]], int], *, quiet: bool) -> None:
    """Imports files as they grow, until ctrl-C. ``known`` are the stamps with which files were imported before.

    Where the server does not answer, the files stay unknown and are taken with the next look.
    """
    if not quiet:
        console.err().print(f"watching {', '.join(map(str, roots))}; ctrl-C ends it", style="dim", markup=False, soft_wrap=True)
    try:
        for _ in _woken(roots):
            _take_changed(roots, known, take)
    except (KeyboardInterrupt, Interrupted):
        # in the middle of an import, too: what was not sent is sent the next time
        return


def _take_changed(roots: list[Path], known: dict[Path, Stamp], take: Callable[[list[tuple[Path, int]]], int]) -> None:
    now = stamps(find(roots))
    changed = [path for path, stamp in now.items() if known.get(path) != stamp]
    if not changed:
        return
    try:
        take([(path, now[path][0]) for path in changed])
    except Unreachable as error:
        console.fail(error)
    else:
        known.update((path, now[path]) for path in changed)


def _woken(roots: list[Path]) -> Iterator[None]:
    """Wakes after each burst of changes and every few seconds. Raises KeyboardInterrupt at ctrl-C."""
    from watchfiles import watch

    changes = watch(
        *roots,
        debounce=LONGEST_MILLISECONDS,
        step=QUIET_MILLISECONDS,
        rust_timeout=LOOK_MILLISECONDS,
        yield_on_timeout=True,
        raise_interrupt=True,
    )
    for _ in changes:
        yield
