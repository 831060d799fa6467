"""Search: any word may match, rare words count more, and a common word does not make a large brain slow or an answer wrong."""

from __future__ import annotations

import pytest

from tests.world import World


def found(world: World, question: str) -> list[str]:
    with world.lens() as gateway:
        rows = gateway.execute(
            "select v.value from lens.search_revisions(%s, 50) s join lens.revision v on v.id = s.revision_id order by s.score desc",
            [question],
        ).fetchall()
    return [row["value"] for row in rows]


@pytest.mark.parametrize(
    "question",
    [
        "which port does the billing service use?",
        "billing_service",
        "billingService",
        "billing service ports",
        "Billing-Service port",
        "8080",
    ],
)
def test_a_question_in_whole_sentences_or_in_any_spelling_of_an_identifier_finds_the_claim(world: World, question: str) -> None:
    world.capture("billing-service.port = 8080\nshop.color = red")
    assert found(world, question)[0] == "8080"


def test_a_rare_word_counts_more_than_a_common_one(world: World) -> None:
    lines = [f"service-{number}.timeout = {number} seconds" for number in range(40)]
    world.capture("\n".join([*lines, "zanzibar.limit = 7"]))
    assert found(world, "what is the timeout limit of the zanzibar service")[0] == "7"


def test_accents_and_width_do_not_matter(world: World) -> None:
    world.capture("café.öffnung = 9")
    assert found(world, "ｃａｆｅ offnung") == ["9"]


@pytest.mark.parametrize("question", ["the of and", "!!!", "'", "a:b & c | !d <-> (", "\\", "%s", "x" * 2000, "🙂", "брйн"])
def test_no_question_is_an_error(world: World, question: str) -> None:
    world.capture("billing.port = 8080")
    assert found(world, question) in ([], ["8080"])


def test_words_that_match_most_of_a_large_brain_are_bounded_and_the_rare_one_still_finds_its_claim(world: World) -> None:
    world.run(
        """
        set session_replication_role = replica;
        with made as (select gen_random_uuid() as id, gen_random_uuid() as claim, number from generate_series(1, 4000) number),
        claims as (insert into ledger.claim (id, brain_id) select claim, b.id from made, access.brain b),
        added as (
          insert into ledger.revision (id, brain_id, claim_id, ordinal, recorded_at, kind, subject, predicate, value, statement, said_at,
            author_role, review, acceptance_policy, admission, origin, subject_key, predicate_key, value_key, family, rule_key, digest)
          select m.id, b.id, m.claim, 1, now() - interval '1 hour', 'fact', 'common service ' || m.number, 'setting', 'v' || m.number, 'x',
            now(), 'person', 'accepted', 'person_stated', 'accepted_by_policy', 'literal', 'common service ' || m.number, 'setting',
            'text:v' || m.number, '', m.id::text::bytea, ''
            from made m, access.brain b returning *)
        insert into ledger.revision_lexeme (revision_id, brain_id, lexemes)
        select a.id, a.brain_id, array_to_tsvector(array[evidence.brain_lexeme(a.brain_id)])
               || evidence.lexemes(a.subject || ' ' || a.value) from added a
        """
    )
    world.capture("zanzibar service.setting = seven")
    with world.admin() as admin:
        admin.execute("select set_config('memoranda.brain', %s, false)", [str(world.brain_id)])
        sampled = admin.execute("select ledger.sample_words(%s, 'revision') as first", [world.brain_id]).fetchone()
        again = admin.execute("select ledger.sample_words(%s, 'revision') as second", [world.brain_id]).fetchone()
        common = admin.execute("select lexeme, share from ledger.common_word order by share desc limit 2").fetchall()
    assert (sampled, again) == ({"first": True}, {"second": False})
    assert {row["lexeme"] for row in common} == {"common", "servic"}
    with world.lens() as gateway:
        rows = gateway.execute("select * from lens.search_revisions('setting of the common zanzibar service', 2000)").fetchall()
        assert len(rows) == 1, "a rare word picks alone"
        rows = gateway.execute("select * from lens.search_revisions('common service', 2000)").fetchall()
        assert len(rows) == 1000
        assert all(row["bounded"] for row in rows)
