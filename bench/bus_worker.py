"""A worker whose jobs do nothing, ours or bare Dramatiq's: run as ``python -m bench.bus_worker`` by the bench."""

from __future__ import annotations

import argparse
import threading
import time
from uuid import UUID, uuid4

import psycopg

from memoranda.bus.announce import Announcer
from memoranda.bus.rabbit import RabbitBroker, quiet_logs
from memoranda.bus.work import Work, Worker
from memoranda.domain.job import Line
from memoranda.settings import from_environment
from memoranda.store.database import Database

# jobs and messages alike
THREADS = 8
PREPARE = """
insert into pipeline.job (brain_id, lane, kind, subject_id)
select b.id, 'graph', 'nothing', gen_random_uuid() from access.brain b, generate_series(1, %s)
"""
BRAINS = "select id from access.brain"
LEFT = "select count(*) from pipeline.job where kind = 'nothing' and state <> 'done'"


def main() -> None:
    """Prints how many seconds it took from the first publishing to the last completion."""
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=("ours", "bare"))
    parser.add_argument("number", type=int)
    parser.add_argument("admin")
    given = parser.parse_args()
    quiet_logs()
    print(_ours(given.number, given.admin) if given.which == "ours" else _bare(given.number))


def _bare(number: int) -> float:
    """One thread publishes, confirmed; eight consume and count."""
    broker = RabbitBroker(from_environment())
    done, left = threading.Event(), [number]
    turn = threading.Lock()

    def nothing(job: UUID, traceparent: str | None) -> None:
        del job, traceparent
        with turn:
            left[0] -= 1
            if not left[0]:
                done.set()

    broker.publish("index", uuid4(), None)  # connects and declares
    broker.consume("graph", nothing, threads=THREADS)
    time.sleep(1)
    began = time.perf_counter()
    for _ in range(number):
        broker.publish("graph", uuid4(), None)
    assert done.wait(300)
    return time.perf_counter() - began


def _ours(number: int, admin: str) -> float:
    """The jobs are rows, committed before; they are published as room is made, leased, and completed with an effect of nothing."""
    settings = from_environment()
    database = Database(settings.database, pool_size=THREADS + 4)
    database.open("graph")
    broker = RabbitBroker(settings)
    announcer = Announcer(database, "graph", broker)
    completed, done, turn = [0], threading.Event(), threading.Lock()

    def nothing(work: Work) -> None:
        with work.effect():
            pass
        with turn:
            completed[0] += 1
            if completed[0] == number:
                done.set()

    worker = Worker(database, "graph", announcer.ring, {"nothing": nothing}, lease_seconds=60, timeout=30)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(PREPARE.encode(), [number])
        brains = [row[0] for row in connection.execute(BRAINS).fetchall()]
        announcer.start()
        broker.consume("graph", worker.handle, threads=THREADS)
        time.sleep(1)
        began = time.perf_counter()
        announcer.ring([Line(brain, "graph") for brain in brains])
        assert done.wait(300)
        seconds = time.perf_counter() - began
        row = connection.execute(LEFT).fetchone()
        assert row == (0,), row
    return seconds


if __name__ == "__main__":
    main()
