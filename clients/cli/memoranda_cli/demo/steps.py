"""The five steps, each through the REST API as any client would take it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import orjson
from rich.text import Text

from memoranda_cli import client as rest
from memoranda_cli import importing, render
from memoranda_cli.batches import Wanted
from memoranda_cli.demo.checks import Checks
from memoranda_cli.demo.server import Running
from memoranda_cli.errors import Failure
from memoranda_cli.target import Target
from memoranda_cli.wire import Claim, Recalled
from memoranda_up.place import Place

if TYPE_CHECKING:
    from rich.console import Console

QUESTION: Final = "Which port does billing-service use, and how often does it retry?"
OLD, NEW, OTHER_SPELLING = "8080", "9090", "8,080"
WHY_RIGHT: Final = "the port moved with the new ingress"
WHY_ACCEPTED: Final = "checked against the deployed configuration"
PATIENCE: Final = 30.0
SHOWN: Final = 3
# half of Amazon's documented example key: enough to find it, too little to look like one
SECRET: Final = "IOSFODNN7"  # noqa: S105  no secret


@dataclass(slots=True, kw_only=True)
class Stage:
    """What the steps share: the agent's client, the person's, and what earlier steps found."""

    console: Console
    checks: Checks
    agent: rest.Client
    person: rest.Client
    examples: Path
    port_claim: str = ""
    before: str = ""

    def heading(self, title: str) -> None:
        """Begins a step."""
        self.checks.step += 1
        self.console.print()
        self.console.print(Text(f"{self.checks.step}. {title}", "bold"))
        self.console.print()

    def say(self, text: str) -> None:
        """A sentence between the tables."""
        self.console.print(Text(f"  {text}"))


def stage(console: Console, checks: Checks, running: Running, examples: Path) -> Stage:
    """Opens the agent's client with its token, and the person's by redeeming the sign-in link as a browser does."""
    target = Target(url=running.url, brain=running.brain, token=running.token, place=Place(top=running.data), local=True)
    session = rest.redeem(target, running.sign_in)
    return Stage(console=console, checks=checks, agent=rest.Client(target), person=rest.Client(target, session), examples=examples)


def learn(stage: Stage) -> None:
    """Two sessions are imported."""
    stage.heading("Two sessions are imported, and what they state is learned")
    summary = _import(stage, stage.examples / "claude-code", stage.examples / "codex")
    claims = stage.agent.claims(mode="investigation", limit=100)
    _show_learned(stage, claims)
    checks = stage.checks
    checks.hold("two sessions came in, nothing was refused", summary.changes() == {"new": 2}, summary.changes())
    checks.hold("the access key in them was masked before it was sent", summary.masked().total() >= 1, dict(summary.masked()))
    checks.hold("every claim cites the line that states it", bool(claims) and all(map(_has_line, claims)), len(claims))
    port = _one(claims, "port", OLD)
    checks.hold(f"port {OLD} was learned, said by a person", port is not None and port["author_role"] == "person")
    stage.port_claim = port["claim_id"] if port else ""


def recall(stage: Stage) -> None:
    """The first answers."""
    stage.heading("Recall answers with citations, and says what it leaves out")
    accepted = stage.agent.recall(QUESTION)
    _show_answer(stage, accepted, "mode accepted")
    checks = stage.checks
    checks.hold("what a person stated is the answer", _one(accepted["accepted"], "port", OLD) is not None)
    authors = {claim["author_role"] for claim in accepted["accepted"]}
    checks.hold("nothing that an assistant or a tool said is in it", authors <= {"person", "document"}, authors)
    withheld = accepted["coverage"]["withheld"]
    checks.hold("the coverage counts what was withheld, and why", withheld.get("unreviewed", 0) > 0, withheld)
    wide = stage.agent.recall(QUESTION, mode="investigation")
    stage.console.print()
    _show_answer(stage, wide, "mode investigation")
    others = {claim["author_role"] for claim in wide["proposed"]} | {run["role"] for chunk in wide["evidence"] for run in chunk["runs"]}
    checks.hold("investigation shows what assistant and tool said, apart from it", {"assistant", "tool"} <= others, others)
    checks.hold("the masked key is in neither answer", SECRET not in _text(accepted) + _text(wide))


def decide(stage: Stage) -> None:
    """A person accepts and corrects."""
    stage.heading(f"A person accepts one claim and corrects another: {OLD} becomes {NEW}")
    retries = _one(stage.agent.claims(mode="investigation", limit=100), "retries", "5")
    if retries is None or not stage.port_claim:
        raise Failure("the claims that the person decides about are not there")
    refused = _refused_to_a_token(stage, retries["claim_id"])
    accepted = _review(stage, retries["claim_id"], {"action": "accept", "reason": WHY_ACCEPTED})
    stage.before = str(accepted["recorded_at"])
    corrected = _review(stage, stage.port_claim, {"action": "correct", "value": NEW, "reason": WHY_RIGHT})
    _line(stage, "accepts", Text(f"billing-service · retries is 5, because “{WHY_ACCEPTED}”"))
    _line(stage, "corrects", Text(f"billing-service · port is {NEW}, because “{WHY_RIGHT}”"))
    stage.console.print()
    answer = stage.agent.recall(QUESTION)
    _show_answer(stage, answer, "mode accepted")
    checks = stage.checks
    checks.hold("an agent's token was refused the same decision", refused)
    checks.hold("the accepted claim is in the answer", _one(answer["accepted"], "retries", "5") is not None)
    checks.hold(f"{NEW} is the port, accepted by the person", (_one(answer["accepted"], "port", NEW) or {}).get("reviewer") is not None)
    checks.hold(f"{OLD} is not in it", OLD not in _text(answer), "the old value")
    checks.hold("the correction left a rule", corrected.get("rule_id") is not None, corrected)


def repeat(stage: Stage) -> None:
    """The rejected value comes back."""
    stage.heading(f"A later session repeats the rejected value as {OTHER_SPELLING}")
    summary = _import(stage, stage.examples / "later")
    blocked = [claim for claim in stage.person.claims(mode="history", limit=100) if claim["admission"] == "blocked_by_rule"]
    for claim in blocked:
        _line(stage, "stored", Text.assemble(render.headline(claim), ("  blocked_by_rule", "red")))
    answer = stage.agent.recall(f"{QUESTION} Health check probe", mode="investigation")
    coverage = answer["coverage"]
    _line(stage, "coverage", Text(render.withheld(coverage["withheld"])))
    stage.console.print()
    checks = stage.checks
    checks.hold("the claim was stored as blocked_by_rule", summary.claims["blocked"] >= 1 and len(blocked) >= 1, dict(summary.claims))
    text = _text(answer)
    checks.hold("no answer shows the value, in either spelling, raw text included", OLD not in text and OTHER_SPELLING not in text)
    checks.hold(
        "the coverage says that text was withheld for repeating it", coverage["withheld"].get("repeats_rejected_value", 0) > 0, coverage
    )
    now = _one(stage.agent.recall(QUESTION)["accepted"], "port", NEW)
    checks.hold(f"the port is still {NEW}", now is not None)


def look_back(stage: Stage) -> None:
    """As of before, and the chain."""
    stage.heading("The same question as of before the correction, and the claim's history")
    then = stage.agent.recall(QUESTION, knowledge_time=stage.before)
    _show_answer(stage, then, f"as it was known at {render.moment(stage.before)}, just before the correction")
    found = stage.person.get(f"claims/{stage.port_claim}/history")
    chain = cast("list[Claim]", found["items"])
    stage.say("the history of billing-service · port, as the person reads it")
    stage.console.print()
    _indented(stage, render.history(chain))
    stage.console.print()
    checks = stage.checks
    checks.hold(f"the old answer was {OLD}", _one(then["accepted"], "port", OLD) is not None)
    checks.hold(f"and it did not know {NEW}", NEW not in _text(then))
    values = [claim["value"] for claim in chain]
    checks.hold(f"the history leads from {OLD} to {NEW}", values[:1] == [OLD] and values[-1:] == [NEW], values)
    last = chain[-1] if chain else None
    checks.hold("it says who corrected it, and why", last is not None and bool(last["reviewer"]) and last["reason"] == WHY_RIGHT, last)


STEPS: Final = (learn, recall, decide, repeat, look_back)


def _import(stage: Stage, *folders: Path) -> importing.Summary:
    from memoranda_capture import find

    files = [(path, path.stat().st_size) for path in find(folders)]
    started = time.monotonic()
    with stage.console.status("reading, masking and sending") as status:
        summary = importing.Summary()
        importing.import_files(stage.agent, files, Wanted(), lambda _path, _step: None, summary)
        status.update("learning")
        importing.wait(stage.agent, summary, seconds=PATIENCE, each=lambda: None)
    table = render.table("session", "title", ">events", ">secrets masked")
    for report in summary.files:
        table.add_row(render.host_name(report.host), Text(render.shortened(report.title, 40)), str(report.new), str(report.masked.total()))
    _indented(stage, table)
    took = time.monotonic() - started
    stage.say(f"{summary.total(lambda report: report.new)} events, {summary.chunks} chunks, {_claims(summary)}, in {took:.1f} s")
    stage.console.print()
    if summary.unsettled or summary.dead:
        raise Failure(f"{summary.unsettled} sources were not learned within {PATIENCE:.0f} s, {summary.dead} jobs are dead")
    return summary


def _claims(summary: importing.Summary) -> str:
    return ", ".join(f"{summary.claims[name]} claims {name}" for name in ("accepted", "proposed", "blocked"))


def _show_learned(stage: Stage, claims: list[Claim]) -> None:
    for claim in sorted(claims, key=lambda each: (each["author_role"] != "person", each["recorded_at"])):
        _show_claim(stage, claim["review"], claim)
    stage.console.print()


def _show_answer(stage: Stage, answer: Recalled, mode: str) -> None:
    stage.console.print(Text.assemble("  ", (f"“{QUESTION}”", "cyan")))
    stage.console.print(Text(f"  {mode}", "dim"))
    stage.console.print()
    for title, claims in (("accepted", answer["accepted"]), ("proposed", answer["proposed"])):
        for claim in claims[:SHOWN]:
            _show_claim(stage, title, claim)
        if len(claims) > SHOWN:
            stage.console.print(Text(f"{'':12}and {len(claims) - SHOWN} more", "dim"))
    for chunk in answer["evidence"][:SHOWN]:
        roles = ", ".join(dict.fromkeys(run["role"] for run in chunk["runs"]))
        _line(
            stage,
            "evidence",
            Text(f"{render.source_name(chunk['source'])}, lines {chunk['first_line']} to {chunk['last_line']}, by {roles}"),
        )
    _line(stage, "coverage", Text(render.withheld(answer["coverage"]["withheld"])))
    stage.console.print()


def _show_claim(stage: Stage, title: str, claim: Claim) -> None:
    _line(stage, title, render.headline(claim))
    for support in claim["supports"][:1]:
        _line(stage, "", render.cited(support, brief=True))


def _line(stage: Stage, title: str, text: Text) -> None:
    """One line of the demo, cut at the terminal's edge, so that a listing stays a listing."""
    stage.console.print(Text.assemble(f"  {title:<10}", text), no_wrap=True, overflow="ellipsis", crop=True)


def _indented(stage: Stage, what: Any) -> None:
    from rich.padding import Padding

    stage.console.print(Padding(what, (0, 0, 0, 2), expand=False))


def _review(stage: Stage, claim: str, body: dict[str, str]) -> dict[str, Any]:
    return stage.person.write(f"claims/{claim}/review", body)


def _refused_to_a_token(stage: Stage, claim: str) -> bool:
    from memoranda_cli.errors import Problem

    try:
        stage.agent.write(f"claims/{claim}/review", {"action": "accept", "reason": "an agent tries"})
    except Problem as problem:
        return problem.status == 403
    return False


def _one(claims: list[Claim], predicate: str, value: str) -> Claim | None:
    return next((claim for claim in claims if (claim["predicate"], claim["value"]) == (predicate, value)), None)


def _has_line(claim: Claim) -> bool:
    return any(support["excerpt"] for support in claim["supports"])


def _text(answer: Recalled) -> str:
    """Everything that an answer shows, without the ids and times, whose digits may be anything."""
    shown = [
        [claim["value"], claim["statement"], [each["excerpt"] for each in claim["supports"]]]
        for claim in answer["accepted"] + answer["proposed"]
    ]
    return orjson.dumps([shown, [chunk["text"] for chunk in answer["evidence"]]]).decode()
