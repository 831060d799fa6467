"""Decisions of the person who is signed in at this terminal."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from memoranda_cli import console, render, target
from memoranda_cli.client import Client
from memoranda_cli.errors import Failure
from memoranda_cli.wire import Claim


def as_person(data: Path | None, url: str | None, brain: str | None) -> Client:
    """A client in the session of the person who signed in here. Raises Failure where nobody did."""
    found = target.find(data, url, brain)
    session = target.read_session(found)
    if session is None:
        raise Failure("nobody is signed in at this terminal, and only a person can decide this", mend="memoranda sign-in --here")
    return Client(found, session)


def review(
    claim_id: str, action: str, body: dict[str, str], *, data: Path | None, url: str | None, brain: str | None, as_json: bool
) -> None:
    """Carries one decision about a claim out."""
    with as_person(data, url, brain) as client:
        done = client.write(f"claims/{claim_id}/review", {"action": action, **body})
    if as_json:
        console.json(done)
        return
    out = console.out()
    out.print(f"{action}: done", style="bold")
    if done.get("rule_id"):
        out.print("the old value stays rejected, whoever repeats it")
    out.print(f"memoranda claims history {claim_id}", style="dim")


def conflicts(*, everything: bool, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Lists conflicts, both sides of each."""
    with Client(target.find(data, url, brain)) as client:
        found = list(client.pages("conflicts", open=None if everything else "true"))
    if as_json:
        console.json({"items": found})
        return
    out = console.out()
    if not found:
        out.print("No conflict is open.")
    for each in found:
        state = f"resolved: {each['resolution']}" if each.get("closed_at") else "open"
        out.print(f"conflict {each['id']}  {state}", style="bold", markup=False)
        for side in ("left", "right"):
            if each.get(side):
                render.claim(out, cast("Claim", each[side]), lines=1)


def resolve(conflict: str, body: dict[str, str], *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Resolves a conflict."""
    with as_person(data, url, brain) as client:
        done = client.write(f"conflicts/{conflict}/resolution", body)
    if as_json:
        console.json(done)
    else:
        console.out().print("resolved")
