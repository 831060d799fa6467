"""The indexer worker: which jobs it does, and its process."""

from __future__ import annotations

from memoranda.bus.work import Handler
from memoranda_indexer.index import index, sample


def handlers() -> dict[str, Handler]:
    """The jobs of the index lane by kind."""
    return {"index": index, "sample": sample}


def main() -> None:
    """Runs the service until SIGTERM."""
    from memoranda.bus import service

    service.run(service.Service(name="indexer", role="indexer", lane="index", handlers=handlers(), health_port=7423))


if __name__ == "__main__":
    main()
