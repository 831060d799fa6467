"""The embedded profile as its owner runs it: importing, the memory it holds, and how fast it acknowledges what is captured."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
from psycopg.conninfo import make_conninfo

from bench import made
from bench.figures import Figure, Say, Sizes, p50, p95
from bench.machine import held_bytes
from memoranda_cli.demo.server import Running, running

IMPORT: Final = 0.25
HELD_MB: Final = 600
# a process that has just started is still tidying up
SETTLE_SECONDS: Final = 3
LOADS: Final = 5
IMPORTS: Final = 5
EVENTS_A_BATCH: Final = 20
KINDS: Final = ("seal", "learn", "index")
CLIENTS: Final = 8

LEFT: Final = "select kind, count(*) from pipeline.job where state in ('ready', 'leased') group by kind"
FAILED: Final = "select count(*) from pipeline.job where state = 'dead'"
STORED: Final = "select (select count(*) from evidence.event), (select coalesce(sum(length(text)), 0) from evidence.chunk)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A running profile and the way into its database, which its owner has."""

    told: Running
    pid: int
    dsn: str

    def held_mb(self) -> float:
        """The memory that the process and its Postgres hold, in megabytes."""
        return held_bytes(self.pid) / 1e6


@contextmanager
def profile() -> Generator[Profile]:
    """Runs ``memoranda up`` in a folder of its own."""
    with running(keep=False) as told:
        credentials: dict[str, Any] = json.loads((told.data / "credentials.json").read_bytes())
        # the fifth line of this file is the folder of the socket
        sockets = (told.data / "cluster" / "postmaster.pid").read_text().split("\n")[4]
        dsn = make_conninfo(host=sockets, port=5432, user="postgres", dbname="memoranda")
        yield Profile(told=told, pid=credentials["pid"], dsn=dsn)


def importing(sizes: Sizes, say: Say) -> Iterator[Figure]:
    """Import against parsing the same lines, and memory before and after."""
    with profile() as here:
        time.sleep(SETTLE_SECONDS)
        yield Figure(name="memory held when idle", value=here.held_mb(), unit="MB", limit=HELD_MB)
        long = _measure(here, sizes.import_megabytes, made.LONG, say)
        yield Figure(name="json.loads over the lines", value=long.megabytes / long.loads, unit="MB/s")
        ends = {"stored": long.stored, "sealed": long.sealed, "learned": long.learned, "indexed": long.indexed}
        for name, seconds in ends.items():
            yield Figure(name=f"import until {name}", value=long.megabytes / seconds, unit="MB/s")
        yield Figure(name="import until sealed, against json.loads", value=long.loads / long.sealed, unit="ratio")
        time.sleep(SETTLE_SECONDS)
        yield Figure(name=f"memory held after importing {long.megabytes:.0f} MB", value=here.held_mb(), unit="MB", limit=HELD_MB)
        yield Figure(name="memory held at most while learning and indexing", value=long.most_mb, unit="MB")
        short = _measure(here, sizes.import_megabytes / 4, made.SHORT, say)
        yield Figure(name="import of short lines until stored, against json.loads", value=short.loads / short.stored, unit="ratio")
        yield Figure(name="import of short lines until sealed, against json.loads", value=short.loads / short.sealed, unit="ratio")
    yield _storing(sizes, say)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """One import: seconds of json.loads, and from the start of the command to when everything was stored, sealed, learned, indexed."""

    megabytes: float
    loads: float
    stored: float
    sealed: float
    learned: float
    indexed: float
    most_mb: float
    events: int
    characters: int


def _measure(here: Profile, megabytes: float, shape: made.Shape, say: Say) -> _Taken:
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-") as folder:
        say("making transcripts")
        files = made.transcripts(Path(folder), megabytes, shape)
        size = sum(path.stat().st_size for path in files) / 1e6
        # the machine may be busier later than it is now: half of the yardstick before the import, half after it
        loads = [_seconds_of_loads(files) for _ in range(LOADS)]
        say(f"importing {size:.0f} MB")
        stored, ended, most = _import(here, files, say)
        loads += [_seconds_of_loads(files) for _ in range(LOADS)]
        events, characters = _counted(here)
        return _Taken(
            megabytes=size,
            loads=statistics.median(loads),
            stored=stored,
            sealed=ended["seal"],
            learned=ended["learn"],
            indexed=ended["index"],
            most_mb=most,
            events=events,
            characters=characters,
        )


def _storing(sizes: Sizes, say: Say) -> Figure:
    """A large import until every batch was acknowledged, each time into an empty memory, against json.loads before and after it.

    The best of each: an import keeps two cores busy, so whatever else the machine does slows it twice as much as the yardstick.
    """
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-") as folder:
        say("making transcripts")
        files = made.transcripts(Path(folder), sizes.stored_megabytes, made.LONG)
        size = sum(path.stat().st_size for path in files) / 1e6
        loads, stored = [_seconds_of_loads(files)], list[float]()
        for number in range(1, IMPORTS + 1):
            say(f"importing {size:.0f} MB, {number} of {IMPORTS}")
            with profile() as here:
                time.sleep(SETTLE_SECONDS)
                stored.append(_send(here, files))
            loads.append(_seconds_of_loads(files))
    return Figure(
        name="import until stored, against json.loads",
        value=min(loads) / min(stored),
        unit="ratio",
        limit=IMPORT,
        keeps="at least",
        note=f"{size:.0f} MB of lines, the best of {IMPORTS}; by the medians {statistics.median(loads) / statistics.median(stored):.3f}",
    )


def _send(here: Profile, files: Sequence[Path]) -> float:
    """Runs the command: seconds until everything was acknowledged, its own start included."""
    command = [sys.executable, "-m", "memoranda_cli.main", "import", "--json", "--no-wait", "--data", str(here.told.data)]
    started = time.perf_counter()
    subprocess.run([*command, *map(str, files)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _seconds_of_loads(files: Sequence[Path]) -> float:
    started = time.perf_counter()
    for path in files:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
    return time.perf_counter() - started


def _import(here: Profile, files: Sequence[Path], say: Say) -> tuple[float, dict[str, float], float]:
    """Runs the command and waits for the jobs of each kind to end: seconds until stored, seconds by kind, most megabytes held."""
    started = time.perf_counter()
    stored = _send(here, files)
    ended: dict[str, float] = {}
    most = 0.0
    with psycopg.connect(here.dsn, autocommit=True) as admin:
        while len(ended) < len(KINDS):
            left = dict(admin.execute(LEFT).fetchall())
            now = time.perf_counter() - started
            # every sealing is followed by learning and indexing
            ended |= {kind: now for kind in KINDS if kind not in ended and not left.get(kind) and not left.get("seal")}
            say(", ".join(f"{left.get(kind, 0)} to {kind}" for kind in KINDS))
            if "seal" in ended:
                most = max(most, here.held_mb())
            time.sleep(0.5 if "seal" in ended else 0.02)
        assert admin.execute(FAILED).fetchone() == (0,), "jobs failed for good"
    return stored, ended, most


def _counted(here: Profile) -> tuple[int, int]:
    with psycopg.connect(here.dsn) as admin:
        row = admin.execute(STORED).fetchone()
        assert row is not None
        return row[0], row[1]


def acknowledging(sizes: Sizes, say: Say) -> Iterator[Figure]:
    """How long a batch of twenty events takes to be acknowledged, which means stored: with one client, and with eight at once."""
    with profile() as here:
        for clients in (1, CLIENTS):
            say(f"capturing with {clients} clients")
            with ThreadPoolExecutor(clients) as pool:
                runs = pool.map(partial(_acknowledged, here.told, clients, sizes.batches // clients), range(clients))
                seconds = [second for run in runs for second in run]
            what = "one client" if clients == 1 else f"{clients} clients"
            yield Figure(name=f"capture acknowledged, {what}, p50", value=1000 * p50(seconds), unit="ms")
            yield Figure(name=f"capture acknowledged, {what}, p95", value=1000 * p95(seconds), unit="ms")


def _acknowledged(told: Running, clients: int, batches: int, client: int) -> list[float]:
    words = made.Words(client)
    seconds: list[float] = []
    numbers = count()
    headers = {"Authorization": f"Bearer {told.token}"}
    with httpx.Client(base_url=told.url, headers=headers, timeout=60, trust_env=False) as http:
        for batch in range(batches + 5):
            body = _batch(words, f"{clients}-{client}", [next(numbers) for _ in range(EVENTS_A_BATCH)])
            started = time.perf_counter()
            answer = http.post(f"/v1/brains/{told.brain}/captures", json=body)
            if batch >= 5:
                seconds.append(time.perf_counter() - started)
            answer.raise_for_status()
    return seconds


def _batch(words: made.Words, session: str, numbers: Sequence[int]) -> dict[str, Any]:
    events = [{"key": f"{session}/{number}", "role": "assistant", "kind": "reply", "text": words.sentence() * 5} for number in numbers]
    return {"source": {"host": "bench", "external_id": session, "kind": "session", "title": session}, "events": events, "last": False}
