"""What ends a command before its purpose, and the exit code that each stands for.

Failure
├── Problem        the server answered with a problem document        exit 1
├── Misused        the command line itself makes no sense             exit 2
├── Unreachable    nothing answers at the address                     exit 3
└── Interrupted    ctrl-C ended it on the way                         exit 130
"""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130


class Failure(Exception):
    """The root. ``mend`` says what to do next; the outermost loop prints both and exits with ``exit_code``.

    ``code`` is stable, for programs.
    """

    exit_code = FAILED
    code = "failed"

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend


class Problem(Failure):
    """Raised for a problem document (RFC 9457). ``code`` is stable; ``field`` names what is wrong in the payload, or is empty."""

    def __init__(self, detail: str, *, status: int, code: str, field: str = "", mend: str = "", retry_after: float | None = None) -> None:
        super().__init__(f"{detail} ({field})" if field else detail, mend=mend)
        self.status = status
        self.code = code
        self.field = field
        self.retry_after = retry_after


class Misused(Failure):
    """Raised where options or arguments contradict each other or cannot be read."""

    exit_code = MISUSED
    code = "usage"


class Unreachable(Failure):
    """Raised where no Memoranda answers, or none is known."""

    exit_code = UNREACHABLE
    code = "unreachable"


class Interrupted(Failure):
    """Raised where ctrl-C ended what had come some way."""

    exit_code = INTERRUPTED
    code = "interrupted"
