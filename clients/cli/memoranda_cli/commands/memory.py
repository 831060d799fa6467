"""Taking in, asking, remembering."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from memoranda_cli.options import Area, Brain, Data, Environment, Json, Repository, Url

Mode = Literal["accepted", "operational", "investigation", "history"]
Kind = Literal["fact", "decision", "procedure", "preference", "handover", "recap", "note"]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("import")(import_)
    app.command()(recall)
    app.command()(remember)


def import_(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files and folders. Without any: ~/.claude/projects and ~/.codex/sessions.", show_default=False, metavar="[PATH]..."
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and import what is written from now on.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and mask, show what would be sent, and send nothing.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until everything is learned.")] = False,
    patience: Annotated[float, typer.Option("--patience", min=0, help="How long to wait for that, in seconds.")] = 600,
    repository: Repository = None,
    area: Area = None,
    environment: Environment = None,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Import sessions and documents. Secrets are masked before anything leaves this process; what is known already is not stored twice."""
    from memoranda_cli import intake
    from memoranda_cli.batches import Wanted
    from memoranda_cli.errors import Misused

    if "" in (paths or []):
        # as a path it would be the current folder, and nobody named that
        raise Misused("a path to import is empty", mend="name a file or a folder; '.' is the current folder")

    wanted = Wanted(repositories=tuple(repository or ()), areas=tuple(area or ()), environments=tuple(environment or ()))
    order = intake.Order(
        paths=[Path(path) for path in paths or []], wanted=wanted, dry_run=dry_run, patience=0 if no_wait else patience, as_json=as_json
    )
    raise typer.Exit(intake.run(order, data=data, url=url, brain=brain, watch=watch))


def recall(
    question: Annotated[str, typer.Argument(help="The question, in plain words.")],
    mode: Annotated[Mode, typer.Option("--mode", help="What is eligible.")] = "accepted",
    at: Annotated[str | None, typer.Option("--at", help="Knowledge time: as it was known then. A date, or a date and time.")] = None,
    when: Annotated[str | None, typer.Option("--when", help="Fact time: what held then. A date, or a date and time.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="At most so many items.")] = 10,
    repository: Repository = None,
    area: Area = None,
    environment: Environment = None,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Ask, and get claims with who said them, where, and what was left out and why."""
    from memoranda_cli import asking

    question_ = asking.Question(
        text=question, mode=mode, at=at, when=when, limit=limit, scope=asking.scope(repository, area, environment), as_json=as_json
    )
    asking.ask(question_, data=data, url=url, brain=brain)


def remember(
    subject: Annotated[str | None, typer.Argument(help="What it is about: billing-service.")] = None,
    predicate: Annotated[str | None, typer.Argument(help="Which property of it: port.")] = None,
    value: Annotated[str | None, typer.Argument(help="The value: 8080.")] = None,
    statement: Annotated[str | None, typer.Option("--statement", help="One sentence; alone, it is kept as a note.")] = None,
    kind: Annotated[Kind, typer.Option("--kind", help="What sort of claim it is.")] = "fact",
    denies: Annotated[bool, typer.Option("--not", help="Deny it: it is not this value.")] = False,
    many: Annotated[bool, typer.Option("--many", help="The property may have several values at once.")] = False,
    repository: Repository = None,
    area: Area = None,
    environment: Environment = None,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Propose a claim. A person accepts it with 'memoranda review accept'."""
    from memoranda_cli import asking, proposing

    proposal = proposing.Proposal(
        subject=subject,
        predicate=predicate,
        value=value,
        statement=statement,
        kind=kind,
        denies=denies,
        many=many,
        scope=asking.scope(repository, area, environment),
    )
    proposing.propose(proposal, data=data, url=url, brain=brain, as_json=as_json)
