"""The ingest worker: which jobs it does."""

from __future__ import annotations

from memoranda.bus.work import Handler
from memoranda_ingest.index import index, sample
from memoranda_ingest.seal import seal


def handlers() -> dict[str, Handler]:
    """The jobs of the lanes ingest and index by kind."""
    return {"seal": seal, "index": index, "sample": sample}
