"""Readers that wait for a writer, and give up."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from tests.world import World

TRIES = 150
OPEN = "select * from access.open_lens(%s, 'main', 'accepted', null, null, '{}', '{}', '{}')"
LEFT = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"


def _roll_back(connection: psycopg.Connection[TupleRow]) -> None:
    """Ends the transaction; the limit of its statements strikes this one too."""
    while connection.info.transaction_status != TransactionStatus.IDLE:
        with suppress(psycopg.errors.QueryCanceled):
            connection.rollback()


def test_a_reader_that_gave_up_waiting_holds_no_writer_up(world: World) -> None:
    """Statements are stopped at every moment around the one at which a writer lets them in."""
    done = threading.Event()

    def write() -> None:
        with psycopg.connect(world.database.dsn()) as connection:
            while not done.wait(0.0005):
                connection.execute("select pg_advisory_xact_lock(access.write_lock(%s))", (world.brain_id,))
                connection.execute("select pg_sleep(0.006)")
                connection.rollback()

    def read(seed: int) -> tuple[int, int]:
        chosen, given_up, left = random.Random(seed), 0, 0
        with psycopg.connect(world.database.dsn("memoranda_gateway")) as connection:
            for _ in range(TRIES):
                try:
                    connection.execute("select set_config('statement_timeout', %s, true)", [str(chosen.randint(2, 12))])
                    connection.execute(OPEN, [world.agent.digest])
                except psycopg.errors.QueryCanceled:
                    given_up += 1
                _roll_back(connection)
                row = connection.execute(LEFT).fetchone()
                connection.rollback()
                left += row[0] if row else 0
        return given_up, left

    with ThreadPoolExecutor(5) as pool:
        writer = pool.submit(write)
        try:
            read_by = [future.result(timeout=60) for future in [pool.submit(read, seed) for seed in range(4)]]
        finally:
            done.set()
        writer.result(timeout=20)
    given_up = sum(number for number, _ in read_by)
    assert 0 < given_up < 4 * TRIES, "the statements have to end on both sides of their limit"
    assert [left for _, left in read_by] == [0, 0, 0, 0]
