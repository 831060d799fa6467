"""The demo is a check of the whole: it exits with 0 only if every step came out as it should."""

from __future__ import annotations

from tests.standalone.profiles import cli


def test_the_demo_passes() -> None:
    said = cli("demo")
    assert said.code == 0, said.out + said.err
    for number in range(1, 6):
        assert f"\n{number}. " in said.out
    assert "✗" not in said.out


def test_the_demo_answers_programs_too() -> None:
    said = cli("demo", "--json")
    assert (said.code, said.json["ok"]) == (0, True)
    assert {check["step"] for check in said.json["checks"]} == {1, 2, 3, 4, 5}
