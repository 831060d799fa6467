"""Recall: as the API does it, at two sizes of one store, with rules and without, and the lens against no lens."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.figure import Figure, Sizes, Tell, median, percentile, timed
from bench.made import Words
from bench.store import TOKEN, Store, add_rules, fill, fill_chunks, opened
from memoranda.store import lens
from memoranda.store.database import Database
from memoranda_api.recall import Question, recall

Ask = Callable[[str], object]


def figures(sizes: Sizes, tell: Tell) -> Iterator[Figure]:
    """Everything that is measured on a filled store."""
    words = Words()
    questions = [words.question() for _ in range(sizes.questions)]
    with opened() as store:
        database = Database(store.conninfo, pool_size=2)
        database.open("gateway")
        try:
            tell(f"filling {sizes.few_revisions:,} revisions")
            fill(store, words, sizes.few_revisions)
            few = _measured(_asker(database), questions)
            yield from _told(f"recall at {sizes.few_revisions:,}", few)
            tell(f"filling up to {sizes.many_revisions:,} revisions")
            fill(store, words, sizes.many_revisions - sizes.few_revisions)
            many = _measured(_asker(database), questions)
            yield from _told(f"recall at {sizes.many_revisions:,}", many)
            ratio = percentile(many, 0.95) / percentile(few, 0.95)
            yield Figure(name=f"recall p95, {sizes.many_revisions:,} against {sizes.few_revisions:,}", value=ratio, unit="ratio", limit=1.5)
            tell("reading with the lens and without")
            yield from _lens(store, questions)
            tell(f"adding {sizes.rules:,} rules")
            yield from _rules(store, database, words, questions, sizes)
        finally:
            database.close()


def _asker(database: Database, mode: lens.Mode = "accepted") -> Ask:
    def ask(question: str) -> object:
        with lens.reading(database, TOKEN, "main", lens.View(mode=mode), timeout=30) as reading:
            return recall(reading, Question(text=question, limit=10, budget_bytes=16_384))

    return ask


def _measured(ask: Ask, questions: list[str]) -> list[float]:
    for question in questions[:20]:
        ask(question)
    return [timed(lambda question=question: ask(question)) for question in questions]


def _told(name: str, seconds: list[float]) -> Iterator[Figure]:
    yield Figure(name=f"{name}, p50", value=median(seconds) * 1000, unit="ms")
    yield Figure(name=f"{name}, p95", value=percentile(seconds, 0.95) * 1000, unit="ms")


WITH_LENS = "select v.id, v.value, v.withheld from lens.search_revisions(%s, 40) s join lens.revision v on v.id = s.revision_id"
WITHOUT_LENS = "select v.id, v.value from lens.search_revisions(%s, 40) s join ledger.revision v on v.id = s.revision_id"
OPEN = "select * from access.open_lens(%s, 'main', 'accepted', null, null, '{}', '{}', '{}')"


def _lens(store: Store, questions: list[str]) -> Iterator[Figure]:
    """The same search and the same rows: with the predicate as the gateway, without it as the superuser. In turn, in one run."""
    guarded: list[float] = []
    plain: list[float] = []
    with store.gateway() as gateway, store.admin() as admin:
        admin.execute("set jit = off")
        for number, question in enumerate([*questions[:20], *questions]):
            for connection, statement, seconds in ((gateway, WITH_LENS, guarded), (admin, WITHOUT_LENS, plain)):
                with connection.transaction():
                    connection.execute(OPEN, [TOKEN])
                    taken = timed(lambda c=connection, s=statement, q=question: c.execute(s, [q]).fetchall())
                if number >= 20:
                    seconds.append(taken)
    yield Figure(name="ranked search without the lens, p50", value=median(plain) * 1000, unit="ms")
    yield Figure(name="ranked search with the lens, p50", value=median(guarded) * 1000, unit="ms")
    yield Figure(
        name="lens against none, median of pairs", value=median([a / b for a, b in zip(guarded, plain, strict=True)]), unit="ratio", limit=2
    )


def _rules(store: Store, database: Database, words: Words, questions: list[str], sizes: Sizes) -> Iterator[Figure]:
    fill_chunks(store, words, max(2000, sizes.few_revisions // 10))
    asks = (_asker(database), _asker(database, "investigation"))
    before = [_measured(ask, questions) for ask in asks]
    add_rules(store, sizes.rules)
    after = [_measured(ask, questions) for ask in asks]
    for name, none, some in zip(("recall", "recall with raw evidence"), before, after, strict=True):
        ratio = percentile(some, 0.95) / percentile(none, 0.95)
        yield Figure(name=f"{name} p95, {sizes.rules:,} rules against none", value=ratio, unit="ratio", limit=1.3)
