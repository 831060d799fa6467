"""The learner worker: which jobs it does, and its process."""

from __future__ import annotations

from memoranda.bus.work import Handler
from memoranda_learner.learn import learn


def handlers() -> dict[str, Handler]:
    """The jobs of the learn lane by kind."""
    return {"learn": learn}


def main() -> None:
    """Runs the service until SIGTERM."""
    from memoranda.bus import service

    service.run(service.Service(name="learner", role="learner", lane="learn", handlers=handlers(), health_port=7422))


if __name__ == "__main__":
    main()
