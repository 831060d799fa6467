"""Asking, remembering, deciding: what the commands answer, and with which exit code."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli import sessions
from tests.standalone.profiles import Profile, cli

QUESTION = "Which port does billing-service use?"


def accepted(profile: Profile, subject: str, *options: str) -> list[str]:
    """The accepted values of a subject's port; an answer may hold other subjects' ports, too."""
    answer = profile.cli("recall", f"{subject} port", "--json", *options).json
    return [claim["value"] for claim in answer["accepted"] if claim["subject"] == subject]


def test_an_answer_names_the_author_and_the_line(remembering: Profile) -> None:
    said = remembering.cli("recall", QUESTION)
    assert said.code == 0
    assert "8080" in said.out
    assert "“billing-service.port = 8080” person" in said.out
    assert "withheld" in said.out


@pytest.mark.guarantee(6)
def test_accepted_holds_nothing_that_an_assistant_or_a_tool_said(remembering: Profile) -> None:
    wide = remembering.cli("recall", "billing-service timeout retries", "--mode", "investigation", "--json").json
    assert {claim["author_role"] for claim in wide["accepted"]} <= {"person"}
    assert {"assistant", "tool"} <= {claim["author_role"] for claim in wide["proposed"]}


def test_recalled_text_is_never_read_as_mark_up(profile: Profile, tmp_path: Path) -> None:
    profile.cli("import", sessions.write(tmp_path, 'markup-shop.motto = "half [bold red]price[/nothing] today"'))
    assert "half [bold red]price[/nothing] today" in profile.cli("recall", "markup-shop motto").out


def test_a_past_time_answers_as_it_was_known_then(remembering: Profile) -> None:
    answer = remembering.cli("recall", QUESTION, "--at", "2020-01-01", "--json").json
    assert not answer["accepted"]


def test_a_time_that_is_none_is_wrong_usage(remembering: Profile) -> None:
    said = remembering.cli("recall", QUESTION, "--at", "yesterday")
    assert said.code == 2
    assert "yesterday" in said.err


def test_what_is_remembered_is_a_proposal_until_a_person_accepts_it(profile: Profile) -> None:
    made = profile.cli("remember", "remember-shop", "port", "7070", "--json").json
    assert made["review"] == "proposed"
    assert not accepted(profile, "remember-shop")
    profile.sign_in()
    assert profile.cli("review", "accept", made["claim_id"], "--reason", "it is so").code == 0
    assert accepted(profile, "remember-shop") == ["7070"]
    assert profile.cli("claims", "show", made["claim_id"], "--json").json["reviewer"] == profile.told["person"]


def test_a_sentence_alone_is_a_note(profile: Profile) -> None:
    said = profile.cli("remember", "--statement", "The canteen closes at two", "--json")
    assert said.code == 0
    shown = profile.cli("claims", "show", said.json["claim_id"], "--json").json
    assert (shown["kind"], shown["statement"]) == ("note", "The canteen closes at two")


def test_half_a_claim_is_wrong_usage(profile: Profile) -> None:
    assert profile.cli("remember", "only-a-subject").code == 2


@pytest.mark.guarantee(1)
def test_a_corrected_value_stays_out_and_the_history_says_why(profile: Profile, tmp_path: Path) -> None:
    profile.cli("import", sessions.write(tmp_path, "corrected-shop.port = 8081"))
    claim = profile.cli("claims", "list", "--subject", "corrected-shop", "--json").json["items"][0]["claim_id"]
    before = datetime.now(UTC).isoformat()
    profile.sign_in()
    assert profile.cli("review", "correct", claim, "9091", "--reason", "it moved").code == 0
    again = profile.cli("import", sessions.write(tmp_path, "Corrected_Shop.Port = 8,081"), "--json").json
    assert again["claims"]["blocked"] == 1
    assert accepted(profile, "corrected-shop") == ["9091"]
    assert accepted(profile, "corrected-shop", "--at", before) == ["8081"]
    history = profile.cli("claims", "history", claim)
    assert history.code == 0
    assert "it moved" in history.out


def test_reviewing_needs_a_person(profile: Profile, tmp_path: Path) -> None:
    made = profile.cli("remember", "unreviewed-shop", "port", "1", "--json").json
    profile.target.place.person.unlink(missing_ok=True)
    said = profile.cli("review", "accept", made["claim_id"], "--reason", "why not")
    assert said.code == 1
    assert "sign-in --here" in said.err


def test_a_program_cannot_sign_in_here(profile: Profile) -> None:
    said = profile.cli("sign-in", "--here")
    assert said.code == 1
    assert "person at a terminal" in said.err


def test_listings_answer(remembering: Profile) -> None:
    for words in (("claims", "list"), ("sources", "list"), ("jobs", "list"), ("conflicts", "list")):
        assert remembering.cli(*words).code == 0
        assert isinstance(remembering.cli(*words, "--json").json, dict)


def test_a_source_is_shown_and_erased_by_a_person(profile: Profile, tmp_path: Path) -> None:
    done = profile.cli("import", sessions.write(tmp_path, "erased-shop.port = 3"), "--json").json
    source = done["files"][0]["sources"][0]
    assert profile.cli("sources", "show", source).code == 0
    profile.sign_in()
    assert profile.cli("sources", "erase", source, "--reason", "private", "--yes").code == 0
    assert not profile.cli("claims", "list", "--subject", "erased-shop", "--json").json["items"]


def test_an_unknown_claim_is_a_message(profile: Profile) -> None:
    said = profile.cli("claims", "show", "00000000-0000-7000-8000-000000000000")
    assert said.code == 1
    assert said.err.startswith("memoranda: ")


def test_colours_are_for_terminals(remembering: Profile) -> None:
    assert "\x1b" not in remembering.cli("recall", QUESTION).out
    assert "\x1b" in remembering.cli("recall", QUESTION, FORCE_COLOR="1").out
    assert "\x1b" not in remembering.cli("recall", QUESTION, NO_COLOR="1", TERM="xterm-256color").out


def test_the_configuration_names_address_and_token(profile: Profile) -> None:
    said = profile.cli("mcp-config", "claude")
    assert f"claude mcp add --transport http --scope user memoranda {profile.told['mcp']}" in said.out
    assert profile.told["token"] in said.out
    assert profile.cli("mcp-config", "emacs").code == 2


def test_the_doctor_finds_nothing_wrong_where_nothing_is(profile: Profile) -> None:
    said = profile.cli("doctor", "--json")
    assert said.json["ok"], said.out
    assert said.code == 0


def test_the_doctor_says_what_is_wrong_and_how_to_mend_it(tmp_path: Path) -> None:
    said = cli("doctor", "--data", tmp_path / "nothing", "--json")
    assert said.code == 1
    server = next(finding for finding in said.json["findings"] if finding["what"] == "server")
    assert "memoranda up" in server["mend"]


def test_help_is_quick_and_names_the_exit_codes() -> None:
    began = datetime.now(UTC)
    said = cli("--help")
    assert (datetime.now(UTC) - began).total_seconds() < 2
    assert "Exit codes" in said.out


def test_with_json_an_error_is_an_object(profile: Profile) -> None:
    wrongs = (("claims", "show", "nonsense"), ("claims", "show"), ("claims", "show", "00000000-0000-7000-8000-000000000000"))
    said = [profile.cli(*words, "--json") for words in wrongs]
    assert [each.code for each in said] == [2, 2, 1]
    assert [each.json["error"]["code"] for each in said] == ["usage", "usage", "not_found"]
    assert all(each.json["error"].keys() == {"code", "message", "mend"} for each in said)


def test_a_token_that_cannot_be_one_is_told_as_such(profile: Profile) -> None:
    said = profile.cli("claims", "list", MEMORANDA_TOKEN="mém")
    assert said.code == 2
    assert "MEMORANDA_TOKEN" in said.err


def test_the_version_is_told() -> None:
    said = cli("--version")
    assert said.code == 0
    assert said.out.startswith("memoranda ")
