"""Recall: how it grows with the brain, what rules cost, and what the lens costs. All in one server, each pair asked in turn."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, LiteralString

from bench import made, seeding, stores
from bench.figures import Figure, Say, Sizes, p50, p95
from bench.reading import Arm, recaller, timed
from bench.stores import BRAIN, Connection, Store
from memoranda_up.postgres import Postgres

GROWTH: Final = 1.5
RULES: Final = 1.3
LENS: Final = 2.0
# questions before the counted ones, in parts of those: caches are filled, plans are made
WARM: Final = 5
POOL: Final = 40
FRESH: Final = 6000

COLUMNS: Final[LiteralString] = """
r.id, r.claim_id, r.ordinal, r.recorded_at, r.kind, r.subject, r.predicate, r.value, r.polarity, r.statement, r.cardinality,
r.repositories, r.areas, r.environments, r.valid_from, r.valid_to, r.said_at, r.author_role, r.review, r.lifecycle, r.freshness,
r.operational, r.observed_at, r.outcome, r.admission, r.origin, r.superseded_by, r.acceptance_policy, r.reason
"""
SEARCH: Final = "select revision_id from lens.search_revisions(%s, %s)"
WITH_LENS: Final = f"select r.withheld, r.standing, r.reviewer, r.writer, {COLUMNS} from lens.revision r where r.id = any (%s)"
WITHOUT_LENS: Final = f"""
select null, null, p.name, w.name, {COLUMNS} from ledger.revision r left join access.principal p on p.id = r.reviewer_id
  left join access.principal w on w.id = r.principal_id where r.id = any (%s)
"""
OPEN: Final = "select * from access.open_lens(%s, %s, 'accepted', null, null, '{}', '{}', '{}')"


@contextmanager
def seeded(sizes: Sizes, say: Say) -> Generator[tuple[Postgres, Store]]:
    """A server with one store of the smaller size."""
    with stores.server() as postgres:
        store = stores.new(postgres, "first")
        seeding.fill_chunks(store, sizes.chunks, say)
        seeding.fill_revisions(store, 0, sizes.revisions, say)
        say("statistics")
        seeding.settle(store)
        yield postgres, store


def rules(store: Store, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """The same store with and without rules: on claims, and on raw evidence too in the mode that shows it."""
    ruled = stores.copied(store, "ruled")
    say(f"{sizes.rules:,} rules")
    seeding.add_rules(ruled, sizes.rules)
    try:
        for mode, what in (("accepted", "claims"), ("investigation", "claims and chunks")):
            say(f"asking {what} with and without rules")
            seconds = _compared({"none": store, "rules": ruled}, sizes, mode)
            yield Figure(
                name=f"recall of {what} with {sizes.rules:,} rules, p95 against none",
                value=p95(seconds["rules"]) / p95(seconds["none"]),
                unit="ratio",
                limit=RULES,
                note=_told(seconds),
            )
    finally:
        stores.drop(ruled)


def the_lens(store: Store, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """The ranked search and the fetching of its rows, through the lens and from the base table."""
    say("asking with and without the lens")
    with ExitStack() as stack:
        gateway, admin = stack.enter_context(store.role("gateway")), stack.enter_context(store.admin())
        admin.execute("set jit = off")
        arms = [
            Arm(name="lens", ask=_ranked(gateway, store, WITH_LENS)),
            Arm(name="without", ask=_ranked(admin, store, WITHOUT_LENS)),
        ]
        asked = made.questions(sizes.questions, seed=23)
        seconds = timed(arms, asked, warm=len(asked) // WARM)
    yield Figure(
        name="search and rows through the lens, p50 against without",
        value=p50(seconds["lens"]) / p50(seconds["without"]),
        unit="ratio",
        limit=LENS,
        note=_told(seconds),
    )
    yield Figure(
        name="search and rows through the lens, p95 against without",
        value=p95(seconds["lens"]) / p95(seconds["without"]),
        unit="ratio",
        limit=LENS,
    )


def fresh(store: Store, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """The same store settled, and with revisions that were written a moment ago."""
    written = stores.copied(store, "fresh")
    say(f"writing {FRESH:,} revisions")
    seeding.add_fresh(written, FRESH, after=sizes.revisions)
    try:
        say("asking right after writing")
        seconds = _compared({"settled": store, "fresh": written}, sizes, "accepted")
        yield Figure(
            name=f"recall right after {FRESH:,} new revisions, p95 against settled",
            value=p95(seconds["fresh"]) / p95(seconds["settled"]),
            unit="ratio",
            note=_told(seconds),
        )
    finally:
        stores.drop(written)


def growth(store: Store, sizes: Sizes, say: Say) -> Iterator[Figure]:
    """A store of the smaller size and a copy of it that grew to the larger one, in one server, asked the same questions in turn."""
    grown = stores.copied(store, "grown")
    seeding.fill_revisions(grown, sizes.revisions, sizes.grown, say)
    say("statistics")
    seeding.settle(grown)
    say("asking at both sizes")
    seconds = _compared({"smaller": store, "larger": grown}, sizes, "accepted")
    for name, size in (("smaller", sizes.revisions), ("larger", sizes.grown)):
        yield Figure(name=f"recall at {size:,} revisions, p50", value=1000 * p50(seconds[name]), unit="ms")
        yield Figure(name=f"recall at {size:,} revisions, p95", value=1000 * p95(seconds[name]), unit="ms")
    yield Figure(
        name=f"recall at {sizes.grown:,} revisions, p95 against {sizes.revisions:,}",
        value=p95(seconds["larger"]) / p95(seconds["smaller"]),
        unit="ratio",
        limit=GROWTH,
    )


def _compared(compared: dict[str, Store], sizes: Sizes, mode: str) -> dict[str, list[float]]:
    asked = made.questions(sizes.questions, seed=17)
    with ExitStack() as stack:
        arms = [
            Arm(name=name, ask=recaller(stack.enter_context(store.pools()), store, mode))  # pyright: ignore[reportArgumentType]
            for name, store in compared.items()
        ]
        return timed(arms, asked, warm=len(asked) // WARM)


def _ranked(connection: Connection, store: Store, rows: LiteralString) -> Callable[[str], object]:
    def ask(question: str) -> object:
        with connection.transaction():
            connection.execute(OPEN, (store.token, BRAIN))
            found = [row[0] for row in connection.execute(SEARCH, (question, POOL)).fetchall()]
            return connection.execute(rows, (found,)).fetchall()

    return ask


def _told(seconds: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} p50 {1000 * p50(some):.1f} ms, p95 {1000 * p95(some):.1f} ms" for name, some in seconds.items())
