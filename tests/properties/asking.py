"""How many examples the properties explore, and one question to the database for many examples at once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from hypothesis import HealthCheck, Phase, settings
from psycopg.rows import TupleRow

EXAMPLES: Final = int(os.environ.get("MEMORANDA_EXAMPLES", "0"))
"""More than the usual number explores anew at each run; by itself a run is the same each time."""


def thorough(usual: int) -> settings:
    """Settings for a property that is usually tried ``usual`` times."""
    return settings(
        max_examples=max(usual, EXAMPLES),
        derandomize=EXAMPLES == 0,
        database=None,
        deadline=None,
        # a failing history is told as it is; MEMORANDA_EXAMPLES=100 also looks for the smallest, which takes minutes
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if EXAMPLES else [])],
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


Connection = psycopg.Connection[TupleRow]


def ask(connection: Connection, expression: str, rows: Sequence[dict[str, Any]]) -> list[Any]:
    """The value of an SQL expression over each row, a JSON object that it calls ``x``, in their order."""
    statement = f"select {expression} from jsonb_array_elements(%s::jsonb) with ordinality as u(x, place) order by place"
    return [row[0] for row in connection.execute(statement.encode(), [json.dumps(rows)]).fetchall()]
