"""Listings and single items: claims, sources, jobs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, cast

from memoranda_cli import console, render, target
from memoranda_cli.client import Client
from memoranda_cli.wire import Claim


def claims(
    subject: str | None,
    predicate: str | None,
    mode: str,
    limit: int,
    *,
    data: Path | None,
    url: str | None,
    brain: str | None,
    as_json: bool,
) -> None:
    """Lists the claims that the mode lets through."""
    with _reader(mode, data, url, brain) as client:
        page = client.get("claims", subject=subject, predicate=predicate, mode=mode, limit=min(limit, 200))
    if as_json:
        console.json(page)
        return
    out = console.out()
    shown = [claim for claim in cast("list[Claim]", page["items"]) if not claim["withheld"]]
    table = render.table("claim", "value", "standing", "said by", "=id")
    for each in shown:
        name = f"{each['subject']} · {each['predicate']}" if each["kind"] == "fact" else each["kind"]
        sign = "not " if each["polarity"] == "denies" else ""
        said = f"{sign}{each['value']}" if each["kind"] == "fact" else each["statement"]
        table.add_row(*map(_plain, (name, said, each["standing"], each["author_role"], each["claim_id"])))
    if shown:
        out.print(table)
    else:
        out.print("No claim may be shown. 'memoranda import' takes sessions in; '--mode investigation' shows proposals, too.")
    out.print(f"mode {mode}{'; there are more: --limit' if page.get('next') else ''}", style="dim")


def claim(claim_id: str, mode: str, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Shows one claim."""
    with _reader(mode, data, url, brain) as client:
        found = cast("Claim", client.get(f"claims/{claim_id}", mode=mode))
    if as_json:
        console.json(found)
        return
    out = console.out()
    render.claim(out, found, lines=20)


def history(claim_id: str, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Shows a claim's chain of revisions."""
    with _reader("history", data, url, brain) as client:
        found = client.get(f"claims/{claim_id}/history")
    if as_json:
        console.json(found)
    else:
        console.out().print(render.history(cast("list[Claim]", found["items"])))


def sources(limit: int, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Lists sources."""
    with Client(target.find(data, url, brain)) as client:
        found = list(islice(client.pages("sources", limit=min(limit, 200)), limit))
    if as_json:
        console.json({"items": found})
        return
    table = render.table("captured", "host", "title", ">events", ">chunks", "=id")
    for each in found:
        table.add_row(
            render.moment(each["recorded_at"]),
            render.host_name(each["host"]),
            _plain(_title(each)),
            str(each["events"]),
            str(each["chunks"]),
            each["id"],
        )
    console.out().print(table if found else "Nothing was captured yet. 'memoranda import' takes sessions in.")


def source(source_id: str, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Shows one source and its progress."""
    with Client(target.find(data, url, brain)) as client:
        found = client.get(f"sources/{source_id}") | {"progress": client.progress(source_id)}
    if as_json:
        console.json(found)
        return
    table = render.table("", "")
    table.show_header = False
    for name, value in _flat(found):
        table.add_row(name, _plain(value))
    console.out().print(table)


def erase_source(source_id: str, reason: str, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Erases a source as the person who is signed in here."""
    from memoranda_cli.deciding import as_person

    with as_person(data, url, brain) as client:
        done = client.delete(f"sources/{source_id}", reason=reason)
    if as_json:
        console.json(done)
    else:
        console.out().print(f"erased, and with it {done.get('erased_revisions', 0)} revisions that were made from it")


def jobs(state: str | None, lane: str | None, limit: int, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Lists jobs."""
    with Client(target.find(data, url, brain)) as client:
        found = client.get("jobs", state=state, lane=lane, limit=limit)
    if as_json:
        console.json(found)
        return
    out = console.out()
    out.print(", ".join(f"{count} {name}" for name, count in found["counts"].items() if count) or "no jobs yet")
    table = render.table("created", "kind", "state", ">attempts", "error", "=id")
    for each in found["items"]:
        attempts = str(each.get("attempts", ""))
        table.add_row(
            render.moment(each.get("created_at")), each["kind"], each["state"], attempts, _plain((each.get("error") or "")[:80]), each["id"]
        )
    if found["items"]:
        out.print(table)


def requeue(job: str, *, data: Path | None, url: str | None, brain: str | None, as_json: bool) -> None:
    """Gives a dead job its attempts back."""
    with Client(target.find(data, url, brain)) as client:
        done = client.write(f"jobs/{job}/requeue", {})
    if as_json:
        console.json(done)
    else:
        console.out().print("it will be tried again")


def _reader(mode: str, data: Path | None, url: str | None, brain: str | None) -> Client:
    """A client for reading: as the person who is signed in here where history is asked for."""
    found = target.find(data, url, brain)
    return Client(found, target.read_session(found) if mode == "history" else None)


def _title(source: dict[str, Any]) -> str:
    if source.get("erased_at"):
        return f"erased {render.moment(source['erased_at'])}"
    return str(source["title"] or source["external_id"] or source.get("withheld") or "")[:60]


def _plain(value: object) -> Any:
    """Text that rich does not read as mark-up."""
    from rich.text import Text

    return Text(str(value))


def _flat(value: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, each in value.items():
        if isinstance(each, dict):
            rows.extend(_flat(cast("dict[str, Any]", each), f"{prefix}{name}."))
        elif each not in (None, [], ""):
            rows.append((f"{prefix}{name}", ", ".join(map(str, cast("list[object]", each))) if isinstance(each, list) else str(each)))
    return rows
