"""Importing: files are read and masked here while other threads send what was read before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from memoranda_capture import Event, Heading, Notice, Record, Refused, read
from memoranda_capture.redact import mask_events
from memoranda_cli.batches import Packer, Wanted, source_of
from memoranda_cli.errors import Problem
from memoranda_cli.sending import Sender

if TYPE_CHECKING:
    from memoranda_cli.client import Client
    from memoranda_cli.wire import Captured, Progress

NOTICES_SHOWN: Final = 5
# files from here on move the bar while they are read
LARGE: Final = 4 * 1024 * 1024
LINES_A_STEP: Final = 500
# bytes of a large file by which the length of its lines is judged
SAMPLE: Final = 1024 * 1024
# notices that say what is normally left out of a session, not that something was wrong with it
USUAL: Final = frozenset({"not_conversation", "thinking_not_kept", "repeated_record", "no_content"})

Change = Literal["new", "longer", "unchanged", "refused", "erased", "empty"]

# the code with which the server turns down what a person erased
ERASED: Final = "erased"


@dataclass(slots=True)
class FileReport:
    """What became of one file. ``notices`` are the first few of each code; ``notice_counts`` count them all."""

    path: Path
    size: int = 0
    host: str = ""
    title: str = ""
    external_id: str = ""
    sources: dict[str, None] = field(default_factory=dict[str, None])
    events: int = 0
    new: int = 0
    duplicate: int = 0
    differing: int = 0
    masked: Counter[str] = field(default_factory=Counter[str])
    notices: list[Notice] = field(default_factory=list[Notice])
    notice_counts: Counter[str] = field(default_factory=Counter[str])
    refused: str = ""
    refusal: str = ""

    @property
    def erased(self) -> bool:
        """Whether a person erased the source: it is passed over, and that is no failure."""
        return self.refused == ERASED

    @property
    def change(self) -> Change:
        """What the file meant for the memory."""
        if self.erased:
            return "erased"
        if self.refusal:
            return "refused"
        if not self.events:
            return "empty"
        if not self.new:
            return "unchanged"
        return "longer" if self.duplicate else "new"

    def note(self, notice: Notice) -> None:
        """Counts a notice, and keeps it while there are few of its kind."""
        self.notice_counts[notice.code] += 1
        if self.notice_counts[notice.code] <= NOTICES_SHOWN:
            self.notices.append(notice)

    def refuse(self, code: str, why: str) -> None:
        """Says why nothing, or nothing more, of the file is taken in."""
        if not self.refusal:
            self.refused, self.refusal = code, why


@dataclass(slots=True)
class Summary:
    """What became of an import. ``unsettled`` sources were still being learned when waiting ended; ``dead`` jobs failed for good."""

    files: list[FileReport] = field(default_factory=list[FileReport])
    claims: Counter[str] = field(default_factory=Counter[str])
    chunks: int = 0
    unsettled: int = 0
    dead: int = 0
    waited: bool = False

    def total(self, measure: Callable[[FileReport], int]) -> int:
        """The sum over the files."""
        return sum(map(measure, self.files))

    def changes(self) -> Counter[Change]:
        """How many files meant what."""
        return Counter(report.change for report in self.files)

    def masked(self) -> Counter[str]:
        """Secrets by kind."""
        return sum((report.masked for report in self.files), Counter[str]())

    def sources(self) -> dict[str, Change]:
        """Every source that something was sent for, and what its file meant."""
        return {source: report.change for report in self.files for source in report.sources}


Bar = Callable[[Path, int], None]
"""Told of a file and of how many more bytes of it were read."""


def import_files(client: Client | None, files: Iterable[tuple[Path, int]], wanted: Wanted, bar: Bar, summary: Summary) -> None:
    """Reads, masks and sends files, and adds to the summary what became of each. One that cannot be read stops no other.

    Without a client nothing is sent, as for a dry run.
    Raises Failure where the server is not there or does not let this client write.
    """

    def deliver(report: FileReport, batch: bytes) -> None:
        if client is None or report.refusal:
            return
        try:
            _count(report, client.capture(batch))
        except Problem as problem:
            report.refuse(problem.code, problem.message)
            if problem.status in (401, 403, 404):
                raise

    with Sender(deliver) as sender:
        for path, size in files:
            report = FileReport(path=path, size=size)
            summary.files.append(report)
            try:
                _read(report, sender, wanted, bar)
            except Refused as refused:
                report.refuse(refused.code, refused.message)


def wait(client: Client, summary: Summary, *, seconds: float, each: Callable[[], None]) -> None:
    """Waits until what was sent is sealed and learned, and adds up what came of it."""
    import time

    deadline = time.monotonic() + seconds
    summary.waited = True
    for source, change in summary.sources().items():
        _add(summary, client.settled(source, seconds=max(0.0, deadline - time.monotonic())), changed=change != "unchanged")
        each()


def _add(summary: Summary, progress: Progress, *, changed: bool) -> None:
    summary.unsettled += not progress["done"]
    summary.dead += progress["jobs"].get("dead", 0)
    if changed:
        summary.chunks += progress["chunks"]
        summary.claims.update({name: int(count) for name, count in progress["claims"].items() if isinstance(count, int)})


def _read(report: FileReport, sender: Sender[FileReport], wanted: Wanted, bar: Bar) -> None:
    heading: Heading | None = None
    packer: Packer | None = None
    for record in _stepping(report, bar):
        if isinstance(record, Event):
            if heading is None:
                continue
            if packer is None:
                packer = Packer(source_of(heading, "document" if record.kind == "document" else "session", wanted))
            report.events += 1
            if full := packer.add(record):
                sender.put(report, full)
        elif isinstance(record, Notice):
            report.note(record)
        else:
            sender.put(report, packer.end() if packer else [])
            heading, packer = record, None
            report.host, report.title, report.external_id = record.host, report.title or record.title, record.external_id
    sender.put(report, packer.end() if packer else [])


def _stepping(report: FileReport, bar: Bar) -> Iterator[Record]:
    """The records of a file, with the bar moved on the way by about what was read."""
    moved = 0
    a_line = _a_line(report) if report.size >= LARGE else 0.0
    due = LINES_A_STEP
    for record in mask_events(read(report.path), report.masked):
        if a_line and not isinstance(record, Heading) and record.line >= due:
            due = record.line + LINES_A_STEP
            here = min(report.size, int(record.line * a_line))
            if here > moved:
                bar(report.path, here - moved)
                moved = here
        yield record
    bar(report.path, report.size - moved)


def _a_line(report: FileReport) -> float:
    """About how many bytes a line of the file has, by its first few hundred."""
    try:
        with report.path.open("rb") as file:
            start = file.read(SAMPLE)
    except OSError:
        return 0.0
    return len(start) / max(1, start.count(b"\n"))


def _count(report: FileReport, captured: Captured) -> None:
    report.sources[captured["source_id"]] = None
    report.new += captured["new"]
    report.duplicate += captured["duplicate"]
    report.differing += len(captured["differing"])
    report.masked.update(captured["masked"])
