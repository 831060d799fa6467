"""The commands ``up`` and ``sign-in``: the embedded profile as its owner sees it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda.errors import Busy, Misconfigured
from memoranda_cli import target
from memoranda_cli.errors import Failure, Unreachable
from memoranda_up import place

if TYPE_CHECKING:
    from memoranda_up.cluster import Cluster
    from memoranda_up.home import Ready

# set by agents in the shells that they open
AGENTS: Final = ("CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI")
BOLD: Final = "\033[1m"
DIM: Final = "\033[2m"
PLAIN: Final = "\033[0m"


def up(*, data: Path | None, port: int, host: str, brain: str, as_json: bool) -> None:
    """Runs the embedded profile until ctrl-C. Raises Failure where it cannot start, or where Postgres went away."""
    from memoranda_up import profile
    from memoranda_up.home import Options

    def ready(told: Ready) -> None:
        _print_json(told) if as_json else _print(told)

    with _running(as_json=as_json) as report:
        profile.run(Options(data=data, host=host, port=port, brain=brain), ready=ready, report=report)


def cluster(*, data: Path | None, port: int, host: str, brain: str, as_json: bool) -> None:
    """Runs every service in a process of its own until ctrl-C. Raises Failure where it cannot start."""
    from memoranda_up import cluster as machine
    from memoranda_up.home import Options

    def ready(told: Cluster) -> None:
        _print_cluster(told, as_json=as_json)

    with _running(as_json=as_json) as report:
        machine.run(Options(data=data, host=host, port=port, brain=brain), ready=ready, report=report)


@contextmanager
def _running(*, as_json: bool) -> Generator[Callable[[str], None]]:
    def report(step: str) -> None:
        if not as_json and sys.stderr.isatty():
            print(f"{DIM}{step} …{PLAIN}", file=sys.stderr, flush=True)

    try:
        yield report
    except (Misconfigured, Busy) as exc:
        raise Failure(exc.message, mend=exc.mend) from exc
    if not as_json and sys.stderr.isatty():
        print("stopped; the memory is kept", file=sys.stderr)


def sign_in(*, data: Path | None, here: bool, as_json: bool) -> None:
    """Asks the running profile for a one-time link, and prints it or, with ``here``, uses it for this terminal."""
    found = target.find(data, None, None)
    link = ask_link(found)
    if not here:
        if as_json:
            from memoranda_cli import console

            console.json(link)
        else:
            print(link["url"])
            if sys.stdout.isatty():
                print(f"{DIM}signs {link['person']} in, once, within {link['minutes']} minutes{PLAIN}")
        return
    _refuse_an_agent()
    from memoranda_cli import client

    session = client.redeem(found, str(link["url"]))
    target.keep_session(found.place, session)
    print(f"signed in as {session.name}; 'memoranda review' decides in this name until the session ends")


def ask_link(found: target.Target) -> dict[str, str]:
    """A fresh one-time link. Only who may enter the data folder gets one. Raises Unreachable where no profile runs."""
    from memoranda_up import control

    known = target.credentials(found.place)
    try:
        return control.ask(Path(known.control) if known and known.control else found.place.control, "sign-in")
    except Busy as exc:
        raise Unreachable(exc.message, mend=exc.mend) from exc
    except Misconfigured as exc:
        raise Failure(exc.message, mend="see memoranda.log in the data folder") from exc


def _refuse_an_agent() -> None:
    """A review in a person's name is worth something only if a person makes it.

    This is a reminder and no wall: whoever runs commands as this user may do what this user may do.
    """
    if not sys.stdin.isatty():
        raise Failure(
            "signing in here is for a person at a terminal, and this is none",
            mend="run it in a terminal, or open the link that 'sign-in' prints",
        )
    if agent := next((name for name in AGENTS if os.environ.get(name)), None):
        raise Failure(f"an agent runs this terminal ({agent} is set), and only a person signs in", mend="run it in a terminal of your own")


def command() -> str:
    """How this command line is called here: by its name, or by its path where that is not on PATH."""
    there = shutil.which("memoranda")
    mine = Path(sys.argv[0]).absolute()
    if there and mine.name == "memoranda" and Path(there).samefile(mine):
        return "memoranda"
    if mine.name != "memoranda":
        return "memoranda"
    here = Path.cwd()
    return str(mine.relative_to(here)) if mine.is_relative_to(here) else str(mine)


def _print_json(ready: Ready) -> None:
    from memoranda_cli import console

    console.json(asdict(ready))
    sys.stdout.flush()


def _print(ready: Ready) -> None:
    bold, dim, plain = (BOLD, DIM, PLAIN) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ("", "", "")
    name = command()
    lines = [
        "",
        f"{bold}Memoranda is running.{plain}",
        "",
        f"  REST      {ready.url}",
        f"  MCP       {ready.mcp}",
        f"  token     {ready.token}",
        f"  sign in   {ready.sign_in}",
        f"            {dim}signs {ready.person} in, once, within 15 minutes{plain}",
        f"  data      {ready.data}",
        "",
        "Next, in another terminal:",
        *([] if ready.data == place.of(None).top else [f"  export MEMORANDA_DATA={shlex.quote(str(ready.data))}"]),
        f"  {name} import            {dim}your Claude Code and Codex sessions{plain}",
        f'  {name} recall "…"        {dim}ask{plain}',
        f"  {name} mcp-config        {dim}let your agents ask{plain}",
        f"  {name} sign-in           {dim}another sign-in link{plain}",
        "",
        f"{dim}ctrl-C stops it; the memory is kept.{plain}",
    ]
    print("\n".join(lines), flush=True)


def _print_cluster(cluster: Cluster, *, as_json: bool) -> None:
    if as_json:
        from memoranda_cli import console

        console.json(asdict(cluster))
        sys.stdout.flush()
        return
    _print(cluster.ready)
    dim, plain = (DIM, PLAIN) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    broker = cluster.broker.rpartition("@")[2]
    folder = cluster.services[0].log.parent
    lines = [
        f"Each service is a process of its own; RabbitMQ answers at {broker}.",
        "",
        *(f"  {each.name:<9} process {each.pid:<8} ready? {each.health}" for each in cluster.services),
        "",
        f"{dim}Their logs are in {folder}. One that is killed is started again: try 'kill -9' on any of them.{plain}",
    ]
    print("\n".join(lines), flush=True)
