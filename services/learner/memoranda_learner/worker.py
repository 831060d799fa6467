"""The learner worker: which jobs it does."""

from __future__ import annotations

from memoranda.bus.work import Handler
from memoranda_learner.learn import learn


def handlers() -> dict[str, Handler]:
    """The jobs of the learn lane by kind."""
    return {"learn": learn}
