"""Runs the measurements: ``python -m bench --scale small|full [--only WORD] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import importing, recalling
from bench.figure import FULL, SMALL, Figure, Sizes, Tell, machine

PARTS: dict[str, Callable[[Sizes, Tell], Iterator[Figure]]] = {"import": importing.figures, "recall": recalling.figures}


def main() -> int:
    """Measures, prints a table, writes the file. 1 where a limit does not hold."""
    arguments = _arguments()
    sizes = FULL if arguments.scale == "full" else SMALL
    console = Console(stderr=True)
    figures: list[Figure] = []
    with console.status("starting") as status:

        def tell(what: str) -> None:
            status.update(what)
            if not console.is_terminal:
                console.print(f"… {what}")

        for name, part in PARTS.items():
            if arguments.only in name:
                figures.extend(part(sizes, tell))
    Console().print(_table(figures))
    document = {"machine": machine(), "sizes": asdict(sizes), "figures": [figure.row() for figure in figures]}
    arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(figure.holds for figure in figures) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Memoranda.")
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--only", choices=(*PARTS, ""), default="", help="one part")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where the figures are written")
    return parser.parse_args()


def _table(figures: list[Figure]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading, justify in (("figure", "left"), ("value", "right"), ("unit", "left"), ("limit", "right"), ("", "left")):
        table.add_column(heading, justify=justify)  # pyright: ignore[reportArgumentType]
    for figure in figures:
        limit = "" if figure.limit is None else f"{'≥' if figure.at_least else '≤'} {figure.limit:g}"
        verdict = "" if figure.limit is None else "holds" if figure.holds else "DOES NOT HOLD"
        table.add_row(figure.name, f"{figure.value:.3g}" if figure.value < 100 else f"{figure.value:.0f}", figure.unit, limit, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
