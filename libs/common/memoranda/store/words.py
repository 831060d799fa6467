"""How common the common words of a brain are: what picks a question's candidates."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from memoranda.store.database import Connection

Place = Literal["revision", "chunk"]
PLACES: tuple[Place, ...] = ("revision", "chunk")

SAMPLE = "select ledger.sample_words(%(brain_id)s, %(place)s)"


def sample(connection: Connection, brain_id: UUID, place: Place) -> bool:
    """Samples the words of up to 20,000 rows, where the brain has doubled since the last time. Whether it did."""
    row = connection.execute(SAMPLE, {"brain_id": brain_id, "place": place}).fetchone()
    return bool(row and row[0])
