"""What only a signed-in person does: reviewing claims and resolving conflicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from memoranda_cli import ids
from memoranda_cli.commands.look import Claim
from memoranda_cli.options import Brain, Data, Json, Reason, Url

How = Literal["keep_one", "keep_both", "retract", "replace"]


def register(app: typer.Typer) -> None:
    """Adds the groups of commands."""
    reviews = typer.Typer(
        help="Decide about claims as a person ('memoranda sign-in --here' first).", no_args_is_help=True, rich_markup_mode=None
    )
    for verb, about in SIMPLE.items():
        reviews.command(verb, help=about)(_decision(verb))
    reviews.command("correct")(correct)
    app.add_typer(reviews, name="review")
    conflicts = typer.Typer(help="List claims that cannot both hold, and resolve them.", no_args_is_help=True, rich_markup_mode=None)
    conflicts.command("list")(conflicts_list)
    conflicts.command("resolve")(conflicts_resolve)
    app.add_typer(conflicts, name="conflicts")


SIMPLE = {
    "accept": "Accept a claim.",
    "reject": "Reject a claim. Its value stays rejected, whoever repeats it.",
    "withdraw": "Withdraw a claim that was accepted.",
    "restore": "Take a rejection or withdrawal back.",
    "pin": "Keep a claim at the top.",
    "unpin": "Let go of a pinned claim.",
    "erase": "Blank a claim's text for good. A ban on its value stays.",
}


def _decision(action: str) -> Callable[..., None]:
    def decide(claim: Claim, reason: Reason, data: Data = None, url: Url = None, brain: Brain = None, as_json: Json = False) -> None:
        from memoranda_cli import deciding

        deciding.review(claim, action, {"reason": reason}, data=data, url=url, brain=brain, as_json=as_json)

    return decide


def correct(
    claim: Claim,
    value: Annotated[str, typer.Argument(help="The right value.")],
    reason: Reason,
    statement: Annotated[str | None, typer.Option("--statement", help="The right sentence, where it has to change too.")] = None,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Give a claim its right value. The old one stays rejected, whoever repeats it."""
    from memoranda_cli import deciding

    body = {"reason": reason, "value": value, **({"statement": statement} if statement else {})}
    deciding.review(claim, "correct", body, data=data, url=url, brain=brain, as_json=as_json)


def conflicts_list(
    all_: Annotated[bool, typer.Option("--all", help="Those that were resolved, too.")] = False,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """List claims that contradict each other."""
    from memoranda_cli import deciding

    deciding.conflicts(everything=all_, data=data, url=url, brain=brain, as_json=as_json)


def conflicts_resolve(
    conflict: Annotated[str, typer.Argument(help="The conflict's id.", callback=ids.conflict)],
    how: Annotated[How, typer.Argument(help="What to do.")],
    reason: Reason,
    keep: Annotated[str | None, typer.Option("--keep", help="With keep_one: the claim that holds.", callback=ids.claim)] = None,
    value: Annotated[str | None, typer.Option("--value", help="With replace: the value that holds.")] = None,
    data: Data = None,
    url: Url = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Resolve a conflict. Who, why and when are kept."""
    from memoranda_cli import deciding

    body = {"how": how, "reason": reason, **({"keep": keep} if keep else {}), **({"value": value} if value else {})}
    deciding.resolve(conflict, body, data=data, url=url, brain=brain, as_json=as_json)
