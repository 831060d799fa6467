"""The API without its bus: what is captured is stored as always, and nobody is told. Run by the bench, to compare with."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.bus.announce import Announcer
from memoranda.domain.job import Line
from memoranda_api import main as api


def _nothing(self: Announcer, lines: Iterable[Line]) -> None:
    del self, lines


def main() -> None:
    """Serves like memoranda-api."""
    Announcer.ring = _nothing
    api.main()


if __name__ == "__main__":
    main()
