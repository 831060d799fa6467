"""The graph worker: which jobs it does, and its process."""

from __future__ import annotations

from memoranda.bus.work import Handler


def handlers() -> dict[str, Handler]:
    """The jobs of the graph lane by kind: none yet."""
    return {}


def main() -> None:
    """Runs the service until SIGTERM."""
    from memoranda.bus import service

    service.run(service.Service(name="graph", role="graph", lane="graph", handlers=handlers(), health_port=7424))


if __name__ == "__main__":
    main()
