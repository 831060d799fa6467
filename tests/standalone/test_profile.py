"""The embedded profile as a process: it starts, stops, comes back, and says what is in the way."""

from __future__ import annotations

import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from memoranda_cli import client
from memoranda_cli.errors import Problem
from tests.standalone.profiles import EXAMPLES, Profile, cli, started

SESSION = EXAMPLES / "claude-code"


@pytest.fixture(scope="module")
def running() -> Generator[Profile]:
    """A profile for the tests that only look at it."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-up-"))
    with started(folder) as profile:
        yield profile
    shutil.rmtree(folder, ignore_errors=True)


def test_a_second_start_keeps_brain_and_token_and_makes_a_new_link(data: Path) -> None:
    with started(data) as first:
        first.cli("import", SESSION)
    with started(data) as second:
        assert (first.told["made"], second.told["made"]) == (True, False)
        assert second.told["token"] == first.told["token"]
        assert second.told["sign_in"].partition("link=")[2] != first.told["sign_in"].partition("link=")[2]
        assert second.cli("claims", "list", "--json").json["items"]


def test_a_second_instance_on_the_same_folder_is_told_so(running: Profile) -> None:
    said = cli("up", "--data", running.data, "--port", "0")
    assert said.code == 1
    assert f"in use by the process {running.process.pid}" in said.err.replace("\n", " ")


def test_a_port_that_is_taken_is_named_with_the_way_out(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = cli("up", "--data", data, "--port", str(port))
    assert said.code == 1
    assert f"port {port}" in said.err
    assert "--port" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_within_seconds_and_without_a_word(data: Path, number: signal.Signals) -> None:
    with started(data) as profile:
        profile.cli("import", SESSION)
        begun = time.monotonic()
        said = profile.end(number)
    assert time.monotonic() - begun < 5
    assert (said.code, said.err) == (0, "")


@pytest.mark.guarantee(7)
def test_what_was_acknowledged_survives_kill_9(data: Path) -> None:
    with started(data) as killed:
        sent = killed.cli("import", EXAMPLES / "claude-code", EXAMPLES / "codex", "--no-wait", "--json").json
        killed.end(signal.SIGKILL)
    with started(data) as profile, client.Client(profile.target) as agent:
        sources = [source for file in sent["files"] for source in file["sources"]]
        found = [agent.settled(source, seconds=30) for source in sources]
        assert all(progress["done"] for progress in found)
        assert sum(progress["sealed_events"] for progress in found) == sent["new"] > 0
        assert sum(progress["claims"]["accepted"] for progress in found) > 0
        assert profile.cli("import", EXAMPLES / "claude-code", EXAMPLES / "codex", "--json").json["new"] == 0


def test_credentials_are_for_their_owner_only(running: Profile) -> None:
    for path in (running.target.place.credentials, running.target.place.control, running.target.place.log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_sign_in_link_signs_in_once(running: Profile) -> None:
    link = running.cli("sign-in", "--json").json["url"]
    assert client.redeem(running.target, link).name == running.told["person"]
    with pytest.raises(Problem):
        client.redeem(running.target, link)


def test_no_token_and_no_link_is_in_the_log(running: Profile) -> None:
    link = running.cli("sign-in", "--json").json["url"]
    running.cli("recall", "a question that nobody asked before")
    written = running.target.place.log.read_text()
    assert running.told["token"] not in written
    assert link.partition("link=")[2] not in written
    assert "nobody asked before" not in written


def test_another_brain_in_the_same_folder_has_a_token_of_its_own(data: Path) -> None:
    with started(data) as first:
        pass
    with started(data, "--brain", "second") as profile:
        assert profile.told["brain"] == "second"
        assert profile.told["token"] != first.told["token"]
        assert profile.cli("claims", "list", "--json").json["items"] == []
        assert profile.cli("claims", "list", "--brain", "main", "--json").code == 0
