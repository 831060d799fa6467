"""The walls: the gateway reads the lens and nothing else, append-only rows stay, and one brain does not see another."""

from __future__ import annotations

import secrets
from uuid import uuid4

import psycopg
import pytest

from memoranda.domain.evidence import Scope
from memoranda_api.acting import Credential
from tests.world import World, digest

TABLES = """
select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg_toast%'
 order by 1
"""
KEPT = ["ledger.claim", "ledger.revision", "ledger.support", "ledger.derivation", "ledger.rule", "ledger.exemption", "ledger.receipt",
        "audit.entry", "evidence.event", "evidence.version", "evidence.chunk"]  # fmt: skip


@pytest.mark.guarantee(2)
def test_the_gateway_is_denied_on_every_table_that_exists(world: World) -> None:
    tables = [row["name"] for row in world.rows(TABLES)]
    assert len(tables) > 20
    for table in tables:
        for right in ("select", "insert", "update", "delete", "truncate", "references", "trigger"):
            granted = world.rows("select has_table_privilege('memoranda_gateway', %s, %s) as yes", table, right)[0]["yes"]
            assert not granted, f"the gateway may {right} {table}"
        columns = world.rows("select has_any_column_privilege('memoranda_gateway', %s, 'select') as yes", table)[0]["yes"]
        assert not columns, f"the gateway may select columns of {table}"


@pytest.mark.guarantee(2)
def test_a_table_made_tomorrow_is_denied_to_the_gateway_too(world: World) -> None:
    world.run("create table ledger.tomorrow (brain_id uuid, secret text)")
    assert not world.rows("select has_table_privilege('memoranda_gateway', 'ledger.tomorrow', 'select') as yes")[0]["yes"]


@pytest.mark.guarantee(2)
def test_the_gateway_reads_nothing_before_a_credential_opened_the_lens(world: World) -> None:
    world.capture("billing.port = 8080")
    views = [row["name"] for row in world.rows("select 'lens.' || viewname as name from pg_views where schemaname = 'lens'")]
    with psycopg.connect(world.database.dsn("memoranda_gateway")) as gateway:
        gateway.execute(
            "select set_config('memoranda.brain', %s, true), set_config('memoranda.mode', 'history', true)", [str(world.brain_id)]
        )
        gateway.execute("select set_config('memoranda.known_at', 'infinity', true), set_config('memoranda.fact_time', 'infinity', true)")
        gateway.execute("select set_config('memoranda.scope', '[[],[],[]]', true), set_config('memoranda.seal', 'forged', true)")
        for view in views:
            if world.rows("select has_table_privilege('memoranda_gateway', %s, 'select') as yes", view)[0]["yes"]:
                assert gateway.execute(f"select count(*) from {view}".encode()).fetchone() == (0,), view


@pytest.mark.guarantee(2)
def test_settings_changed_after_the_lens_was_opened_close_it(world: World) -> None:
    world.capture("billing.port = 8080")
    with world.lens("accepted", by=world.reader) as gateway:
        assert gateway.execute("select count(*) as n from lens.revision").fetchone() == {"n": 1}
        gateway.execute("select set_config('memoranda.mode', 'history', true)")
        assert gateway.execute("select count(*) as n from lens.revision").fetchone() == {"n": 0}


@pytest.mark.guarantee(2)
def test_the_lens_of_one_transaction_does_not_open_the_next(world: World) -> None:
    world.capture("billing.port = 8080")
    with world.lens() as gateway:
        seal = gateway.execute("select current_setting('memoranda.seal') as seal").fetchone()
        assert seal is not None
        gateway.commit()
        assert gateway.execute("select count(*) as n from lens.revision").fetchone() == {"n": 0}


@pytest.mark.guarantee(2)
def test_history_is_refused_to_a_token_that_was_not_given_it(world: World) -> None:
    with psycopg.connect(world.database.dsn("memoranda_gateway")) as gateway:
        row = gateway.execute(
            "select refused from access.open_lens(%s, 'main', 'history', null, null, '{}', '{}', '{}')", [world.agent.digest]
        ).fetchone()
    assert row == ("history_needs_reviewer",)


@pytest.mark.guarantee(8)
@pytest.mark.parametrize("table", KEPT)
@pytest.mark.parametrize("role", ["memoranda_command", "memoranda_learner", "memoranda_ingest", "memoranda_gateway"])
def test_no_serving_role_may_change_or_delete_what_is_append_only(world: World, table: str, role: str) -> None:
    for right in ("update", "delete", "truncate"):
        assert not world.rows("select has_table_privilege(%s, %s, %s) as yes", role, table, right)[0]["yes"], right
    assert not world.rows("select has_any_column_privilege(%s, %s, 'update') as yes", role, table)[0]["yes"]


@pytest.mark.guarantee(8)
def test_even_the_owner_cannot_change_or_delete_what_is_append_only(world: World) -> None:
    world.capture("billing.port = 8080")
    world.decide(world.claim_of("8080"), "reject")
    with world.admin() as admin:
        for table in KEPT:
            if not admin.execute(f"select 1 from {table} limit 1".encode()).fetchone():
                continue
            for statement in (f"delete from {table}", f"truncate {table} cascade"):
                with pytest.raises(psycopg.Error, match="append-only"):
                    admin.execute(statement.encode())
        with pytest.raises(psycopg.Error, match="append-only"):
            admin.execute("update ledger.revision set value = 'x'")
        with pytest.raises(psycopg.Error, match="append-only"):
            admin.execute("update audit.entry set reason = 'x'")


@pytest.mark.guarantee(8)
def test_erasure_leaves_the_row_its_times_and_its_digest(world: World) -> None:
    world.capture("billing.port = 8080")
    claim = world.claim_of("8080")
    before = world.rows("select id, recorded_at, digest, rule_key from ledger.revision where claim_id = %s", claim)
    world.decide(claim, "erase")
    after = world.rows("select id, recorded_at, digest, rule_key from ledger.revision where claim_id = %s", claim)
    assert after == before
    assert world.rows("select value, statement, subject_key from ledger.revision") == [
        {"value": None, "statement": None, "subject_key": None}
    ]


@pytest.mark.guarantee(4)
def test_a_credential_of_one_brain_does_not_open_another(world: World) -> None:
    other = world.rows("select access.add_brain('other', 'Other', 'review', %s) as id", world.agent_id)[0]["id"]
    assert other
    with psycopg.connect(world.database.dsn("memoranda_gateway")) as gateway:
        for brain in ("other", "nowhere"):
            row = gateway.execute(
                "select * from access.open_lens(%s, %s, 'accepted', null, null, '{}', '{}', '{}')", [world.person.digest, brain]
            ).fetchone()
            assert row is None


@pytest.mark.guarantee(4)
def test_every_table_with_a_brain_has_forced_row_security(world: World) -> None:
    open_tables = world.rows("""
        select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
          join pg_attribute a on a.attrelid = c.oid and a.attname = 'brain_id' and not a.attisdropped
         where c.relkind in ('r', 'p') and n.nspname <> 'pg_catalog' and not (c.relrowsecurity and c.relforcerowsecurity)""")
    assert open_tables == []


@pytest.mark.guarantee(4)
def test_a_workers_role_sees_only_the_brain_that_it_serves(world: World) -> None:
    world.capture("billing.port = 8080")
    other = world.rows("select access.add_brain('other', 'Other', 'review', %s) as id", world.person_id)[0]["id"]
    with psycopg.connect(world.database.dsn("memoranda_learner")) as learner:
        assert learner.execute("select count(*) from evidence.chunk").fetchone() == (0,)
        learner.execute("select access.serve(%s)", [other])
        assert learner.execute("select count(*) from evidence.chunk").fetchone() == (0,)
        learner.execute("select access.serve(%s)", [world.brain_id])
        assert learner.execute("select count(*) from evidence.chunk").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            learner.execute("insert into ledger.claim (brain_id) values (%s)", [other])


@pytest.mark.guarantee(4)
def test_search_finds_nothing_of_another_brain(world: World) -> None:
    world.capture("billing.port = 8080")
    owner = secrets.token_hex(8)
    with world.admin() as admin:
        person = admin.execute("insert into access.principal (kind, name) values ('person', 'Eve') returning id").fetchone()
        assert person is not None
        admin.execute("select access.add_brain('other', 'Other', 'review', %s)", [person["id"]])
        admin.execute(
            "insert into access.browser_session (digest, csrf_digest, principal_id, expires_at)"
            " values (%s, %s, %s, now() + interval '1 hour')",
            [digest(owner), digest("c"), person["id"]],
        )
    with world.lens("history", by=Credential(digest=digest(owner)), brain="other") as gateway:
        for statement in (
            "select revision_id from lens.search_revisions('billing port', 50)",
            "select chunk_id from lens.search_chunks('billing port', 50)",
            "select revision_id from lens.find_exact('billing', 50)",
            "select id from lens.revision",
            "select id from lens.chunk",
            "select id from lens.audit where subject_type <> 'brain'",
            "select id from lens.job",
            "select id from lens.source",
        ):
            assert gateway.execute(statement.encode()).fetchall() == [], statement


@pytest.mark.guarantee(3)
@pytest.mark.parametrize("mode", ["accepted", "operational", "investigation"])
def test_a_withheld_row_shows_no_content_in_any_column(world: World, mode: str) -> None:
    world.capture([("person", "vault.password-hint = canaryvalue"), ("assistant", "canaryvalue is what vault's password hint says")])
    world.decide(world.claim_of("canaryvalue"), "reject")
    world.capture("Vault.Password_Hint = CanaryValue", session="again")
    with world.lens(mode) as gateway:  # pyright: ignore[reportArgumentType]
        for view in ("revision", "chunk", "support", "source", "conflict", "job"):
            for row in gateway.execute(f"select * from lens.{view}".encode()).fetchall():
                assert "canaryvalue" not in str(row).lower(), (view, row)


def test_an_unknown_id_and_one_of_another_scope_are_told_apart_only_by_their_reason(world: World) -> None:
    world.capture("billing.port = 8080", scope=Scope(repositories=("shop",)))
    assert world.values(scope=Scope(repositories=("other",))) == []
    assert world.withheld(scope=Scope(repositories=("other",))) == {"out_of_scope": 1}
    with world.lens() as gateway:
        assert gateway.execute("select * from lens.revision where claim_id = %s", [uuid4()]).fetchall() == []
