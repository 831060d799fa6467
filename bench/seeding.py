"""Filling a store in bulk: the rows that the triggers would have written, by the same functions, set by set."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any, LiteralString
from uuid import UUID

from bench import made
from bench.figures import Say
from bench.stores import Connection, Store

PART = 25_000
CHUNK_LINES = (4, 16)
CHUNKS_A_SOURCE = 500
# one claim in ten has a second revision, which replaces the first
REVISED = 0.1
# one chunk in five states a claim literally
STATING = 0.2

STAGE_CHUNKS = """
create temp table stage (id uuid, source_id uuid, version_id uuid, ordinal int, first_line int, last_line int, text text) on commit drop
"""
ADD_SOURCES = """
insert into evidence.source (id, brain_id, kind, host, external_id, title, recorded_at)
select distinct source_id, %(brain)s::uuid, 'session', 'bench', source_id::text, 'made', %(at)s::timestamptz from stage
"""
ADD_VERSIONS = """
insert into evidence.version (id, brain_id, source_id, ordinal, last_event, line_count, digest, recorded_at)
select version_id, %(brain)s, source_id, 1, 0, max(last_line), '\\x00', %(at)s from stage group by version_id, source_id
"""
ADD_CHUNKS = """
insert into evidence.chunk (id, brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles, run_said,
                            digest)
select id, %(brain)s, source_id, version_id, ordinal, first_line, last_line, text, array[first_line], array['person'],
       array[%(at)s::timestamptz], sha256(convert_to(text, 'UTF8')) from stage
"""
INDEX_CHUNKS = "select evidence.index_chunks(v.version_id) from (select distinct version_id from stage) v"

STAGE_REVISIONS = """
create temp table stage (id uuid, claim_id uuid, ordinal int, recorded_at timestamptz, subject text, predicate text, value text,
                         statement text, repositories text[], valid_to timestamptz, accepted boolean, chunk_id uuid, line int)
  on commit drop
"""
ADD_CLAIMS = "insert into ledger.claim (id, brain_id) select distinct claim_id, %(brain)s::uuid from stage"
ADD_REVISIONS = """
insert into ledger.revision (id, brain_id, claim_id, ordinal, recorded_at, kind, subject, predicate, value, statement, repositories,
  valid_to, said_at, author_role, review, freshness, admission, origin, acceptance_policy, subject_key, predicate_key, value_key, family,
  rule_key, digest)
select s.id, %(brain)s, s.claim_id, s.ordinal, s.recorded_at, 'fact', s.subject, s.predicate, s.value, s.statement, s.repositories,
       s.valid_to, s.recorded_at, 'person', case when s.accepted then 'accepted' else 'proposed' end, 'current',
       case when s.accepted then 'accepted_by_policy' else 'proposed' end, 'literal', case when s.accepted then 'person_stated' end,
       k.subject_key, k.predicate_key, k.value_key, ledger.family_of(k.subject_key, k.predicate_key),
       ledger.rule_key_of(k.subject_key, k.predicate_key, k.value_key, 'affirms'), sha256(convert_to(s.statement, 'UTF8'))
  from stage s cross join lateral (select evidence.name_key(s.subject) as subject_key, evidence.name_key(s.predicate) as predicate_key,
                                          evidence.value_key(s.value) as value_key offset 0) k
"""
INDEX_REVISIONS = """
insert into ledger.revision_lexeme (revision_id, brain_id, lexemes)
select id, %(brain)s, array_to_tsvector(array[evidence.brain_lexeme(%(brain)s)])
       || evidence.lexemes(concat_ws(' ', subject, predicate, value, statement)) from stage
"""
ADD_SUPPORTS = """
insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line, role, said_at)
select %(brain)s, id, 1, chunk_id, line, line, 'person', recorded_at from stage
"""

REJECTED = """
insert into ledger.revision (brain_id, claim_id, ordinal, recorded_at, kind, subject, predicate, value, statement, repositories, said_at,
  author_role, review, lifecycle, freshness, admission, origin, reviewer_id, principal_id, reason, subject_key, predicate_key, value_key,
  family, rule_key, digest)
select r.brain_id, r.claim_id, r.ordinal + 1, clock_timestamp(), r.kind, r.subject, r.predicate, r.value, r.statement, r.repositories,
       r.said_at, r.author_role, 'rejected', r.lifecycle, r.freshness, 'reviewed', r.origin, %(person)s, %(person)s, 'made', r.subject_key,
       r.predicate_key, r.value_key, r.family, r.rule_key, r.digest
  from ledger.revision r
 where r.brain_id = %(brain)s and not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.ordinal > r.ordinal)
 order by md5(r.id::text) limit %(number)s
"""
REJECTED_INDEX = """
insert into ledger.revision_lexeme (revision_id, brain_id, lexemes)
select r.id, r.brain_id, x.lexemes from ledger.revision r join ledger.revision b on b.claim_id = r.claim_id and b.ordinal = r.ordinal - 1
  join ledger.revision_lexeme x on x.revision_id = b.id where r.review = 'rejected'
"""
REJECTED_SUPPORTS = """
insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line, role, said_at)
select r.brain_id, r.id, s.ordinal, s.chunk_id, s.first_line, s.last_line, s.role, s.said_at
  from ledger.revision r join ledger.revision b on b.claim_id = r.claim_id and b.ordinal = r.ordinal - 1
  join ledger.support s on s.revision_id = b.id where r.review = 'rejected'
"""
# the columns that ledger.fill_rule() fills
RULES = """
insert into ledger.rule (brain_id, revision_id, cause, rule_key, names, value_gram, value_words, value_length, repositories, areas,
                         environments, made_by, reason, recorded_at)
select r.brain_id, r.id, 'rejected', r.rule_key, ledger.word_digests(r.subject || ' ' || r.predicate), access.brain_word(r.value_key),
       ledger.word_digests(r.value), case when r.value_key !~ '^text:' then 1 else cardinality(regexp_split_to_array(
         trim(regexp_replace(evidence.fold(r.value), '[^[:alnum:].,]+', ' ', 'g')), ' ')) end,
       r.repositories, r.areas, r.environments, %(person)s, 'made', clock_timestamp()
  from ledger.revision r where r.review = 'rejected'
"""
# a chunk that states a claim was made with the claim's subject, predicate and value on its first line
HITS = """
insert into ledger.rule_hit (chunk_id, rule_id, brain_id, recorded_at)
select c.id, u.id, u.brain_id, u.recorded_at from ledger.rule u join ledger.revision r on r.id = u.revision_id
  join evidence.chunk c on split_part(c.text, chr(10), 1) = concat_ws(' ', r.subject, r.predicate, 'is', r.value)
on conflict do nothing
"""


Fill = Callable[[Connection, Store, int, int], None]
"""Fills part number so-and-so, of such a size."""


def fill_chunks(store: Store, number: int, say: Say) -> None:
    """Adds chunks of evidence in sources of 500 each; the first line of one in five states a claim of ``claims(part)``."""
    with _without_indexes(store, "evidence.chunk_lexeme"):
        _in_parts(store, number, _chunks_part, say, "chunks")


def fill_revisions(store: Store, start: int, stop: int, say: Say) -> None:
    """Adds the revisions from number ``start`` to ``stop``, each with a support in one of the store's chunks."""
    with _without_indexes(store, "ledger.revision", "ledger.revision_lexeme", "ledger.support"):
        _in_parts(store, stop - start, _revisions_part, say, "revisions", first=-(-start // PART))


def add_fresh(store: Store, number: int, *, after: int) -> None:
    """Adds revisions as they come in use: into the indexes as these are, with no vacuum behind them. ``after`` is how many there are."""
    with store.admin() as admin:
        for table in ("ledger.revision_lexeme", "evidence.chunk_lexeme"):
            admin.execute(f"alter table {table} set (autovacuum_enabled = off)".encode())
    _part(store, _revisions_part, -(-after // PART), number)


def add_rules(store: Store, number: int) -> None:
    """Rejects that many claims, as a person would have, with the rules and the hits that follow."""
    with store.admin() as admin:
        _begin(admin, store)
        parameters = {"brain": store.brain_id, "person": store.person_id, "number": number}
        for statement in (REJECTED, REJECTED_INDEX, REJECTED_SUPPORTS, RULES, HITS):
            admin.execute(statement, parameters)
    settle(store)


def settle(store: Store) -> None:
    """Does what time and the chores do in a store that is in use: statistics, clean indexes, the sample of common words."""
    with store.admin() as admin:
        admin.execute("vacuum analyze")
        # row-level security holds for the owner of the sampling function too
        admin.execute("select set_config('memoranda.brain', %s, false)", (str(store.brain_id),))
        for place in ("revision", "chunk"):
            admin.execute("select ledger.sample_words(%s, %s)", (store.brain_id, place))
        admin.execute("checkpoint")


def _in_parts(store: Store, number: int, fill: Fill, say: Say, what: str, *, first: int = 0) -> None:
    """Two connections fill parts of 25,000, each with a seed of its own."""
    sizes = [PART] * (number // PART) + ([number % PART] if number % PART else [])
    done = 0
    with ThreadPoolExecutor(2) as pool:
        for size in pool.map(partial(_part, store, fill), range(first, first + len(sizes)), sizes):
            done += size
            say(f"{done:,} of {number:,} {what}")


def _part(store: Store, fill: Fill, part: int, size: int) -> int:
    with store.admin() as admin:
        _begin(admin, store)
        with admin.transaction():
            fill(admin, store, part, size)
    return size


def _begin(admin: Connection, store: Store) -> None:
    admin.execute("set session_replication_role = replica")
    admin.execute("set jit = off")
    admin.execute("set work_mem = '128MB'")
    # the keys are made under the brain's secret
    admin.execute("select set_config('memoranda.brain', %s, false)", (str(store.brain_id),))


def _chunks_part(admin: Connection, store: Store, part: int, size: int) -> None:
    admin.execute(STAGE_CHUNKS)
    with admin.cursor().copy("copy stage from stdin") as copy:
        for row in _chunk_rows(part, size):
            copy.write_row(row)
    for statement in (ADD_SOURCES, ADD_VERSIONS, ADD_CHUNKS, INDEX_CHUNKS):
        admin.execute(statement, {"brain": store.brain_id, "at": made.START})


def _chunk_rows(part: int, size: int) -> Iterator[tuple[object, ...]]:
    draw = random.Random(part + 1000)
    words = made.Words(part + 2000)
    stated = made.claims(part)
    line = 1
    for place in range(size):
        ordinal = place % CHUNKS_A_SOURCE
        line = 1 if ordinal == 0 else line
        lines = draw.randint(*CHUNK_LINES)
        text = made.paragraph(words, lines)
        if draw.random() < STATING:
            claim = next(stated)
            text = f"{claim.subject} {claim.predicate} is {claim.value}\n{text}"
            lines += 1
        source = part * PART // CHUNKS_A_SOURCE + place // CHUNKS_A_SOURCE
        yield chunk_id(part * PART + place), _id(1, source), _id(2, source), ordinal + 1, line, line + lines - 1, text
        line += lines


def _revisions_part(admin: Connection, store: Store, part: int, size: int) -> None:
    row = admin.execute("select count(*) from evidence.chunk").fetchone()
    assert row is not None
    admin.execute(STAGE_REVISIONS)
    with admin.cursor().copy("copy stage from stdin") as copy:
        for made_row in _revision_rows(part, size, chunks=row[0]):
            copy.write_row(made_row)
    # a support cites the first line of its chunk
    admin.execute("update stage s set line = c.first_line from evidence.chunk c where c.id = s.chunk_id")
    statements: tuple[LiteralString, ...] = (ADD_CLAIMS, ADD_REVISIONS, INDEX_REVISIONS, ADD_SUPPORTS)
    for statement in statements:
        admin.execute(statement, {"brain": store.brain_id})


def _revision_rows(part: int, size: int, *, chunks: int) -> Iterator[tuple[object, ...]]:
    draw = random.Random(part + 3000)
    claims = made.claims(part)
    number = part * PART
    before: tuple[Any, ...] | None = None
    for place, claim in enumerate(islice(claims, size)):
        at = made.START + timedelta(seconds=(number + place) * 20)
        repositories = "{" + claim.repository + "}" if claim.repository else "{}"
        chunk = chunk_id(draw.randrange(chunks))
        if before is not None and draw.random() < REVISED:
            # a second revision of the claim before: the same words, a little later
            yield (_id(4, number + place), before[1], 2, at, *before[4:])
            before = None
            continue
        row: tuple[Any, ...] = (
            _id(4, number + place),
            _id(5, number + place),
            1,
            at,
            claim.subject,
            claim.predicate,
            claim.value,
            claim.statement,
            repositories,
            made.START if draw.random() < 0.03 else None,
            draw.random() < 0.75,
            chunk,
            1,
        )
        yield row
        before = row


def chunk_id(number: int) -> UUID:
    """The id of a made chunk."""
    return _id(3, number)


def _id(kind: int, number: int) -> UUID:
    """A version 7 id whose time is the number, so that ids ascend as real ones do; the last digits scatter them no further."""
    return UUID(f"{number:012x}-7000-8000-{kind:012x}".replace("-", ""))


INDEXES = """
select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) from pg_index i
 where i.indrelid = any (%s::regclass[]) and not i.indisunique and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
"""


@contextmanager
def _without_indexes(store: Store, *tables: str) -> Generator[None]:
    """Drops the indexes of tables that no constraint needs, and makes them again at the end: in bulk that is several times faster."""
    with store.admin() as admin:
        indexes = admin.execute(INDEXES, (list(tables),)).fetchall()
        for name, _ in indexes:
            admin.execute(f"drop index {name}".encode())
    yield
    with store.admin() as admin:
        admin.execute("set maintenance_work_mem = '512MB'")
        for _, definition in indexes:
            admin.execute(definition.encode())
