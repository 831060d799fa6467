"""Connections as they come over the wire: senders that do not stop, names of an installation, and what is logged of it all."""

from __future__ import annotations

import logging
import secrets
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from memoranda.telemetry import JsonLines
from memoranda_api.edge import LINGER_BYTES, OPEN_LIMIT
from tests.api.conftest import BODY_LIMIT, Api, make_app, problem
from tests.world import World

CHUNK = b"2000\r\n" + b"x" * 0x2000 + b"\r\n"
ENDLESS = 200 * 1024 * 1024


def _pour(address: str, head: bytes) -> tuple[bytes, int]:
    """Sends a body without an end until the server hangs up; what it said, and how much it let itself be sent."""
    where = urlsplit(address)
    sent = 0
    answer = b""
    with socket.create_connection((str(where.hostname), where.port or 80), timeout=10) as connection:
        connection.sendall(head)
        with suppress(OSError):
            while sent < ENDLESS:
                connection.sendall(CHUNK)
                sent += len(CHUNK)
        with suppress(OSError):
            while part := connection.recv(65_536):
                answer += part
    return answer, sent


@pytest.mark.parametrize("path", ["/v1/brains/main/claims", "/mcp/main"])
def test_a_body_without_an_end_is_cut_off_and_its_sender_told(world: World, address: str, path: str) -> None:
    start = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
    known = f"Authorization: Bearer {world.extra['token']}\r\nAccept: application/json, text/event-stream\r\n"
    for head, status in ((start + "\r\n", b"HTTP/1.1 401"), (start + known + "\r\n", b"HTTP/1.1 413")):
        answer, sent = _pour(address, head.encode())
        # what lies in the buffers of both ends comes on top
        assert sent < BODY_LIMIT + LINGER_BYTES + 16 * 1024 * 1024
        # a sender that never listens may miss the answer; one that does is told
        assert answer == b"" or answer.startswith(status)


def test_a_sender_that_stops_to_listen_hears_why(world: World, address: str) -> None:
    where = urlsplit(address)
    head = f"POST /v1/brains/main/claims HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {world.extra['token']}\r\n"
    with socket.create_connection((str(where.hostname), where.port or 80), timeout=10) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n".encode())
        for _ in range(4 * BODY_LIMIT // len(CHUNK)):
            connection.sendall(CHUNK)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"code":"too_large"' in answer
    assert b"connection: close" in answer.lower()


def test_who_is_not_known_yet_may_send_little(quiet: Api) -> None:
    body = {"link": "x" * 100, "more": "y" * OPEN_LIMIT}
    problem(quiet.ask("POST", "/v1/sign-in", by="nobody", json=body), 413, "too_large")


@pytest.mark.parametrize("length", ["9" * 5000, "999999999999999999999"])
def test_a_length_that_is_no_size_is_too_large(quiet: Api, length: str) -> None:
    problem(quiet.ask("POST", "claims", headers={"Content-Length": length}, content=b"{}"), 413, "too_large")


@pytest.mark.parametrize("host", ["localhost:80@evil.example", "localhost:evil", "localhost:7411:80", "[::1", "local host", "localhost."])
def test_what_only_begins_like_our_name_is_not_ours(quiet: Api, host: str) -> None:
    problem(quiet.ask("GET", "/v1/me", headers={"Host": host}), 421, "unknown_host")
    problem(quiet.ask("GET", "/v1/me", headers={"Origin": f"http://{host}"}), 403, "foreign_origin")


def test_an_installation_answers_under_the_names_of_its_settings(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.extra['token']}", "Accept": "application/json, text/event-stream"}
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    app = make_app(world, allowed_hosts=("Memory.example", "other.example:8443"))
    with TestClient(app, base_url="http://memory.example") as client:
        for host, origin in (("memory.example", "https://memory.example"), ("memory.example:443", None), ("other.example:8443", None)):
            more = {**headers, "Host": host, **({"Origin": origin} if origin else {})}
            assert client.get("/v1/me", headers=more).status_code == 200
            assert client.post("/mcp/main", headers=more, json=call).status_code == 200
        for host in ("other.example", "other.example:80", "evil.example"):
            problem(client.get("/v1/me", headers={**headers, "Host": host}), 421, "unknown_host")


@pytest.mark.guarantee(3)
def test_neither_secrets_nor_content_are_in_a_log_line(api: Api, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG)
    canary = f"canary-{secrets.token_hex(8)}"
    extra = api.world.extra
    claim = {"subject": canary, "predicate": "b", "value": canary}
    api.post("claims", claim)
    api.ask("POST", "claims", json={**claim, canary: 1})
    api.ask("POST", "recall", json={"question": canary})
    api.ask("POST", "captures", json={"source": {"host": "h", "external_id": canary}, "events": [{"text": canary}]})
    api.ask("GET", "/v1/me", by=f"mem_{canary}")
    api.ask("GET", "/sign-in", by="nobody", params={"link": canary})
    api.ask("POST", "/v1/sign-in", by="nobody", json={"link": canary})

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(canary)

    monkeypatch.setattr("memoranda_api.routers.recalling.recall", fail)
    assert canary not in api.ask("POST", "recall", json={"question": canary}).text
    api.world.run("alter table ledger.revision add constraint impossible check (value is null) not valid")
    response = api.ask("POST", "claims", json={**claim, "subject": f"{canary} again"})
    assert response.status_code >= 400
    assert canary not in response.text
    # the client's own library logs the addresses that it asks
    lines = [JsonLines().format(record) for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert any("incident" in line for line in lines)
    for secret in (canary, extra["token"], extra["session"], extra["csrf"]):
        assert not [line for line in lines if secret in line]
