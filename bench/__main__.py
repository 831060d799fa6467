"""``python -m bench``: measures, prints a table, writes bench.json, and exits 1 where a limit does not hold."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import banning, bus, machine, profiles, recalling
from bench.figures import SCALES, Figure, Say, Sizes
from memoranda_up.postgres import Postgres

OWN_PROFILE: dict[str, Callable[[Sizes, Say], Iterator[Figure]]] = {
    "import": profiles.importing,
    "capture": profiles.acknowledging,
    "bus": bus.bus,
}
ONE_STORE: dict[str, Callable[..., Iterator[Figure]]] = {
    "lens": recalling.the_lens,
    "rules": recalling.rules,
    "fresh": recalling.fresh,
    "banning": banning.banning,
    "growth": recalling.growth,
}
NAMES = (*OWN_PROFILE, *ONE_STORE)


def main() -> int:
    """Runs what is asked for. The exit code is 1 where a limit does not hold."""
    asked = _arguments()
    console = Console(stderr=True)
    sizes = SCALES[asked.scale]
    started = time.monotonic()
    about: dict[str, Any] = {"scale": asked.scale, "machine": machine.described(), "sizes": asdict(sizes)}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("")

        def say(step: str) -> None:
            progress.update(task, description=step)

        figures: list[Figure] = []
        for figure in _measured(asked.only or list(NAMES), sizes, say, about):
            figures.append(figure)
            progress.print(_line(figure))
    Console().print(_table(figures))
    about["seconds"] = round(time.monotonic() - started)
    Path(asked.json).write_text(json.dumps({**about, "figures": [figure.as_json() for figure in figures]}, indent=2) + "\n")
    return 0 if all(figure.holds for figure in figures) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small", help="small fits a CI run; full is the one that counts")
    parser.add_argument("--only", choices=NAMES, action="append", help="measure this alone; may be given several times")
    parser.add_argument("--json", default="bench.json", metavar="FILE", help="where to write the figures (default: bench.json)")
    return parser.parse_args()


def _measured(names: list[str], sizes: Sizes, say: Say, about: dict[str, Any]) -> Iterator[Figure]:
    for name, measure in OWN_PROFILE.items():
        if name in names:
            yield from measure(sizes, say)
    chosen = [measure for name, measure in ONE_STORE.items() if name in names]
    if not chosen:
        return
    with recalling.seeded(sizes, say) as (postgres, store):
        about["machine"]["postgres"] = _version(postgres)
        for measure in chosen:
            yield from measure(store, sizes, say)


def _version(postgres: Postgres) -> str:
    with psycopg.connect(postgres.dsn()) as connection:
        return str(connection.info.parameter_status("server_version"))


def _line(figure: Figure) -> str:
    return f"{figure.name}: {figure.value:.4g} {figure.unit}"


def _table(figures: list[Figure]) -> Table:
    table = Table(title="", box=None, pad_edge=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("limit", justify="right")
    table.add_column("holds")
    for figure in figures:
        limit = "" if figure.limit is None else f"{figure.keeps} {figure.limit:g}"
        verdict = "" if figure.limit is None else "yes" if figure.holds else "[bold]NO[/bold]"
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit, limit, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
