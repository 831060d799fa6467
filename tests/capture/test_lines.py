"""Lines, whatever an editor, a crash or another program has left in them."""

from __future__ import annotations

import io
import resource
from pathlib import Path

import pytest

from memoranda_capture import Notice, Refused
from memoranda_capture.lines import LINE_LIMIT, Line, lines
from tests.capture.builders import Json, answer, codes, events, jsonl, line, notices, prompt, said, say, session


def _raws(raw: bytes) -> list[bytes]:
    return [found.raw for found in lines(io.BytesIO(raw)) if isinstance(found, Line)]


def test_only_lf_ends_a_line() -> None:
    assert _raws("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\nh".encode()) == ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode(), b"h"]


@pytest.mark.parametrize(
    "raw",
    [b"one\ntwo\n", b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo\n", b"one\n\n  \n\ntwo\n", b"\n\xef\xbb\xbf"[:1] + b"one  \ntwo"],
    ids=["lf", "crlf", "bom", "blank lines", "trailing spaces"],
)
def test_the_same_lines_are_read_from_each_way_of_writing_them(raw: bytes) -> None:
    assert _raws(raw) == [b"one", b"two"]


def test_a_last_line_without_an_end_is_marked_as_perhaps_unfinished() -> None:
    assert list(lines(io.BytesIO(b"a\nb"))) == [Line(1, b"a"), Line(2, b"b", finished=False)]


def test_a_line_over_the_limit_is_skipped_and_the_next_one_is_read() -> None:
    found = list(lines(io.BytesIO(b'"' + b"x" * (LINE_LIMIT + 1) + b'"\nshort\n')))
    assert isinstance(found[0], Notice)
    assert found[0].code == "line_too_long"
    assert found[1] == Line(2, b"short")


def test_a_line_of_a_hundred_megabytes_is_passed_by_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"type":"progress","uuid":"p","data":"')
        for _ in range(100):
            file.write(b"0" * 1024 * 1024)
        file.write(b'"}\n' + jsonl([prompt("Use Postgres")]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert said(path, "person") == ["Use Postgres"]
    assert codes(path) == ["line_too_long"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_zero_bytes_of_a_crash_are_told_and_the_record_beside_them_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "crash.jsonl"
    zeros = b"\0" * 9_000
    path.write_bytes(
        line(prompt("one")) + zeros + b"\n" + b"\0" * 140_000 + b"\n" + zeros + line(prompt("two", "u2", "u1")) + b"\n" + zeros
    )
    assert said(path, "person") == ["one", "two"]
    assert codes(path) == ["zero_bytes"] * 4


def test_a_line_cut_at_any_byte_is_taken_once_when_the_rest_arrives(tmp_path: Path) -> None:
    first, last = jsonl([prompt("Use tabs")]), line(answer(say("Tabs it is, für alle 🎉")))
    path = tmp_path / "live.jsonl"
    for cut in range(len(last)):
        path.write_bytes(first + last[:cut])
        assert [event.text for event in events(path)] == ["Use tabs"], cut
        assert codes(path) in ([], ["last_line_unfinished"])
    path.write_bytes(first + last + b"\n")
    assert [event.text for event in events(path)] == ["Use tabs", "Tabs it is, für alle 🎉"]


@pytest.mark.parametrize("place", [10, 500, 990])
def test_one_broken_line_costs_one_line(tmp_path: Path, place: int) -> None:
    records = [line(prompt(f"prompt {number}", f"u{number}")) for number in range(1_000)]
    records[place] = b'{"type":"user", broken'
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b"\n".join(records) + b"\n")
    assert len(events(path)) == 999
    assert [(notice.line, notice.code) for notice in notices(path)] == [(place + 1, "line_not_json")]


def test_lone_surrogates_and_nul_in_strings_become_the_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    raw = line(prompt("cut HERE…")).replace(b"HERE", rb"\ud83d \udc00\ud83d \u0000")
    path.write_bytes(raw + b"\n" + line(prompt("next", "u2", "u1")) + b"\n")
    assert said(path, "person") == ["cut \ufffd \ufffd\ufffd \ufffd…", "next"]
    assert codes(path) == ["odd_unicode"]


def test_bytes_that_are_not_utf8_are_replaced_and_told(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(line(prompt("caf@ au lait")).replace(b"@", b"\xe9") + b"\n")
    assert said(path, "person") == ["caf\ufffd au lait"]
    assert codes(path) == ["invalid_utf8"]


@pytest.mark.parametrize(
    "odd",
    [
        b"null",
        b"true",
        b"42",
        b'"massive error"',
        b"[]",
        b"[1]",
        b"{}",
        b'{"silly":"this"}',
        b"NaN",
        b"9" * 5_000,
        b"[" * 5_000,
        b'{"a":' * 5_000,
    ],
    ids=lambda odd: odd[:12].decode(),  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType]
)
def test_json_that_is_no_record_is_a_notice_and_never_an_exception(tmp_path: Path, odd: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(line(prompt("one")) + b"\n" + odd + b"\n" + line(prompt("two", "u2", "u1")) + b"\n")
    assert said(path, "person") == ["one", "two"]
    assert [notice.line for notice in notices(path)] == [2]


def test_nan_huge_numbers_and_deep_nesting_inside_a_record_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "numbers.jsonl"
    deep: object = "leaf"
    for _ in range(300):
        deep = [deep]
    rows = [
        line(prompt("x")).replace(b'"x"', b'"x", "n": NaN'),
        line(answer({"type": "tool_use", "id": "t", "name": "T", "input": {"big": 10**400, "deep": deep}})),
    ]
    path.write_bytes(b"\n".join(rows) + b"\n")
    assert [event.kind for event in events(path)] == ["prompt", "tool_call"]


def test_a_string_spread_into_an_object_of_thousands_of_keys_is_skipped_with_a_reason(tmp_path: Path) -> None:
    spread: Json = {str(at): "x" for at in range(5_000)}
    spread["content"] = []
    path = session(tmp_path, prompt("one"), {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": spread})
    assert [event.text for event in events(path)] == ["one"]
    assert codes(path) == ["odd_content"]


def test_a_million_bad_lines_are_not_a_million_notices(tmp_path: Path) -> None:
    path = tmp_path / "noise.jsonl"
    path.write_bytes(jsonl([prompt("one")]) + b"{bad\n" * 20_000)
    found = notices(path)
    assert len(found) == 101
    assert "19900 more" in found[-1].message


def test_a_file_that_only_repeats_bad_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "noise.jsonl"
    path.write_bytes(b"{bad\n" * 100)
    with pytest.raises(Refused) as refusal:
        events(path)
    assert refusal.value.code == "no_session"
