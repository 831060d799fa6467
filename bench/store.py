"""A store to measure: a private Postgres with a brain, filled in bulk with what its triggers would have written."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import psycopg

from bench.made import Words
from memoranda import migrations
from memoranda_up.postgres import Postgres

TOKEN = b"t" * 32
SESSION = b"s" * 32
CSRF = b"c" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A migrated database with the brain 'main' and a reader's token."""

    postgres: Postgres
    database: str
    brain: UUID
    person: UUID

    def admin(self) -> psycopg.Connection[Any]:
        """A superuser's connection."""
        return psycopg.connect(self.postgres.dsn("postgres", self.database), autocommit=True)

    def gateway(self) -> psycopg.Connection[Any]:
        """The gateway's connection."""
        return psycopg.connect(self.postgres.dsn("memoranda_gateway", self.database), autocommit=True)

    @property
    def conninfo(self) -> str:
        """Without a user, as the settings have it."""
        return psycopg.conninfo.make_conninfo(self.postgres.dsn("postgres", self.database), user=None)


@contextmanager
def opened() -> Generator[Store]:
    """A store in a temporary folder, gone afterwards."""
    with (
        TemporaryDirectory(prefix="memoranda-bench-", ignore_cleanup_errors=True) as folder,
        Postgres.start(Path(folder) / "data") as postgres,
    ):
        migrations.upgrade(postgres.dsn())
        with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
            person = _one(admin, "insert into access.principal (kind, name) values ('person', 'bench') returning id")
            brain = _one(admin, "select access.add_brain('main', 'Main', 'person_stated', %s)", person)
            _one(admin, "select access.issue_token(%s, null, %s, 'admin', true, 'bench', null)", TOKEN, person)
            admin.execute(
                "insert into access.browser_session (digest, csrf_digest, principal_id, expires_at) values (%s, %s, %s, now() + interval '1 d')",
                [SESSION, CSRF, person],
            )
            database = _one(admin, "select current_database()")
        yield Store(postgres=postgres, database=database, brain=brain, person=person)


def _one(connection: psycopg.Connection[Any], statement: str, *parameters: object) -> Any:
    row = connection.execute(statement.encode(), parameters or None).fetchone()
    assert row is not None
    return row[0]


LOAD = """
with made as (
  select row_number() over () as place, l.* from loaded l
), claims as (
  insert into ledger.claim (id, brain_id) select claim_id, %(brain)s from made returning 1
), revisions as (
  insert into ledger.revision (id, brain_id, claim_id, ordinal, recorded_at, kind, subject, predicate, value, statement, said_at,
    author_role, review, acceptance_policy, admission, origin, subject_key, predicate_key, value_key, family, rule_key, digest)
  select m.revision_id, %(brain)s, m.claim_id, 1, now() - interval '1 day' + m.place * interval '1 microsecond', 'fact', m.subject,
    m.predicate, m.value, m.statement, now() - interval '1 day', 'person', 'accepted', 'person_stated', 'accepted_by_policy', 'literal',
    k.subject, k.predicate, k.value, ledger.family_of(k.subject, k.predicate),
    ledger.rule_key_of(k.subject, k.predicate, k.value, 'affirms'), '\\x00'
    from made m cross join lateral (select evidence.name_key(m.subject) as subject, evidence.name_key(m.predicate) as predicate,
                                           evidence.value_key(m.value) as value) k
  returning id
), supports as (
  insert into ledger.support (brain_id, revision_id, ordinal, chunk_id, first_line, last_line, role, said_at)
  select %(brain)s, m.revision_id, 1, %(chunk)s, 1, 1, 'person', now() - interval '1 day' from made m returning 1
)
insert into ledger.revision_lexeme (revision_id, brain_id, lexemes)
select m.revision_id, %(brain)s, array_to_tsvector(array[evidence.brain_lexeme(%(brain)s)])
       || evidence.lexemes(concat_ws(' ', m.subject, m.predicate, m.value, m.statement)) from made m
"""


def fill(store: Store, words: Words, revisions: int) -> None:
    """Adds accepted claims of one revision each to the brain. Triggers are off: the columns are what they would have written."""
    with store.admin() as admin:
        admin.execute("set session_replication_role = replica")
        admin.execute("set work_mem = '256MB'")
        admin.execute("select set_config('memoranda.brain', %s, false)", [str(store.brain)])
        chunk = _chunk(admin, store)
        done = 0
        while done < revisions:
            part = min(20_000, revisions - done)
            admin.execute(
                "create temp table loaded (revision_id uuid, claim_id uuid, subject text, predicate text, value text, statement text)"
            )
            with admin.cursor().copy("copy loaded from stdin") as copy:
                for number in range(part):
                    copy.write_row(_claim(words, done + number))
            admin.execute(LOAD, {"brain": store.brain, "chunk": chunk})
            admin.execute("drop table loaded")
            done += part
        admin.execute("analyze")
        admin.execute("select ledger.sample_words(%s, 'revision')", [store.brain])


def _claim(words: Words, number: int) -> tuple[str, str, str, str, str, str]:
    subject, predicate, value = words.identifier(), words.identifier(), " ".join(words.some(2))
    identity = hashlib.sha256(f"{subject}{predicate}{number}{value}".encode()).hexdigest()
    return (identity[:32], identity[32:], subject, predicate, value, words.sentence())


def _chunk(admin: psycopg.Connection[Any], store: Store) -> UUID:
    source = _one(
        admin,
        "insert into evidence.source (brain_id, kind, host, external_id) values (%s, 'session', 'bench', gen_random_uuid()::text) returning id",
        store.brain,
    )
    version = _one(
        admin,
        "insert into evidence.version (brain_id, source_id, ordinal, last_event, line_count, digest, recorded_at)"
        " values (%s, %s, 1, 0, 1, '', now() - interval '2 days') returning id",
        store.brain,
        source,
    )
    return _one(
        admin,
        "insert into evidence.chunk (brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles, run_said, digest)"
        " values (%s, %s, %s, 1, 1, 1, 'as was said', '{1}', '{person}', '{null}', '') returning id",
        store.brain,
        source,
        version,
    )


def fill_chunks(store: Store, words: Words, chunks: int) -> None:
    """Adds chunks of raw evidence to the brain, with their words in the index."""
    with store.admin() as admin:
        admin.execute("set session_replication_role = replica")
        admin.execute("select set_config('memoranda.brain', %s, false)", [str(store.brain)])
        model = _chunk(admin, store)
        admin.execute("create temp table texts (place int, original text)")
        with admin.cursor().copy("copy texts from stdin") as copy:
            for number in range(chunks):
                copy.write_row((number + 2, " ".join(words.sentence() for _ in range(8))))
        admin.execute(
            """with added as (
                 insert into evidence.chunk (brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles,
                   run_said, digest)
                 select c.brain_id, c.source_id, c.version_id, t.place, t.place, t.place, t.original, array[t.place], '{tool}', '{null}', ''
                   from texts t, evidence.chunk c where c.id = %s returning id, brain_id, text)
               insert into evidence.chunk_lexeme (chunk_id, brain_id, lexemes)
               select id, brain_id, array_to_tsvector(array[evidence.brain_lexeme(brain_id)]) || evidence.split_lexemes(text) from added""",
            [model],
        )
        admin.execute("drop table texts")
        admin.execute("analyze")
        admin.execute("select ledger.sample_words(%s, 'chunk')", [store.brain])


RULES = """
insert into ledger.rule (brain_id, revision_id, cause, rule_key, names, value_gram, value_words, value_length, repositories, areas,
  environments, made_by, recorded_at)
select r.brain_id, r.id, 'rejected', access.brain_hmac('some other value ' || r.id::text), ledger.word_digests(r.subject || ' ' || r.predicate),
  access.brain_word('text:other ' || r.id::text), '{}', 1, '{}', '{}', '{}', %(person)s, now() - interval '1 hour'
  from (select * from ledger.revision where brain_id = %(brain)s limit %(rules)s) r
"""


def add_rules(store: Store, rules: int) -> None:
    """Adds rules about subjects that the brain has and values that it does not: they are asked on every read, and hide nothing."""
    with store.admin() as admin:
        admin.execute("set session_replication_role = replica")
        admin.execute("select set_config('memoranda.brain', %s, false)", [str(store.brain)])
        admin.execute(RULES, {"brain": store.brain, "person": store.person, "rules": rules})
        admin.execute("analyze ledger.rule")
