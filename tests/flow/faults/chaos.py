"""``make chaos``: breaks things at random while sessions come in, and compares the store with that of an undisturbed run.

The same seed breaks the same things in the same order; when each falls within the work is up to the machine.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pika
import psycopg

from tests.flow.faults import site as sites
from tests.flow.faults.site import WORKERS, Place, Site

SERVICES = ("api", *WORKERS)
LANES = ("ingest", "learn", "index")
# one thing in so many seconds, so that there is work in between which can be broken
PAUSE = (0.5, 4.0)
FACTS = 6

Say = Callable[[str], None]


def main() -> int:
    """Runs for a while, and exits with 1 where anything was lost, doubled or left over."""
    given = _arguments()
    draw = random.Random(given.seed)
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    say(f"seed {given.seed}, {given.seconds} s: make chaos ARGS='--seed {given.seed} --seconds {given.seconds}' does the same again")
    with sites.place() as place:
        with sites.site(place) as site:
            captured = _disturbed(site, draw, began + given.seconds, say)
            say(f"{len(captured)} sessions captured; waiting for quiet")
            _all_well(place, site)
            site.quiet(seconds=300)
            dead = site.rows("select lane, kind, attempts, error from pipeline.job where state = 'dead'")
            disturbed = site.ledger()
            attempts = site.rows("select max(attempts) as most, count(*) filter (where attempts > 1) as again from pipeline.job")[0]
            say(f"{attempts['again']} jobs were tried again, one of them {attempts['most']} times")
        with sites.site(place) as site:
            say("the same without disturbance")
            site.start(*SERVICES)
            site.capture(captured)
            site.quiet(seconds=300)
            undisturbed = site.ledger()
    return _verdict(disturbed, undisturbed, dead, say)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000), help="what to break, and in which order")
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: ten minutes)")
    return parser.parse_args()


def _disturbed(site: Site, draw: random.Random, until: float, say: Say) -> list[tuple[str, list[str]]]:
    """Captures sessions and breaks things in turn, until it is time. What was captured."""
    site.start(*SERVICES)
    faults = _faults(site, draw)
    captured: list[tuple[str, list[str]]] = []
    due = time.monotonic() + draw.uniform(*PAUSE)
    for session in _sessions():
        if time.monotonic() > until:
            return captured
        site.capture([session])
        captured.append(session)
        if time.monotonic() >= due:
            name, fault = draw.choice(faults)
            say(name)
            fault()
            due = time.monotonic() + draw.uniform(*PAUSE)
        time.sleep(draw.uniform(0, 0.1))
    raise AssertionError("sessions have no end")


def _sessions() -> Iterator[tuple[str, list[str]]]:
    """Sessions whose facts are their own, so that the order in which they are learned cannot matter."""
    number = 0
    while True:
        yield (f"session-{number}", [f"part-{number}-{fact}.size = {fact}" for fact in range(FACTS)])
        number += 1


def _faults(site: Site, draw: random.Random) -> list[tuple[str, Callable[[], None]]]:
    place = site.place

    def kill(name: str) -> Callable[[], None]:
        return site.children[name].kill

    def freeze(name: str) -> Callable[[], None]:
        def work() -> None:
            site.children[name].freeze(frozen=True)
            time.sleep(draw.uniform(1, 5))
            site.children[name].freeze(frozen=False)

        return work

    def stop_rabbit() -> None:
        place.rabbit.stop()
        time.sleep(draw.uniform(0, 3))
        place.rabbit.start()

    def kill_rabbit() -> None:
        place.rabbit.kill()
        place.rabbit.start()

    def purge() -> None:
        with pika.BlockingConnection(pika.URLParameters(place.rabbit.url)) as connection:
            connection.channel().queue_purge(f"{site.prefix}.{draw.choice(LANES)}.v1")

    def forget_publishing() -> None:
        site.run("update pipeline.job set published_at = published_at - interval '1 hour' where state = 'ready'")

    def end_connections() -> None:
        with suppress(psycopg.OperationalError):
            site.run(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )

    return [
        *((f"kill -9 {name}", kill(name)) for name in SERVICES),
        *((f"SIGTERM {name}", site.children[name].end) for name in SERVICES),
        *((f"freeze {name}", freeze(name)) for name in WORKERS),
        ("stop and start RabbitMQ", stop_rabbit),
        ("kill -9 RabbitMQ", kill_rabbit),
        ("restart Postgres", lambda: place.restart_postgres(kill=False)),
        ("kill -9 Postgres", lambda: place.restart_postgres(kill=True)),
        ("empty a queue", purge),
        ("publish again what waits", forget_publishing),
        ("end every connection to Postgres", end_connections),
    ]


def _all_well(place: Place, site: Site) -> None:
    for child in site.children.values():
        child.freeze(frozen=False)
    if not place.rabbit.running:
        place.rabbit.start()


def _verdict(disturbed: list[str], undisturbed: list[str], dead: list[dict[str, object]], say: Say) -> int:
    lost, more = _without(undisturbed, disturbed), _without(disturbed, undisturbed)
    for row in dead:
        say(f"dead: {row}")
    for text in lost[:10]:
        say(f"lost: {text[:300]}")
    for text in more[:10]:
        say(f"too much: {text[:300]}")
    if dead or lost or more:
        say(f"FAILED: {len(dead)} dead jobs, {len(lost)} rows lost, {len(more)} rows too many, of {len(undisturbed)}")
        return 1
    say(f"the same {len(undisturbed):,} rows, byte for byte but for ids and times")
    return 0


def _without(these: list[str], those: list[str]) -> list[str]:
    return sorted((Counter(these) - Counter(those)).elements())


if __name__ == "__main__":
    sys.exit(main())
