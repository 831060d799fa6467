"""Import, capture acknowledgement and memory, through a running profile as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil

from bench.figure import Figure, Sizes, Tell, median, percentile, timed
from bench.made import lines_of, transcript
from memoranda_cli.batches import Wanted
from memoranda_cli.client import Client
from memoranda_cli.importing import import_files, wait
from memoranda_cli.target import Target, find

ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A profile that was started with ``memoranda up``."""

    process: subprocess.Popen[bytes]
    target: Target

    def resident(self) -> float:
        """Resident memory in MB: the proportional set size of the process and its children, so that shared pages count once."""
        root = psutil.Process(self.process.pid)
        return sum(_pss(member.pid) for member in (root, *root.children(recursive=True))) / 1e6


def _pss(process: int) -> int:
    place = Path(f"/proc/{process}/smaps_rollup")
    try:
        for line in place.read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return 0
    return psutil.Process(process).memory_info().rss


@contextmanager
def running(folder: Path) -> Generator[Running]:
    """Starts the embedded profile in a folder and stops it afterwards."""
    command = [str(Path(sys.executable).with_name("memoranda")), "up", "--data", str(folder), "--port", "0", "--json"]
    environment = {**os.environ, "MEMORANDA_DATA": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline().decode()
            if not line:
                raise SystemExit("memoranda up did not start")
            text += line
        json.loads(text)
        try:
            yield Running(process=process, target=find(folder, None, None))
        finally:
            process.terminate()
            process.wait(30)


def figures(sizes: Sizes, tell: Tell) -> Iterator[Figure]:
    """Everything that is measured on a running profile."""
    with TemporaryDirectory(prefix="memoranda-bench-", ignore_cleanup_errors=True) as folder, running(Path(folder) / "data") as up:
        with Client(up.target) as client:
            client.get("/v1/me")
            yield Figure(name="resident memory, idle", value=up.resident(), unit="MB", limit=600)
            yield from _captures(up, sizes, tell)
            yield from _imports(client, Path(folder), sizes, tell)
            tell("resident memory after the import")
            yield Figure(name=f"resident memory after importing {sizes.import_megabytes} MB", value=up.resident(), unit="MB", limit=600)


def _imports(client: Client, folder: Path, sizes: Sizes, tell: Tell) -> Iterator[Figure]:
    """Reading, masking, sending and storing: until every event is acknowledged. Each round has a session of its own."""
    parsing: list[float] = []
    storing: list[float] = []
    settling: list[float] = []
    size = 0.0
    for number in range(ROUNDS):
        path = folder / f"session-{number}.jsonl"
        transcript(path, sizes.import_megabytes / ROUNDS, seed=number)
        size = path.stat().st_size / 1e6
        tell(f"importing {size:.0f} MB, {number + 1} of {ROUNDS}")
        parsing.append(timed(lambda path=path: [json.loads(line) for line in lines_of(path)] and None))
        summaries = []
        storing.append(
            timed(lambda path=path, s=summaries: s.append(import_files(client, [(path, path.stat().st_size)], Wanted(), lambda *_: None)))
        )
        assert summaries[0].total(lambda report: report.new) > 0
        settling.append(timed(lambda s=summaries: wait(client, s[0], seconds=1200, each=lambda: None)))
        assert not summaries[0].dead
        path.unlink()
    yield Figure(name="json.loads", value=size / median(parsing), unit="MB/s")
    yield Figure(name="import, read to stored", value=size / median(storing), unit="MB/s")
    ratio = max(parse / store for parse, store in zip(parsing, storing, strict=True))
    yield Figure(name="import against json.loads", value=ratio, unit="ratio", limit=0.25, at_least=True)
    whole = [store + settle for store, settle in zip(storing, settling, strict=True)]
    yield Figure(name="import, read to learned and searchable", value=size / median(whole), unit="MB/s")


def _captures(up: Running, sizes: Sizes, tell: Tell) -> Iterator[Figure]:
    tell("acknowledging captures")
    alone = _acknowledged(up, sizes.captures, "alone")
    yield Figure(name="capture of 20 events acknowledged, p50", value=median(alone) * 1000, unit="ms")
    yield Figure(name="capture of 20 events acknowledged, p95", value=percentile(alone, 0.95) * 1000, unit="ms")
    together: list[float] = []
    threads = [
        threading.Thread(target=lambda name=f"client-{number}": together.extend(_acknowledged(up, sizes.captures // 4, name)))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield Figure(name="the same with 8 clients, p95", value=percentile(together, 0.95) * 1000, unit="ms")


def _acknowledged(up: Running, number: int, name: str) -> list[float]:
    headers = {"Authorization": f"Bearer {up.target.token}"}
    seconds: list[float] = []
    with httpx.Client(base_url=up.target.url, headers=headers, timeout=30) as http:
        for batch in range(number):
            events = [
                {"key": f"{name}/{batch}/{place}", "role": "assistant", "kind": "reply", "text": f"{name} says {batch} and {place} " * 20}
                for place in range(20)
            ]
            body = {"source": {"host": "bench", "external_id": name}, "events": events, "last": False}
            seconds.append(timed(lambda body=body: http.post(f"/v1/brains/{up.target.brain}/captures", json=body).raise_for_status()))
    return seconds[2:]
