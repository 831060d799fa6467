"""Where a command writes: results to standard output, what happens meanwhile and what went wrong to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from rich.console import Console

    from memoranda_cli.errors import Failure

PIPE_COLUMNS: Final = 120


def out() -> Console:
    """Standard output: colours on a terminal only, and none where NO_COLOR is set."""
    from rich.console import Console

    # a pipe has no width, and 80 columns would break paths that a program wants to find
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS
    return Console(highlight=False, width=width)


def err() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(highlight=False, stderr=True)


def json(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode() + "\n")


def fail(failure: Failure) -> None:
    """A failure on standard error: what, and how to mend it."""
    from rich.text import Text

    console = err()
    console.print(Text.assemble(("memoranda: ", "bold red"), failure.message), soft_wrap=True)
    if failure.mend:
        console.print(Text.assemble(("  mend: ", "bold"), failure.mend), soft_wrap=True)
