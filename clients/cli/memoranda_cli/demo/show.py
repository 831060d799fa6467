"""The command ``demo``."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda_cli import console
from memoranda_cli.demo import server, steps
from memoranda_cli.demo.checks import Checks
from memoranda_cli.errors import DONE, FAILED, Failure

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES: Final = Path(__file__).resolve().parents[4] / "examples"


def run(*, keep: bool, as_json: bool) -> int:
    """Shows all steps and returns 0 only if each came out as it should."""
    if not (EXAMPLES / "claude-code").is_dir():
        raise Failure(f"the example sessions are not at {EXAMPLES}", mend="run the demo in a checkout of the repository: make demo")
    started = time.monotonic()
    out = _quiet() if as_json else console.out()
    checks = Checks(out)
    with ExitStack() as parts:
        with out.status("starting a private Memoranda in a temporary folder"):
            running = parts.enter_context(server.running(keep=keep))
        out.print(f"A private Memoranda runs in {running.data}, and is gone afterwards.", style="dim", soft_wrap=True)
        stage = steps.stage(out, checks, running, EXAMPLES)
        with stage.agent, stage.person:
            for step in steps.STEPS:
                step(stage)
    return _end(out, checks, running.data if keep else None, seconds=time.monotonic() - started, as_json=as_json)


def _end(out: Console, checks: Checks, kept: Path | None, *, seconds: float, as_json: bool) -> int:
    failed = checks.failed()
    if as_json:
        console.json({"ok": not failed, "seconds": round(seconds, 1), "checks": [asdict(check) for check in checks.made], "kept": kept})
        return FAILED if failed else DONE
    out.print()
    if failed:
        out.print(f"{len(failed)} of {len(checks.made)} checks failed:", style="bold red")
        for check in failed:
            out.print(f"  step {check.step}: {check.what}", markup=False)
    else:
        out.print(f"All {len(checks.made)} checks hold, in {seconds:.1f} s.", style="bold green")
    if kept:
        out.print(f"kept: memoranda up --data {kept}", markup=False)
    elif not failed:
        out.print("Next: 'make up' keeps a Memoranda running for your own sessions.", style="dim")
    return FAILED if failed else DONE


def _quiet() -> Console:
    from rich.console import Console

    return Console(quiet=True)
