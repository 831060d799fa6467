"""A service whose clock is wrong by ``WRONG_SECONDS``: run as ``python -m tests.flow.faults.wrong_clock``."""

from __future__ import annotations

import os
import shutil
import sys

from memoranda_up.children import MODULES


def main() -> None:
    """Starts the service again under libfaketime, which every clock of the process goes by."""
    seconds = int(os.environ["WRONG_SECONDS"])
    faketime = shutil.which("faketime")
    if faketime is None:
        sys.exit("faketime is not installed: apt-get install faketime")
    python = [sys.executable, "-m", MODULES[os.environ["WRONG_SERVICE"]]]
    # what is waited for by intervals must not be shifted: only what time it is
    os.execve(faketime, [faketime, "-m", "-f", f"{seconds:+d}s", *python], {**os.environ, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})


if __name__ == "__main__":
    main()
