"""The command ``memoranda``.

Exit codes: 0 all went well; 1 something was refused, failed or is wrong; 2 the command line makes no sense; 3 no server answers.
"""

from __future__ import annotations

import os
import sys

import typer

from memoranda_cli.commands import decide, look, memory, service
from memoranda_cli.errors import FAILED, Failure

EXITS = "Exit codes: 0 done, 1 something was refused or failed, 2 wrong usage, 3 no server answers."

app = typer.Typer(
    name="memoranda",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Memory for coding agents: cited, reviewed, current.",
    epilog=EXITS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
service.register(app)
memory.register(app)
look.register(app)
decide.register(app)


def main() -> None:
    """Runs the command line; every failure that is expected becomes a message and an exit code, never a traceback."""
    try:
        app()
    except Failure as failure:
        _tell(failure)
        sys.exit(failure.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # the reader of our output left: nothing more can be said, and Python must not try at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def _tell(failure: Failure) -> None:
    from memoranda_cli import console

    console.fail(failure)


if __name__ == "__main__":
    main()
