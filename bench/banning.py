"""What rules cost those who write: making one, and sealing text while there are many. No limit, but worth watching."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from psycopg.errors import QueryCanceled

from bench import made, seeding, stores
from bench.figures import Figure, Say, Sizes, p50
from bench.stores import BRAIN, Connection, Store
from memoranda.domain.evidence import StoredEvent
from memoranda.domain.ids import new_id
from memoranda.store import evidence
from memoranda_ingest.split import split

RULES_MADE: Final = 3
# nobody waits longer for a click
GIVEN_UP_SECONDS: Final = 60
SEALED_BYTES: Final = 1_000_000

BAN: Final = "insert into ledger.rule (brain_id, revision_id, cause, reason) values (%s, %s, 'rejected', 'bench')"
ACT: Final = "select * from access.act(%s, %s, %s)"
SOME: Final = "select id from ledger.revision where brain_id = %s order by md5(id::text) limit %s"
SOURCE: Final = """
insert into evidence.source (brain_id, kind, host, external_id) values (%s, 'session', 'bench', 'sealed') returning id
"""


def banning(store: Store, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """One rule over all the chunks of a store, and a megabyte sealed in a store with many rules and in one with none."""
    say("making rules")
    yield Figure(
        name=f"making one rule at {sizes.chunks:,} chunks, p50",
        value=p50([_seconds_of_a_rule(store, revision) for revision in _some_revisions(store)]),
        unit="s",
        note=f"given up after {GIVEN_UP_SECONDS} s",
    )
    say("sealing a megabyte")
    yield Figure(name="sealing 1 MB of text with no rules", value=p50([_seconds_of_sealing(store) for _ in range(3)]), unit="s")
    ruled = stores.copied(store, "banned")
    seeding.add_rules(ruled, sizes.rules)
    try:
        yield Figure(
            name=f"sealing 1 MB of text with {sizes.rules:,} rules", value=p50([_seconds_of_sealing(ruled) for _ in range(3)]), unit="s"
        )
    finally:
        stores.drop(ruled)


def _some_revisions(store: Store) -> list[UUID]:
    with store.admin() as admin:
        return [row[0] for row in admin.execute(SOME, (store.brain_id, RULES_MADE)).fetchall()]


def _seconds_of_a_rule(store: Store, revision: UUID) -> float:
    """A person's transaction that is taken back, so that the next one finds the store as it was."""
    with store.role("command") as connection:
        connection.execute(ACT, (store.session, store.csrf, BRAIN))
        connection.execute("select set_config('statement_timeout', %s, true)", (f"{GIVEN_UP_SECONDS}s",))
        started = time.perf_counter()
        with suppress(QueryCanceled):
            connection.execute(BAN, (store.brain_id, revision))
        seconds = time.perf_counter() - started
        connection.rollback()
        return seconds


def _seconds_of_sealing(store: Store) -> float:
    """The sealing worker's transaction, taken back likewise: splitting, storing the chunks, and the version's trigger."""
    with store.admin() as admin:
        row = admin.execute(SOURCE, (store.brain_id,)).fetchone()
        assert row is not None
        source: UUID = row[0]
    try:
        with store.role("ingest") as connection:
            connection.execute("select access.serve(%s)", (store.brain_id,))
            events = list(_events())
            started = time.perf_counter()
            _seal(connection, store, source, events)
            seconds = time.perf_counter() - started
            connection.rollback()
            return seconds
    finally:
        with store.admin() as admin:
            admin.execute("delete from evidence.source where id = %s", (source,))


def _events() -> Iterator[StoredEvent]:
    words = made.Words(31)
    size, number = 0, 0
    while size < SEALED_BYTES:
        body = made.paragraph(words, 20)
        size, number = size + len(body), number + 1
        yield StoredEvent(id=number, opens=number == 1, role="person", kind="prompt", said_at=datetime.now(UTC), abandoned=False, body=body)


def _seal(connection: Connection, store: Store, source: UUID, events: list[StoredEvent]) -> None:
    version_id = new_id()
    chunks = [
        evidence.NewChunk(id=new_id(), ordinal=place, digest=hashlib.sha256(piece.text.encode()).digest(), piece=piece)
        for place, piece in enumerate(split(events, first_line=1), start=1)
    ]
    evidence.add_chunks(connection, brain_id=store.brain_id, source_id=source, version_id=version_id, chunks=chunks)
    version = evidence.NewVersion(
        id=version_id,
        source_id=source,
        ordinal=1,
        last_event=len(events),
        line_count=chunks[-1].piece.last_line,
        digest=b"bench",
        replaces=False,
    )
    evidence.add_version(connection, brain_id=store.brain_id, version=version)
