"""The command ``remember``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoranda_cli import console, target
from memoranda_cli.errors import Misused

# a note needs a subject, too: its first words serve
WORDS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A claim as it came from the command line."""

    subject: str | None
    predicate: str | None
    value: str | None
    statement: str | None
    kind: str
    denies: bool
    many: bool
    scope: dict[str, list[str]] | None


def propose(proposal: Proposal, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Proposes a claim, and says how it came in."""
    from memoranda_cli.client import Client

    body = _body(proposal)
    with Client(target.find(data, url, brain)) as client:
        made = client.write("claims", body)
    if as_json:
        console.json(made)
        return
    out = console.out()
    out.print(f"{made['admission']}: {body['subject']} · {body['predicate']} = {body['value']}", markup=False)
    out.print(f"claim {made['claim_id']}", style="dim")
    if made.get("conflicts"):
        out.print("it contradicts another claim: see 'memoranda conflicts list'")
    if made["review"] == "proposed" and made["admission"] != "blocked_by_rule":
        out.print(f"a person accepts it with: memoranda review accept {made['claim_id']}", style="dim")


def _body(proposal: Proposal) -> dict[str, Any]:
    shared: dict[str, Any] = {"scope": proposal.scope} if proposal.scope else {}
    if proposal.subject and proposal.predicate and proposal.value:
        sign = "!=" if proposal.denies else "="
        evidence = proposal.statement or f"{proposal.subject}.{proposal.predicate} {sign} {proposal.value}"
        return shared | {
            "subject": proposal.subject,
            "predicate": proposal.predicate,
            "value": proposal.value,
            "kind": proposal.kind,
            "polarity": "denies" if proposal.denies else "affirms",
            "cardinality": "many" if proposal.many else "one",
            "evidence": evidence,
            **({"statement": proposal.statement} if proposal.statement else {}),
        }
    if proposal.statement and not (proposal.subject or proposal.predicate or proposal.value):
        about = " ".join(proposal.statement.split()[:WORDS])
        kind = "note" if proposal.kind == "fact" else proposal.kind
        return shared | {
            "subject": about,
            "predicate": kind,
            "value": proposal.statement,
            "statement": proposal.statement,
            "kind": kind,
            "cardinality": "many",
            "evidence": proposal.statement,
        }
    raise Misused(
        "say what to remember as SUBJECT PREDICATE VALUE, or as one sentence",
        mend="memoranda remember billing-service port 8080, or memoranda remember --statement 'We deploy on Tuesdays'",
    )
