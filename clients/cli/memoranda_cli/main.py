"""The command ``memoranda``.

Exit codes: 0 all went well; 1 something was refused, failed or is wrong; 2 the command line makes no sense; 3 no server answers.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final, cast

import typer

from memoranda_cli.commands import decide, look, memory, service
from memoranda_cli.errors import DONE, FAILED, Failure, Misused

EXITS = "Exit codes: 0 done, 1 something was refused or failed, 2 wrong usage, 3 no server answers."

# every error that the parser of the command line raises; its own name for them is not public
USAGE: Final = cast("type[Exception]", typer.BadParameter.__mro__[2])

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


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"memoranda {version('memoranda')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Memory for coding agents: cited, reviewed, current."""
    del version


def main() -> None:
    """Runs the command line; every failure that is expected becomes a message and an exit code, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except Failure as failure:
        _tell(failure)
        sys.exit(failure.exit_code)
    except typer.Abort:
        _tell(Failure("it was not confirmed or not answered, and nothing was done"))
        sys.exit(FAILED)
    except USAGE as wrong:
        sys.exit(_misused(cast("typer.BadParameter", wrong)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # the reader of our output left: nothing more can be said, and Python must not try at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    else:
        sys.exit(code if isinstance(code, int) else DONE)


def _misused(wrong: typer.BadParameter) -> int:
    """Says what is wrong with the command line, and returns the exit code."""
    if _wants_json():
        _tell(Misused(wrong.format_message(), mend="the option --help lists what there is"))
    else:
        wrong.show()
    return wrong.exit_code


def _tell(failure: Failure) -> None:
    from memoranda_cli import console

    if _wants_json():
        console.json({"error": {"code": failure.code, "message": failure.message, "mend": failure.mend}})
    else:
        console.fail(failure)


def _wants_json() -> bool:
    """Asked of the words themselves, since an error may come before they are understood."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)


if __name__ == "__main__":
    main()
