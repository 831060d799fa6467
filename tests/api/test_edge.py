"""The edge: names and origins, sizes, and bodies that are not what they should be."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Generator
from urllib.parse import urlsplit

import pytest

from tests.api.conftest import BODY_LIMIT, HOST, NOBODYS, Api, problem

GOOD = {"subject": "billing", "predicate": "port", "value": "8080"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7411", "127.0.0.1.evil.example", "", "localhost.evil.example:80"])
def test_a_name_that_is_not_ours_is_refused(quiet: Api, host: str) -> None:
    for path in ("/v1/me", "/mcp/main", "/sign-in"):
        problem(quiet.ask("GET", path, headers={"Host": host}), 421, "unknown_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:7411", "127.0.0.1:1", "[::1]", "[::1]:7411"])
def test_this_machine_answers_under_its_own_names(quiet: Api, host: str) -> None:
    assert quiet.ask("GET", "/v1/me", headers={"Host": host}).status_code == 200


def test_a_probe_asks_for_health_under_any_name(quiet: Api) -> None:
    for path in ("/v1/health/live", "/v1/health/ready"):
        assert quiet.ask("GET", path, by="nobody", headers={"Host": "10.4.0.17:8080"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", "", "file://"])
def test_a_foreign_origin_is_refused(quiet: Api, origin: str) -> None:
    for by in ("person", "agent"):
        problem(quiet.ask("POST", "claims", by=by, headers={"Origin": origin}, json=GOOD), 403, "foreign_origin")
    problem(quiet.ask("POST", "/mcp/main", headers={"Origin": origin}, json={}), 403, "foreign_origin")


def test_the_own_origin_is_taken(api: Api) -> None:
    assert api.ask("POST", "claims", by="person", headers={"Origin": f"http://{HOST}"}, json=GOOD).status_code == 201


def _chunks(size: int) -> Generator[bytes]:
    yield b'{"subject": "'
    for _ in range(size // 1024):
        yield b"x" * 1024
    yield b'"}'


@pytest.mark.parametrize("path", ["claims", "captures", "recall", "/mcp/main", "/v1/brains"])
def test_a_body_that_is_too_large_is_refused_however_it_comes(quiet: Api, path: str) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    declared = quiet.ask("POST", path, headers=headers, content=b" " * (BODY_LIMIT + 1))
    problem(declared, 413, "too_large")
    chunked = quiet.ask("POST", path, headers=headers, content=_chunks(2 * BODY_LIMIT))
    assert "content-length" not in chunked.request.headers
    problem(chunked, 413, "too_large")
    understated = quiet.ask("POST", path, headers={**headers, "Content-Length": "10"}, content=_chunks(2 * BODY_LIMIT))
    problem(understated, 413, "too_large")
    assert quiet.world.rows("select 1 from ledger.claim") == []


def test_nothing_of_a_body_is_read_for_who_has_no_credential(quiet: Api) -> None:
    read: list[int] = []

    def content() -> Generator[bytes]:
        for number in range(10_000):
            read.append(number)
            yield b"x" * 1024

    problem(quiet.ask("POST", "claims", by="nobody", content=content()), 401, "not_signed_in")


def test_a_refusal_does_not_wait_for_the_body(address: str) -> None:
    """A sender that promises much and sends nothing is answered at once."""
    where = urlsplit(address)
    head = b"POST /v1/brains/main/claims HTTP/1.1\r\nHost: localhost\r\n"
    token = b"Authorization: Bearer mem_xxxxxxxxxxxxxxxxxxxx\r\n"
    for sent, status in ((b"Content-Length: 1000\r\n\r\n", b" 401 "), (token + b"Content-Length: 99999999\r\n\r\n", b" 413 ")):
        with socket.create_connection((str(where.hostname), where.port or 80), timeout=5) as connection:
            connection.sendall(head + sent)
            assert status in connection.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, identity"])
def test_a_compressed_body_is_refused(quiet: Api, coding: str) -> None:
    content = gzip.compress(json.dumps(GOOD).encode())
    problem(quiet.ask("POST", "claims", headers={"Content-Encoding": coding}, content=content), 415, "unsupported_media_type")


BROKEN = {
    "nothing": b"",
    "no json": b"{",
    "trailing": b'{"subject": "a"} x',
    "NaN": b'{"subject": "a", "predicate": "b", "value": NaN}',
    "Infinity": b'{"subject": "a", "predicate": "b", "value": -Infinity}',
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "deep and a surrogate": b'["\\ud800",' + b"[" * 10_000 + b"]" * 10_000 + b"]",
    "deep and NUL": b'["\\u0000",' + b"[" * 1000 + b"]" * 1000 + b"]",
    "long integer": b'{"subject": "a", "predicate": "b", "value": ' + b"9" * 5000 + b"}",
    "long integer and a surrogate": b'{"subject": "\\ud800", "predicate": "b", "value": ' + b"9" * 5000 + b"}",
    "NaN and a surrogate": b'{"subject": "\\ud800", "predicate": "b", "value": NaN}',
    "no utf-8": b'{"subject": "\xff\xfe", "predicate": "b", "value": "c"}',
    "utf-16": '{"subject": "a", "predicate": "b", "value": "c"}'.encode("utf-16"),
    "a list": b"[]",
    "a string": b'"claim"',
    "null": b"null",
    "wrong kinds": b'{"subject": 1, "predicate": [], "value": {}}',
    "an unknown field": b'{"subject": "a", "predicate": "b", "value": "c", "review": "accepted"}',
    "an unknown field with a surrogate": b'{"subject": "a", "predicate": "b", "value": "c", "\\ud800": 1}',
    "an unknown field with NUL": b'{"subject": "a", "predicate": "b", "value": "c", "\\u0000": 1}',
    "blank": b'{"subject": " \\n ", "predicate": "b", "value": "c"}',
    "too long": json.dumps({"subject": "s" * 501, "predicate": "b", "value": "c"}).encode(),
    "float for int": b'{"subject": "a", "predicate": "b", "value": "c", "supports": [{"chunk_id": "' + NOBODYS.encode()
    + b'", "first_line": 1e999, "last_line": 1}]}',
    "huge int": b'{"subject": "a", "predicate": "b", "value": "c", "supports": [{"chunk_id": "' + NOBODYS.encode()
    + b'", "first_line": 1, "last_line": 99999999999999999999}]}',
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_body_that_cannot_be_is_an_error_of_its_sender(quiet: Api, kind: str) -> None:
    response = quiet.ask("POST", "claims", headers={"Content-Type": "application/json"}, content=BROKEN[kind])
    document = problem(response, 422, "invalid")
    assert document["field"]
    assert document["outcome"] == "not_applied"
    assert quiet.world.rows("select 1 from ledger.revision") == []


@pytest.mark.parametrize("field", ["valid_from", "valid_to", "observed_at"])
@pytest.mark.parametrize(
    "moment",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "yesterday", "", 1e400],
)
def test_a_time_that_cannot_be_kept_is_refused(quiet: Api, field: str, moment: object) -> None:
    body = json.dumps({**GOOD, field: moment}).replace("Infinity", "1e400")
    problem(quiet.ask("POST", "claims", headers={"Content-Type": "application/json"}, content=body.encode()), 422, "invalid")


def test_the_first_and_the_last_time_that_are_taken_can_be_read_back(api: Api) -> None:
    limits = {"valid_from": "0002-01-01T00:00:00-14:00", "valid_to": "9998-12-31T23:59:59+14:00"}
    made = api.propose("billing", "port", "8080", **limits)
    shown = api.get(f"claims/{made['claim_id']}", mode="investigation")
    assert shown["valid_from"]
    assert shown["valid_to"]


def test_nul_and_lone_surrogates_become_replacement_characters(api: Api) -> None:
    content = b'{"subject": "bill\\u0000ing", "predicate": "po\\ud800rt", "value": "80\\udc0080 \\ud83d\\ude00"}'
    response = api.ask("POST", "claims", headers={"Content-Type": "application/json"}, content=content)
    assert response.status_code == 201, response.text
    shown = api.get(f"claims/{response.json()['claim_id']}", mode="investigation")
    assert (shown["subject"], shown["predicate"], shown["value"]) == ("bill\ufffding", "po\ufffdrt", "80\ufffd80 \U0001f600")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (f"claims/{NOBODYS}0", "claim"),
        ("claims/x%00y", "claim"),
        ("claims?limit=0", "limit"),
        ("claims?limit=999999999999999999999", "limit"),
        ("claims?mode=everything", "mode"),
        ("claims?after=%00", "after"),
        ("claims?after=🦊", "after"),
        ("claims?after=bm9uc2Vuc2U=", "after"),
        ("claims?predicate=port", "subject"),
        ("sources?after=AAAA", "after"),
        ("jobs?state=asleep", "state"),
        ("jobs?lane=fast", "lane"),
    ],
)
def test_a_wrong_parameter_is_named(quiet: Api, path: str, field: str) -> None:
    assert problem(quiet.ask("GET", path), 422, "invalid")["field"] == field


@pytest.mark.parametrize("text", ["bill%00ing", "%ED%A0%80", "🦊", "'; drop table ledger.claim; --", "%", "\\", "_"])
def test_a_subject_may_be_any_text(quiet: Api, text: str) -> None:
    assert quiet.ask("GET", f"claims?subject={text}&predicate={text}").json()["items"] == []


def test_a_reason_may_be_any_text(quiet: Api) -> None:
    problem(quiet.ask("DELETE", f"sources/{NOBODYS}?reason=a%00b", by="person"), 404, "not_found")


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_an_idempotency_key_has_one_to_two_hundred_characters(quiet: Api, key: str) -> None:
    problem(quiet.ask("POST", "claims", headers={"Idempotency-Key": key}, json=GOOD), 422, "invalid")


def test_what_does_not_exist_is_a_problem_document_too(quiet: Api) -> None:
    problem(quiet.ask("GET", "/v1/nothing"), 404, "not_found")
    problem(quiet.ask("GET", "/nothing", by="nobody"), 401, "not_signed_in")
    problem(quiet.ask("PUT", "claims", json=GOOD), 405, "method_not_allowed")
    problem(quiet.ask("GET", f"claims/{NOBODYS}"), 404, "not_found")
    problem(quiet.ask("GET", f"jobs/{NOBODYS}"), 404, "not_found")
    problem(quiet.ask("GET", f"sources/{NOBODYS}"), 404, "not_found")
    problem(quiet.ask("GET", f"sources/{NOBODYS}/progress"), 404, "not_found")
    problem(quiet.ask("GET", f"claims/{NOBODYS}/history", by="person"), 404, "not_found")


def test_every_answer_carries_the_security_headers(quiet: Api) -> None:
    for response in (
        quiet.ask("GET", "/v1/me"),
        quiet.ask("GET", "/sign-in", by="nobody"),
        quiet.ask("GET", "/v1/nothing"),
        quiet.ask("GET", "/v1/me", by="nobody"),
        quiet.ask("GET", "/v1/me", headers={"Host": "evil.example"}),
        quiet.ask("POST", "claims", content=b" " * (BODY_LIMIT + 1)),
        quiet.ask("POST", "claims", json={}),
    ):
        assert response.headers["x-content-type-options"] == "nosniff", response.status_code
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


@pytest.mark.guarantee(3)
def test_an_unexpected_failure_shows_an_incident_and_nothing_else(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail in /srv/memoranda.py")

    monkeypatch.setattr("memoranda_api.routers.recalling.recall", fail)
    response = api.ask("POST", "recall", json={"question": "what?"})
    document = problem(response, 500, "internal")
    assert document["incident"]
    assert "secret detail" not in response.text
    assert "srv" not in response.text


def test_a_schema_of_another_release_is_said_to_be_and_shows_no_backend_text(api: Api) -> None:
    api.world.run("alter function lens.search_revisions(text, int) rename to gone")
    response = api.ask("POST", "recall", json={"question": "what?"})
    assert "memoranda-migrate" in problem(response, 503, "misconfigured")["mend"]
    assert "search_revisions" not in response.text


def test_a_broken_view_shows_no_backend_text(api: Api) -> None:
    api.world.run("revoke select on lens.revision from memoranda_gateway")
    response = api.ask("POST", "recall", json={"question": "what?"})
    problem(response, 500, "internal")
    assert "lens.revision" not in response.text
    assert "permission" not in response.text


def test_a_store_that_is_busy_is_said_to_be(api: Api) -> None:
    """A writer that holds the brain for longer than a reader waits."""
    with api.world.admin() as admin:
        admin.autocommit = False
        admin.execute("select pg_advisory_xact_lock(access.write_lock(%s))", (api.world.brain_id,))
        for response in (api.ask("GET", "claims"), api.ask("POST", "recall", json={"question": "what?"})):
            document = problem(response, 503, "busy")
            assert document["retry"] is True
            assert document["outcome"] == "not_applied"
            assert response.headers["retry-after"].isdigit()
        admin.rollback()
    assert api.ask("GET", "claims").status_code == 200


def test_the_description_lists_every_route_with_its_errors(quiet: Api) -> None:
    described = quiet.ask("GET", "/openapi.json", by="nobody").json()
    assert described["info"]["title"] == "Memoranda"
    operations = [(path, method, operation) for path, methods in described["paths"].items() for method, operation in methods.items()]
    assert len({operation["operationId"] for _, _, operation in operations}) == len(operations)
    for path, method, operation in operations:
        assert operation["tags"], path
        if path.startswith("/v1/brains"):
            assert {"401", "422", "503"} <= operation["responses"].keys(), path
            if method in ("post", "delete") and not path.endswith("/recall"):
                assert {"403", "409", "413"} <= operation["responses"].keys(), path
