"""The main job, end to end through the store: captured, learned, recalled, corrected, and the correction holds."""

from __future__ import annotations

from tests.world import World


def test_what_a_person_stated_is_accepted_and_what_an_assistant_stated_is_a_proposal(world: World) -> None:
    world.capture([("person", "billing-service.port = 8080"), ("assistant", "billing-service.timeout = 30s")])
    assert world.values() == ["8080"]
    assert world.withheld() == {"unreviewed": 1}
    assert world.values("investigation") == ["8080", "30s"]


def test_a_corrected_value_is_answered_anew_and_as_of_before_as_it_was(world: World) -> None:
    world.capture("billing-service.port = 8080")
    before = world.now()
    world.decide(world.claim_of("8080"), "correct", value="9090", reason="moved behind the proxy")
    assert world.values() == ["9090"]
    assert world.values(at=before) == ["8080"]


def test_a_session_that_repeats_a_rejected_value_is_blocked_and_its_text_withheld(world: World) -> None:
    world.capture("billing-service.port = 8080")
    world.decide(world.claim_of("8080"), "correct", value="9090")
    world.capture("Billing_Service.PORT = 8,080", session="session-2")
    assert world.values() == ["9090"]
    assert world.values("investigation") == ["9090"]
    assert world.withheld("investigation") == {"blocked_by_rule": 1}
    assert [row["withheld"] for row in world.chunks() if row["source_kind"] == "session"] == ["repeats_rejected_value"] * 2
