"""The ingest worker: which jobs it does, and its process."""

from __future__ import annotations

from memoranda.bus.work import Handler
from memoranda_ingest.seal import seal


def handlers() -> dict[str, Handler]:
    """The jobs of the ingest lane by kind."""
    return {"seal": seal}


def main() -> None:
    """Runs the service until SIGTERM."""
    from memoranda.bus import service

    service.run(service.Service(name="ingest", role="ingest", lane="ingest", handlers=handlers(), health_port=7421))


if __name__ == "__main__":
    main()
