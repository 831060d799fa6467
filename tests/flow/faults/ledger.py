"""What a store holds, but for ids and times: two runs that did the same have the same."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import psycopg

SCHEMAS = ("evidence", "ledger", "audit")
# when and in which order something was stored, by which trace, and which jobs and keys happened to carry it
LEFT_OUT = re.compile(r"(recorded|captured|opened|closed|created|finished|sampled|erased)_at|id|last_event|traceparent|key|seq|common_word")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# references are resolved by what they lead to, so many steps deep
ROUNDS = 5
TABLES = """
select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'r' and n.nspname = any (%s) and c.relname <> 'common_word' order by 1
"""


def contents(connection: psycopg.Connection[Any]) -> list[str]:
    """Every row of evidence, ledger and audit as text, sorted; ids are replaced by what they stand for."""
    rows: list[tuple[str, dict[str, Any]]] = []
    for (table,) in connection.execute(TABLES, [list(SCHEMAS)]).fetchall():
        for (row,) in connection.execute(f"select to_jsonb(t) from {table} t".encode()).fetchall():
            rows.append((table, row))
    names: dict[str, str] = {}
    for _ in range(ROUNDS):
        names = {str(row["id"]): _digest(_text(table, row, names)) for table, row in rows if isinstance(row.get("id"), str)}
    return sorted(_text(table, row, names) for table, row in rows)


def _text(table: str, row: dict[str, Any], names: dict[str, str]) -> str:
    kept = {name: value for name, value in row.items() if not LEFT_OUT.fullmatch(name) or (name == "key" and table == "evidence.event")}
    if table == "ledger.conflict":
        # which of the two is the left one goes by their ids
        kept["between"] = sorted(_named(str(kept.pop(side)), names) for side in ("left_claim", "right_claim"))
    if table == "ledger.receipt":
        result: dict[str, Any] = kept["result"] or {}
        kept["result"] = {name: value for name, value in result.items() if name != "job_id"}
    return f"{table} {_named(json.dumps(kept, sort_keys=True, ensure_ascii=False), names)}"


def _named(text: str, names: dict[str, str]) -> str:
    return UUID.sub(lambda found: names.get(found[0], "?"), text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
