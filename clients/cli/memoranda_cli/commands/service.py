"""Running Memoranda on this machine, and helping it into other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda_cli.options import Brain, Data, Json, Url


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(up)
    app.command()(cluster)
    app.command()(demo)
    app.command("sign-in")(sign_in)
    app.command()(doctor)
    app.command("mcp-config")(mcp_config)


def up(
    data: Data = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes any free one.")] = 7411,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    brain: Annotated[str, typer.Option("--brain", help="The brain to make at the first start, and to use.")] = "main",
    as_json: Json = False,
) -> None:
    """Start Memoranda on this machine, and keep it running until ctrl-C."""
    from memoranda_cli import running

    running.up(data=data, port=port, host=host, brain=brain, as_json=as_json)


def cluster(
    data: Data = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port of the API; 0 takes any free one.")] = 7411,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    brain: Annotated[str, typer.Option("--brain", help="The brain to make at the first start, and to use.")] = "main",
    as_json: Json = False,
) -> None:
    """Start every service in a process of its own, with a private RabbitMQ, until ctrl-C: the cluster's shape on this machine."""
    from memoranda_cli import running

    running.cluster(data=data, port=port, host=host, brain=brain, as_json=as_json)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data folder afterwards.")] = False,
    as_json: Json = False,
) -> None:
    """Show the life of a memory with the example sessions, on a private server that is gone afterwards."""
    from memoranda_cli.demo import show

    raise typer.Exit(show.run(keep=keep, as_json=as_json))


def sign_in(
    here: Annotated[bool, typer.Option("--here", help="Sign this terminal in, for the review commands.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make a fresh one-time sign-in link for the person whose profile runs on this machine."""
    from memoranda_cli import running

    running.sign_in(data=data, here=here, as_json=as_json)


def doctor(data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
    """Say what is wrong, and how to mend it. Exits with 1 where something is."""
    from memoranda_cli import doctor as examination

    raise typer.Exit(examination.run(data=data, url=url, brain=brain, as_json=as_json))


def mcp_config(
    client: Annotated[str, typer.Argument(help="claude, codex, cursor, or all.")] = "all",
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Print what makes Claude Code, Codex or Cursor use this memory."""
    from memoranda_cli import hosts, target

    hosts.show(client, target.find(data, url, brain), as_json=as_json)
