"""Importing: what is good is kept, what is not is counted and shown with its place, and nothing is stored twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import sessions
from tests.standalone.profiles import Profile, cli, watching

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"


def test_a_session_is_new_then_unchanged_then_longer(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "import-shop.port = 1001")
    first = profile.cli("import", path, "--json").json
    again = profile.cli("import", path, "--json").json
    with path.open("a") as file:
        file.write(sessions.record("import-shop.owner = Ada", path.stem) + "\n")
    longer = profile.cli("import", path, "--json").json
    assert [each["changes"] for each in (first, again, longer)] == [{"new": 1}, {"unchanged": 1}, {"longer": 1}]
    assert (first["new"], again["new"], longer["new"]) == (1, 0, 1)
    assert first["claims"]["accepted"] == 1


def test_a_truncated_last_line_is_named_and_the_rest_is_kept(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "one", "two", tail='{"type":"user","mess')
    said = profile.cli("import", path)
    assert said.code == 0
    assert "2 new" in said.out
    assert f"{path.name}:3" in said.out.replace("\n", "")


def test_invalid_utf_8_is_replaced_and_named(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "caf@ opens at nine", "good")
    path.write_bytes(path.read_bytes().replace(b"@", b"\xe9"))
    said = profile.cli("import", path)
    assert said.code == 0
    assert "2 new" in said.out
    assert f"{path.name}:1" in said.out.replace("\n", "")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x89PNG\r\n\x1a\n", b"[1, 2]"])
def test_a_file_that_is_no_session_is_refused_by_name(profile: Profile, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange.jsonl"
    path.write_bytes(content)
    said = profile.cli("import", path)
    assert said.code == 1
    assert "refused" in said.out
    assert str(path) in said.out.replace("\n", "")


def test_a_folder_without_sessions_is_an_answer_and_no_silence(profile: Profile, tmp_path: Path) -> None:
    said = profile.cli("import", tmp_path)
    assert said.code == 1
    assert str(tmp_path) in said.err.replace("\n", "")
    assert "mend" in said.err


def test_a_path_that_does_not_exist_is_named(profile: Profile, tmp_path: Path) -> None:
    said = profile.cli("import", tmp_path / "nowhere.jsonl")
    assert said.code == 1
    assert "nowhere.jsonl" in said.out


def test_one_bad_file_stops_no_other(profile: Profile, tmp_path: Path) -> None:
    (tmp_path / "a-bad.jsonl").write_bytes(b"")
    sessions.write(tmp_path, "a good one")
    said = profile.cli("import", tmp_path, "--json")
    assert said.code == 0
    assert said.json["changes"] == {"refused": 1, "new": 1}


@pytest.mark.guarantee(3)
def test_a_secret_is_masked_before_it_is_sent_and_never_comes_back(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "masking-shop.region = eu", f"the key is {KEY}")
    done = profile.cli("import", path, "--json").json
    assert sum(done["masked"].values()) == 1
    answer = profile.cli("recall", "masking-shop region key", "--mode", "investigation", "--json")
    assert KEY not in answer.out
    assert answer.json["accepted"]


def test_a_dry_run_needs_no_server_and_sends_nothing(tmp_path: Path) -> None:
    said = cli("import", sessions.write(tmp_path, "one", "two"), "--dry-run", "--json")
    assert said.code == 0
    assert (said.json["dry_run"], said.json["events"], said.json["new"]) == (True, 2, 0)


def test_a_text_of_several_megabytes_arrives_whole(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "\n".join(f"line {number} of a long log" for number in range(120_000)) + "\nlong-shop.last = yes")
    done = profile.cli("import", path, "--json").json
    assert done["files"][0]["refused"] is None
    assert done["new"] > 1
    assert profile.cli("claims", "list", "--subject", "long-shop", "--json").json["items"][0]["value"] == "yes"


def test_the_scope_that_was_asked_for_is_the_claims(profile: Profile, tmp_path: Path) -> None:
    profile.cli(
        "import", sessions.write(tmp_path, "scoped-shop.port = 1"), "--repository", "https://example.org/a.git", "--environment", "prod"
    )
    scope = profile.cli("claims", "list", "--subject", "scoped-shop", "--json").json["items"][0]["scope"]
    assert (scope["repositories"], scope["environments"]) == (["https://example.org/a.git"], ["prod"])


def test_without_a_path_and_without_agents_it_says_where_it_looked(profile: Profile) -> None:
    said = profile.cli("import")
    assert said.code == 1
    assert ".claude/projects" in said.err


def test_without_a_path_it_reads_the_agents_folders(profile: Profile, tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-work-shop"
    folder.mkdir(parents=True)
    sessions.write(folder, "found in the home folder")
    assert profile.cli("import", "--json", HOME=str(tmp_path)).json["new"] == 1


def test_nobody_at_the_address_is_exit_code_3(tmp_path: Path) -> None:
    said = cli("import", sessions.write(tmp_path, "one"), "--url", "http://127.0.0.1:1")
    assert said.code == 3
    assert "does not answer" in said.err


def test_a_wrong_token_ends_the_import_with_the_reason(profile: Profile, tmp_path: Path) -> None:
    said = profile.cli("import", sessions.write(tmp_path, "one"), MEMORANDA_TOKEN="mem_" + "x" * 43)
    assert said.code == 1
    assert "mend" in said.err
    json.loads(profile.cli("jobs", "list", "--json").out)


def test_a_watched_session_is_imported_as_it_grows(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "watched-shop.port = 1")
    with watching(profile, tmp_path) as watcher:
        assert "1 new" in watcher.line_with("events ")
        watcher.line_with("watching ")
        with path.open("a") as file:
            file.write(sessions.record("watched-shop.owner = Ada", path.stem) + "\n")
        assert watcher.line_with("new events").rstrip().endswith(f"{path.name}: 1 new events")
        assert watcher.interrupted() == 0
    values = [claim["value"] for claim in profile.cli("claims", "list", "--subject", "watched-shop", "--json").json["items"]]
    assert sorted(values) == ["1", "Ada"]


@pytest.mark.parametrize("paths", [("",), ("", "elsewhere")])
def test_an_empty_path_is_wrong_usage_and_not_the_current_folder(paths: tuple[str, ...]) -> None:
    said = cli("import", "--dry-run", *paths)
    assert said.code == 2
    assert said.out == ""
    assert "empty" in said.err


def test_a_source_that_was_erased_is_passed_over(profile: Profile, tmp_path: Path) -> None:
    path = sessions.write(tmp_path, "gone-shop.port = 1")
    source = profile.cli("import", path, "--json").json["files"][0]["sources"][0]
    profile.sign_in()
    assert profile.cli("sources", "erase", source, "--reason", "private", "--yes").code == 0
    again = profile.cli("import", path)
    assert again.code == 0
    assert "erased" in again.out
    assert "refused" not in again.out
    assert profile.cli("import", path, "--json").json["changes"] == {"erased": 1}
