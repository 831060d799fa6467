"""The command ``import``: which files, the progress bar, and the summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda_capture import find
from memoranda_cli import console, target
from memoranda_cli.batches import Wanted
from memoranda_cli.errors import DONE, FAILED, Failure, Interrupted
from memoranda_cli.importing import USUAL, Bar, FileReport, Summary, import_files, wait

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

    from memoranda_cli.client import Client

DEFAULT: Final = ("~/.claude/projects", "~/.codex/sessions")
FILES_SHOWN: Final = 10
NOTICES_SHOWN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be imported, and how. ``patience`` is how long to wait for the learner, in seconds."""

    paths: list[Path]
    wanted: Wanted
    dry_run: bool
    patience: float
    as_json: bool
    brief: bool = False


def run(order: Order, *, data: Path | None, url: str | None, brain: str | None, watch: bool) -> int:
    """Imports, says what came of it, and goes on watching if that was asked for. Returns the exit code."""
    roots = _roots(order.paths)
    files = [(path, _size(path)) for path in find(roots)]
    if not files and not watch:
        raise Failure(
            f"no session and no document was found in {_named(roots)}", mend="name a file, or a folder that holds .jsonl or .md files"
        )
    if order.dry_run:
        return _once(None, order, files)
    from memoranda_cli import watching
    from memoranda_cli.client import Client

    # taken before the reading, so that what is written meanwhile counts as changed
    known = watching.stamps(path for path, _ in files)
    with Client(target.find(data, url, brain)) as client:
        code = _once(client, order, files) if files else DONE
        if watch:
            brief = replace(order, brief=True)
            watching.follow(roots, known, lambda some: _once(client, brief, some), quiet=order.as_json)
    return code


def _once(client: Client | None, order: Order, files: list[tuple[Path, int]]) -> int:
    started = time.monotonic()
    summary = _import(client, order, files)
    code = _exit_code(summary, {path.resolve() for path in order.paths if not path.is_dir()})
    if order.as_json:
        console.json(as_json(summary, seconds=time.monotonic() - started, dry_run=order.dry_run))
    elif order.brief:
        _show_briefly(console.out(), summary)
    else:
        show(console.out(), summary, seconds=time.monotonic() - started, dry_run=order.dry_run)
    return code


def _import(client: Client | None, order: Order, files: list[tuple[Path, int]]) -> Summary:
    summary = Summary()
    try:
        _take(client, order, files, summary)
    except KeyboardInterrupt as exc:
        raise _interrupted(summary, len(files), sent=client is not None) from exc
    return summary


def _interrupted(summary: Summary, files: int, *, sent: bool) -> Interrupted:
    """How far an import came that ctrl-C ended."""
    stored = f", and {summary.total(lambda report: report.new)} new events were stored" if sent else ""
    return Interrupted(
        f"stopped at file {len(summary.files)} of {files}{stored}",
        mend="run it again: it goes on, and stores nothing twice" if sent else "",
    )


def _take(client: Client | None, order: Order, files: list[tuple[Path, int]], summary: Summary) -> None:
    with _progress(quiet=order.as_json) as progress:
        with _bar(progress, "reading", sum(size for _, size in files)) as move:
            import_files(client, files, order.wanted, move, summary)
        if client is not None and order.patience > 0 and summary.sources():
            task = progress.add_task("learning", total=len(summary.sources()), file="")
            wait(client, summary, seconds=order.patience, each=lambda: progress.advance(task))


def _roots(paths: list[Path]) -> list[Path]:
    """What was named, else the folders where agents keep their sessions. Raises Failure where there is nothing to read."""
    if paths:
        return [path.expanduser() for path in paths]
    known = [Path(path).expanduser() for path in DEFAULT]
    there = [path for path in known if path.is_dir()]
    if not there:
        raise Failure(f"neither {known[0]} nor {known[1]} is there", mend="name the files or folders to import: memoranda import PATH...")
    return there


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _exit_code(summary: Summary, named: set[Path]) -> int:
    """A file that was found in a folder and is no session is normal there; one that was named is not, and nothing at all is neither."""
    refused = [report for report in summary.files if report.refusal and not report.erased]
    nothing = bool(refused) and len(refused) == len(summary.files)
    bad = nothing or any(report.path.resolve() in named or report.events for report in refused)
    return FAILED if bad or summary.dead else DONE


@contextmanager
def _progress(*, quiet: bool) -> Generator[RichProgress]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    err = console.err()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[file]}", markup=False),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as progress:
        yield progress


@contextmanager
def _bar(progress: RichProgress, what: str, total: int) -> Generator[Bar]:
    task = progress.add_task(what, total=total, file="")

    def move(path: Path, step: int) -> None:
        progress.update(task, advance=step, file=path.name[-40:])

    yield move
    progress.update(task, completed=total, file="")


def show(out: Console, summary: Summary, *, seconds: float, dry_run: bool) -> None:
    """The summary as a table, then what was refused and what was odd, each with its place."""
    from rich.text import Text

    from memoranda_cli import render

    changes = summary.changes()
    table = render.table("", "")
    sessions = ", ".join(f"{changes[kind]} {kind}" for kind in ("new", "longer", "unchanged") if changes[kind]) or "none"
    table.add_row("files", f"{len(summary.files)} ({_bytes(summary.total(lambda report: report.size))}, {seconds:.1f} s)")
    if dry_run:
        table.add_row("would send", f"{summary.total(lambda report: report.events)} events")
    else:
        table.add_row("sources", sessions)
        new, known = summary.total(lambda report: report.new), summary.total(lambda report: report.duplicate)
        differing = summary.total(lambda report: report.differing)
        extra = f", {differing} with a known key and other content (not stored)" if differing else ""
        table.add_row("events", f"{new} new, {known} known already{extra}")
    masked = summary.masked()
    kinds = f" ({', '.join(f'{count} {kind}' for kind, count in masked.most_common())})" if masked else ""
    table.add_row("secrets", f"{masked.total()} masked{kinds}")
    if summary.waited:
        table.add_row("chunks", str(summary.chunks))
        table.add_row("claims", _claims(summary))
    notices = sum((report.notice_counts for report in summary.files), Counter[str]())
    if notices:
        table.add_row("notices", ", ".join(f"{count} {code}" for code, count in notices.most_common()))
    table.show_header = False
    out.print(table)
    for line in _remarks(summary):
        out.print(Text(line), soft_wrap=True)


def _show_briefly(out: Console, summary: Summary) -> None:
    """A line for each file that something new was in; what was refused or odd is shown as ever."""
    from rich.text import Text

    now = time.strftime("%H:%M:%S")
    for report in summary.files:
        if report.new:
            out.print(Text(f"{now}  {report.path.name}: {report.new} new events"), soft_wrap=True)
    for line in _remarks(summary):
        out.print(Text(f"{now}  {line}"), soft_wrap=True)


def _claims(summary: Summary) -> str:
    claims = summary.claims
    more = [f"{claims[name]} {words}" for name, words in (("replaced", "replaced"), ("added_support", "supports added")) if claims[name]]
    parts = [f"{claims[name]} {name}" for name in ("accepted", "proposed", "blocked")]
    return f"{claims['learned']} learned: {', '.join(parts + more)}"


def _remarks(summary: Summary) -> Iterator[str]:
    if erased := summary.changes()["erased"]:
        yield f"erased   {erased} {'source was' if erased == 1 else 'sources were'} erased before, and passed over"
    refused = [report for report in summary.files if report.refusal and not report.erased]
    for report in refused[:FILES_SHOWN]:
        yield f"refused  {report.path}: {report.refusal}"
    if len(refused) > FILES_SHOWN:
        yield f"refused  {len(refused) - FILES_SHOWN} more files (--json lists them)"
    yield from _oddities(summary)
    if summary.unsettled:
        yield f"waiting  {summary.unsettled} sources are still being learned; 'memoranda jobs list' shows how far"
    if summary.dead:
        yield f"failed   {summary.dead} jobs failed for good; 'memoranda jobs list --state dead' says why"


def _oddities(summary: Summary) -> Iterator[str]:
    """Notices that somebody should see, one line each; what is usually left out of a session is only counted."""
    odd = [(report, notice) for report in summary.files for notice in report.notices if notice.code not in USUAL]
    for report, notice in odd[:NOTICES_SHOWN]:
        yield f"{'kept' if notice.kept else 'skipped':<8} {report.path}:{notice.line}: {notice.message}"
    total = sum(count for report in summary.files for code, count in report.notice_counts.items() if code not in USUAL)
    if total > min(len(odd), NOTICES_SHOWN):
        yield f"and {total - min(len(odd), NOTICES_SHOWN)} more notices (--json counts them by file)"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def as_json(summary: Summary, *, seconds: float, dry_run: bool) -> dict[str, Any]:
    """The summary for programs."""
    sums: dict[str, Callable[[FileReport], int]] = {
        "bytes": lambda report: report.size,
        "events": lambda report: report.events,
        "new": lambda report: report.new,
        "duplicate": lambda report: report.duplicate,
        "differing": lambda report: report.differing,
    }
    return {
        "dry_run": dry_run,
        "seconds": round(seconds, 3),
        **{name: summary.total(measure) for name, measure in sums.items()},
        "changes": dict(summary.changes()),
        "masked": dict(summary.masked()),
        "chunks": summary.chunks,
        "claims": dict(summary.claims),
        "unsettled": summary.unsettled,
        "dead": summary.dead,
        "files": [_file_json(report) for report in summary.files],
    }


def _file_json(report: FileReport) -> dict[str, Any]:
    return {
        "path": str(report.path),
        "change": report.change,
        "host": report.host,
        "title": report.title,
        "external_id": report.external_id,
        "sources": list(report.sources),
        "events": report.events,
        "new": report.new,
        "duplicate": report.duplicate,
        "differing": report.differing,
        "masked": dict(report.masked),
        "refused": {"code": report.refused, "message": report.refusal} if report.refusal else None,
        "notices": [{"line": each.line, "code": each.code, "message": each.message, "kept": each.kept} for each in report.notices],
        "notice_counts": dict(report.notice_counts),
    }
