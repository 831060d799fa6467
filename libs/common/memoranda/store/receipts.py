"""Receipts: the stored outcome of an idempotent command."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memoranda.errors import KeyReused
from memoranda.store.database import Connection

LOCK = "select pg_advisory_xact_lock(hashtextextended(%(brain_id)s::text || %(principal_id)s::text || %(key)s, 1))"
FIND = """
select payload_digest, result, subject_id from ledger.receipt
 where brain_id = %(brain_id)s and principal_id = %(principal_id)s and key = %(key)s
"""


def claim(connection: Connection, *, brain_id: UUID, principal_id: UUID, key: str, digest: bytes) -> dict[str, Any] | None:
    """Takes a key for this transaction, or returns the result that it has.

    Two transactions with one key wait for each other. Raises KeyReused where the key stands for another payload. The result
    of a command whose subject was erased is an empty one that says so.
    """
    parameters = {"brain_id": brain_id, "principal_id": principal_id, "key": key}
    connection.execute(LOCK, parameters)
    row = connection.execute(FIND, parameters).fetchone()
    if row is None:
        return None
    if bytes(row[0]) != digest:
        raise KeyReused(f"the idempotency key '{key}' was used for another command")
    return row[1] if row[1] is not None else {"erased": True, "subject_id": str(row[2])}


KEEP = """
insert into ledger.receipt (brain_id, principal_id, key, command, payload_digest, result, subject_id)
values (%(brain_id)s, %(principal_id)s, %(key)s, %(command)s, %(digest)s, %(result)s, %(subject_id)s)
"""


def keep(
    connection: Connection,
    *,
    brain_id: UUID,
    principal_id: UUID,
    key: str,
    command: str,
    digest: bytes,
    result: dict[str, Any],
    subject_id: UUID | None,
) -> None:
    """Stores what a command came to, in its own transaction."""
    parameters = {
        "brain_id": brain_id,
        "principal_id": principal_id,
        "key": key,
        "command": command,
        "digest": digest,
        "result": Jsonb(result),
        "subject_id": subject_id,
    }
    connection.execute(KEEP, parameters)
