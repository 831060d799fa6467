"""How claims, evidence and coverage look on a terminal. Recalled text is shown as it is and never read as mark-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memoranda_cli.wire import Claim, Coverage, Evidence, Recalled, Source, Support

if TYPE_CHECKING:
    from rich.console import Console

EXCERPT: Final = 240
TITLE: Final = 32
HOSTS: Final = {"claude_code": "Claude Code", "codex": "Codex", "memoranda": "Memoranda"}
EVIDENCE_LINES: Final = 8
AUTHORS: Final = {"person": "green", "document": "cyan", "tool": "yellow", "assistant": "magenta"}


def answer(console: Console, recalled: Recalled) -> None:
    """A whole answer: accepted, proposed and raw evidence apart, then the coverage."""
    if not (recalled["accepted"] or recalled["proposed"] or recalled["evidence"]):
        console.print("Nothing that may be shown answers this.")
    section(console, "Accepted", recalled["accepted"])
    section(console, "Not accepted: proposals and disputed claims", recalled["proposed"])
    if recalled["evidence"]:
        console.print(Text("Evidence: what was said, word for word", "bold"))
        for chunk in recalled["evidence"]:
            evidence(console, chunk)
    console.print(coverage(recalled["coverage"]))


def section(console: Console, title: str, claims: Iterable[Claim]) -> None:
    """Claims under a heading; nothing where there are none."""
    shown = list(claims)
    if shown:
        console.print(Text(title, "bold"))
        for found in shown:
            claim(console, found)
        console.print()


def claim(console: Console, shown: Claim, *, lines: int = 3) -> None:
    """A claim, its standing, and the lines that it cites."""
    console.print(Padding(headline(shown), (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(standing(shown), "dim"), (0, 0, 0, 4), expand=False))
    for support in shown["supports"][:lines]:
        console.print(Padding(cited(support), (0, 0, 0, 4), expand=False))
    more = len(shown["supports"]) - lines
    if more > 0:
        console.print(Padding(Text(f"and {more} more", "dim"), (0, 0, 0, 4), expand=False))


def headline(shown: Claim) -> Text:
    """Subject, predicate and value in one line; the sentence instead, where the claim is one."""
    if shown["withheld"]:
        return Text(f"withheld: {shown['withheld']}", "dim")
    sign = "is not" if shown["polarity"] == "denies" else "is"
    if shown["kind"] != "fact" and shown["statement"]:
        return Text.assemble((f"{shown['kind']}: ", "bold"), shown["statement"])
    return Text.assemble((f"{shown['subject']} · {shown['predicate']} ", "bold"), f"{sign} ", (str(shown["value"]), "bold cyan"))


def standing(shown: Claim) -> str:
    """Who stands for the claim, and under which id it can be named."""
    by = f"accepted by {shown['reviewer']}" if shown["reviewer"] and shown["review"] == "accepted" else ""
    by = by or (f"accepted by the policy {shown['acceptance_policy']}" if shown["acceptance_policy"] else "")
    by = by or (shown["admission"] if shown["admission"] not in ("proposed", "reviewed") else shown["review"])
    why = f", “{shown['reason']}”" if shown["reason"] else ""
    return f"{by}{why} · recorded {moment(shown['recorded_at'])} · claim {shown['claim_id']}"


def cited(support: Support, *, brief: bool = False) -> Text:
    """A cited line with its author, its time and its place; the brief form fits one line and begins with author and place."""
    if support["withheld"] or support["excerpt"] is None:
        return Text(f"a line that is withheld: {support['withheld'] or 'not retained'}", "dim")
    words = " ".join(support["excerpt"].split())
    words = shortened(words, EXCERPT)
    author = (support["role"], AUTHORS.get(support["role"], ""))
    found = support.get("source")
    if brief:
        host = _origin(found) if found else "memory"
        return Text.assemble(author, (f", {host} line {support['first_line']}: ", "dim"), f"“{words}”")
    said = f", {moment(support['said_at'])}" if support["said_at"] else ""
    where = f", {source_name(found)} line {support['first_line']}" if found else ""
    return Text.assemble(f"“{words}” ", author, (f"{said}{where}", "dim"))


def source_name(source: Mapping[str, Any]) -> str:
    """A short name of a source: its host and the beginning of its title."""
    host = host_name(str(source.get("host") or ""))
    title = str(source.get("title") or "")
    return f"{host} “{shortened(title, TITLE)}”" if title else host


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; where something was cut, it shows."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _origin(source: Source) -> str:
    return source["kind"] if source["kind"] in ("review", "contribution") else host_name(source["host"])


def host_name(host: str) -> str:
    """What people call a host."""
    return HOSTS.get(host, host.replace("_", " "))


def evidence(console: Console, chunk: Evidence) -> None:
    """A raw chunk, each line with its author."""
    console.print(
        Padding(
            Text(f"{source_name(chunk['source'])}, lines {chunk['first_line']} to {chunk['last_line']}", "dim"), (0, 0, 0, 2), expand=False
        )
    )
    lines = chunk["text"].split("\n")
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for place, line in enumerate(lines[:EVIDENCE_LINES]):
        role = _author(chunk, chunk["first_line"] + place)
        table.add_row(Text(role, AUTHORS.get(role, "")), Text(shortened(line, EXCERPT)))
    if len(lines) > EVIDENCE_LINES:
        table.add_row("", Text(f"{len(lines) - EVIDENCE_LINES} more lines", "dim"))
    console.print(Padding(table, (0, 0, 1, 4), expand=False))


def _author(chunk: Evidence, line: int) -> str:
    return next((run["role"] for run in reversed(chunk["runs"]) if run["line"] <= line), "")


def coverage(found: Coverage) -> Text:
    """In one line what was left out and why, and how it was looked for."""
    cut = ", cut to the limit" if found["truncated"] else ""
    return Text(f"{withheld(found['withheld'])} · mode {found['mode']} · {' + '.join(found['channels'])}{cut}", "dim")


def withheld(reasons: Mapping[str, int]) -> str:
    """'3 withheld: 2 unreviewed, 1 blocked_by_rule'."""
    if not reasons:
        return "nothing withheld"
    parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1]))
    return f"{sum(reasons.values())} withheld: {parts}"


def moment(text: str | None) -> str:
    """A time in the local zone, to the minute."""
    if not text:
        return "no time"
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")


def table(*headings: str) -> Table:
    """A quiet table. A heading that begins with > is for numbers, one that begins with = for ids, which are never broken."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        number, whole = heading.startswith(">"), heading.startswith("=")
        made.add_column(heading.lstrip(">="), justify="right" if number else "left", overflow="fold", no_wrap=whole)
    return made


def history(revisions: Iterable[Claim]) -> Table:
    """A claim's chain: what, who, when and why."""
    made = table(">#", "recorded", "value", "standing", "by", "why")
    for each in revisions:
        by = each["reviewer"] or (f"policy {each['acceptance_policy']}" if each["acceptance_policy"] else each["writer"] or each["origin"])
        made.add_row(
            str(each["ordinal"]),
            moment(each["recorded_at"]),
            Text(each["value"] or f"({each['withheld']})"),
            _state(each),
            Text(by),
            Text(each["reason"] or ""),
        )
    return made


def _state(each: Claim) -> str:
    words = [each["admission"] if each["admission"] == "blocked_by_rule" else each["review"]]
    if each["lifecycle"] != "active":
        words.append(each["lifecycle"])
    if each["freshness"] != "current":
        words.append(each["freshness"])
    return ", ".join(words)
