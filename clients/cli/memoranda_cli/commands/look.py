"""Looking at what there is: claims, sources, conflicts, jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda_cli import ids
from memoranda_cli.commands.memory import Mode
from memoranda_cli.options import Brain, Data, Json, Reason, Url

Claim = Annotated[str, typer.Argument(help="The claim's id.", callback=ids.claim)]
Source = Annotated[str, typer.Argument(help="The source's id.", callback=ids.source)]
Job = Annotated[str, typer.Argument(help="The job's id.", callback=ids.job)]
Limit = Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")]


def register(app: typer.Typer) -> None:
    """Adds the groups of commands."""
    for name, about, commands in (
        ("claims", "List claims, show one, or show its history.", {"list": claims_list, "show": claims_show, "history": claims_history}),
        ("sources", "List what was captured, show one, or erase it.", {"list": sources_list, "show": sources_show, "erase": sources_erase}),
        (
            "jobs",
            "List the work that waits, runs, is done or failed; give a failed job another try.",
            {"list": jobs_list, "requeue": jobs_requeue},
        ),
    ):
        group = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)
        for verb, command in commands.items():
            group.command(verb)(command)
        app.add_typer(group, name=name)


def claims_list(
    subject: Annotated[str | None, typer.Option("--subject", help="Only about this.")] = None,
    predicate: Annotated[str | None, typer.Option("--predicate", help="Only this property.")] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="What is eligible.")] = "accepted",
    limit: Limit = 50,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """List claims."""
    from memoranda_cli import looking

    looking.claims(subject, predicate, mode, limit, data=data, url=url, brain=brain, as_json=as_json)


def claims_show(
    claim: Claim,
    mode: Annotated[Mode, typer.Option("--mode", help="What is eligible.")] = "investigation",
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Show one claim with the lines it cites."""
    from memoranda_cli import looking

    looking.claim(claim, mode, data=data, url=url, brain=brain, as_json=as_json)


def claims_history(claim: Claim, data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
    """Show every revision of a claim: what, who, when and why. Needs a signed-in person, or a token that may read history."""
    from memoranda_cli import looking

    looking.history(claim, data=data, url=url, brain=brain, as_json=as_json)


def sources_list(limit: Limit = 50, data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
    """List captured sessions and documents, the newest first."""
    from memoranda_cli import looking

    looking.sources(limit, data=data, url=url, brain=brain, as_json=as_json)


def sources_show(source: Source, data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
    """Show one source and how far it has come."""
    from memoranda_cli import looking

    looking.source(source, data=data, url=url, brain=brain, as_json=as_json)


def sources_erase(
    source: Source,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Blank a source and everything that was made from it, for good. Only a signed-in person can."""
    from memoranda_cli import looking

    if not yes:
        typer.confirm("Its text is gone for good. Erase it?", abort=True)
    looking.erase_source(source, reason, data=data, url=url, brain=brain, as_json=as_json)


def jobs_list(
    state: Annotated[str | None, typer.Option("--state", help="ready, leased, done, dead or cancelled.")] = None,
    lane: Annotated[str | None, typer.Option("--lane", help="ingest or learn.")] = None,
    limit: Limit = 20,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """List jobs and count them by state."""
    from memoranda_cli import looking

    looking.jobs(state, lane, limit, data=data, url=url, brain=brain, as_json=as_json)


def jobs_requeue(job: Job, data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
    """Give a job that failed for good its attempts back."""
    from memoranda_cli import looking

    looking.requeue(job, data=data, url=url, brain=brain, as_json=as_json)
