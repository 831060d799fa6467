"""What makes an agent host use a memory: the exact command or file for each."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Final

from memoranda_cli import console
from memoranda_cli.errors import Failure, Misused
from memoranda_cli.target import Target

NAME: Final = "memoranda"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One host: a command to run, or text to put into a file."""

    host: str
    how: str
    text: str


def show(client: str, target: Target, *, as_json: bool) -> None:
    """Prints the set-up of one host or of all; what is not to be copied goes to standard error. Raises Misused for an unknown host."""
    known = setups(target)
    if client != "all" and client not in known:
        raise Misused(f"'{client}' is no host that is known here", mend=f"choose one of {', '.join(known)}, or all")
    chosen = [setup for name, setup in known.items() if client in ("all", name)]
    if as_json:
        console.json([{"host": setup.host, "how": setup.how, "text": setup.text} for setup in chosen])
        return
    err = console.err()
    for setup in chosen:
        err.print(f"{setup.host}: {setup.how}", style="bold", markup=False, soft_wrap=True)
        print(setup.text, flush=True)
        err.print()


def setups(target: Target) -> dict[str, Setup]:
    """The set-up of each host. Raises Failure without a token."""
    if not target.token:
        raise Failure(f"no token for the brain '{target.brain}' is known here", mend="set MEMORANDA_TOKEN")
    url = f"{target.url}/mcp/{target.brain}"
    bearer = f"Bearer {target.token}"
    server = {"url": url, "headers": {"Authorization": bearer}}
    claude = shlex.join(
        ["claude", "mcp", "add", "--transport", "http", "--scope", "user", NAME, url, "--header", f"Authorization: {bearer}"]
    )
    claude_file = json.dumps({"mcpServers": {NAME: {"type": "http", **server}}}, indent=2)
    cursor_file = json.dumps({"mcpServers": {NAME: server}}, indent=2)
    codex = f'[mcp_servers.{NAME}]\nurl = "{url}"\nhttp_headers = {{ Authorization = "{bearer}" }}'
    return {
        "claude": Setup(host="Claude Code", how="run this once", text=claude),
        "claude-file": Setup(
            host="Claude Code, for one project", how="or put this into .mcp.json (keep it out of git: it holds the token)", text=claude_file
        ),
        "codex": Setup(host="Codex", how="add this to ~/.codex/config.toml", text=codex),
        "cursor": Setup(host="Cursor", how="put this into ~/.cursor/mcp.json", text=cursor_file),
    }
