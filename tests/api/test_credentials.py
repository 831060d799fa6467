"""Who may come in, as whom, and for how long."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.conftest import CSRF, NOBODYS, UNKNOWN_BRAIN, Api, problem
from tests.world import digest


def _link(api: Api, *, minutes: int = 10) -> str:
    link = secrets.token_urlsafe(24)
    with api.world.admin() as admin:
        admin.execute(
            "insert into access.sign_in (digest, principal_id, expires_at) values (%s, %s, clock_timestamp() + %s)",
            (digest(link), api.world.person_id, timedelta(minutes=minutes)),
        )
    return link


def _other_brain(api: Api) -> str:
    """A brain that nobody of this world has rights to, and a claim in it; its slug."""
    with api.world.admin() as admin:
        row = admin.execute("insert into access.principal (kind, name) values ('person', 'Eve') returning id").fetchone()
        assert row is not None
        admin.execute("select access.add_brain('other', 'Other', 'review', %s)", (row["id"],))
    return "other"


READS = (
    "claims", "sources", "conflicts", "jobs", "audit", "tokens", f"claims/{NOBODYS}", f"claims/{NOBODYS}/history", f"sources/{NOBODYS}",
    f"sources/{NOBODYS}/progress", f"jobs/{NOBODYS}", "",
)  # fmt: skip


@pytest.mark.parametrize("path", READS)
@pytest.mark.guarantee(4)
def test_an_unknown_brain_and_one_without_rights_look_alike(api: Api, path: str) -> None:
    other = _other_brain(api)
    foreign = api.ask("GET", f"/v1/brains/{other}/{path}".rstrip("/"), by="person")
    unknown = api.ask("GET", f"/v1/brains/nowhere/{path}".rstrip("/"), by="person")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json() == unknown.json()
    problem(foreign, 404, UNKNOWN_BRAIN)


NO_EVENTS: dict[str, Any] = {"source": {"host": "h", "external_id": "e"}, "events": []}
WRITES: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("claims", {"subject": "a", "predicate": "b", "value": "c"}),
    (f"claims/{NOBODYS}/retract", {"reason": "why"}),
    (f"claims/{NOBODYS}/flag", {"reason": "why"}),
    (f"claims/{NOBODYS}/review", {"action": "accept", "reason": "why"}),
    (f"conflicts/{NOBODYS}/resolution", {"how": "keep_both", "reason": "why"}),
    ("captures", NO_EVENTS),
    ("tokens", {"agent": "bot"}),
    ("recall", {"question": "what?"}),
    (f"jobs/{NOBODYS}/requeue", None),
)


@pytest.mark.parametrize(("path", "body"), WRITES)
@pytest.mark.guarantee(4)
def test_nobody_writes_in_a_brain_that_is_not_theirs(api: Api, path: str, body: dict[str, object] | None) -> None:
    other = _other_brain(api)
    foreign = api.ask("POST", f"/v1/brains/{other}/{path}", by="person", json=body)
    unknown = api.ask("POST", f"/v1/brains/nowhere/{path}", by="person", json=body)
    problem(foreign, 404, UNKNOWN_BRAIN)
    assert foreign.json() == unknown.json()


@pytest.mark.parametrize("slug", ["a%00b", "MAIN", "%F0%9F%A6%8A", "x" * 300, "..", "%2e%2e%2fmain"])
def test_a_brain_name_that_none_can_have_is_unknown(quiet: Api, slug: str) -> None:
    for method, path in (("GET", "claims"), ("POST", "recall")):
        response = quiet.ask(method, f"/v1/brains/{slug}/{path}", json={"question": "what?"} if method == "POST" else None)
        assert response.status_code == 404, response.text
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer short"},
        {"Authorization": "Basic bWVtb3JhbmRhOm1lbW9yYW5kYQ=="},
        {"Authorization": "Bearer mem_this_one_was_never_given_to_anybody"},
        {"Authorization": "Bearer mem with blanks in it and more of them"},
        {"Authorization": "Bearer " + "x" * 5000},
        {"Cookie": "memoranda_session="},
        {"Cookie": "memoranda_session=this-one-was-never-given-to-anybody"},
    ],
)
def test_without_a_credential_that_holds_nobody_comes_in(quiet: Api, headers: dict[str, str]) -> None:
    for method, path in (("GET", "/v1/me"), ("GET", "/v1/brains"), ("GET", "claims"), ("POST", "recall"), ("POST", "claims")):
        body = {"question": "q"} if path == "recall" else {"subject": "a", "predicate": "b", "value": "c"}
        response = quiet.ask(method, path, by="nobody", headers=headers, json=body if method == "POST" else None)
        document = problem(response, 401, "not_signed_in")
        assert document["mend"]
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_revoked_token_opens_nothing(api: Api) -> None:
    given = api.post("tokens", {"agent": "bot", "label": "laptop"}, by="person")
    assert api.ask("GET", "claims", by=given["token"]).status_code == 200
    assert api.ask("DELETE", f"tokens/{given['id']}", by="person").status_code == 204
    problem(api.ask("GET", "claims", by=given["token"]), 401, "not_signed_in")
    problem(api.ask("POST", "claims", by=given["token"], json={"subject": "a", "predicate": "b", "value": "c"}), 401, "not_signed_in")
    problem(api.ask("DELETE", f"tokens/{given['id']}", by="person"), 404, "not_found")


def test_an_expired_token_opens_nothing(api: Api) -> None:
    moment = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    given = api.post("tokens", {"agent": "bot", "expires_at": moment}, by="person")
    assert api.ask("GET", "claims", by=given["token"]).status_code == 200
    with api.world.admin() as admin:
        admin.execute("update access.token set expires_at = clock_timestamp() where id = %s", (given["id"],))
    problem(api.ask("GET", "claims", by=given["token"]), 401, "not_signed_in")


def test_a_token_is_stored_as_its_digest_and_shown_once(api: Api) -> None:
    given = api.post("tokens", {"agent": "bot"}, by="person")
    assert given["token"].startswith("mem_")
    listed = api.ask("GET", "tokens", by="person")
    assert given["token"] not in listed.text
    assert [item["id"] for item in listed.json()["items"] if item["id"] == given["id"]]
    stored = api.world.rows("select digest from access.token where id = %s", given["id"])[0]["digest"]
    assert bytes(stored) == hashlib.sha256(given["token"].encode()).digest()


def test_only_an_admin_in_the_browser_gives_lists_and_revokes_tokens(quiet: Api) -> None:
    problem(quiet.ask("POST", "tokens", by="agent", json={"agent": "bot"}), 403, "role_too_low")
    problem(quiet.ask("GET", "tokens", by="agent"), 403, "role_too_low")
    problem(quiet.ask("DELETE", f"tokens/{NOBODYS}", by="agent"), 403, "role_too_low")
    problem(quiet.ask("POST", "tokens", by="page", json={"agent": "bot"}), 403, CSRF)


@pytest.mark.parametrize("role", ["reviewer", "admin", "owner", ""])
def test_an_agent_is_given_no_role_that_reviews(quiet: Api, role: str) -> None:
    problem(quiet.ask("POST", "tokens", by="person", json={"agent": "bot", "role": role}), 422, "invalid")


def test_a_write_from_a_browser_needs_its_csrf_token(api: Api) -> None:
    claim = api.propose("billing", "port", "8080")["claim_id"]
    body = {"action": "accept", "reason": "because"}
    problem(api.ask("POST", f"claims/{claim}/review", by="page", json=body), 403, CSRF)
    wrong = {"X-CSRF-Token": secrets.token_hex(16)}
    problem(api.ask("POST", f"claims/{claim}/review", by="page", headers=wrong, json=body), 403, CSRF)
    assert api.get("claims") == {"items": [], "next": None} | {k: v for k, v in api.get("claims").items() if k == "withheld"}
    assert api.ask("POST", f"claims/{claim}/review", by="person", json=body).status_code == 200


def test_a_bearer_token_wins_over_a_cookie(quiet: Api) -> None:
    both = {**quiet.headers("person"), **quiet.headers("agent")}
    assert quiet.ask("GET", "/v1/me", by="nobody", headers=both).json()["kind"] == "agent"
    broken = {**quiet.headers("person"), "Authorization": "Bearer nonsense-nonsense-nonsense"}
    problem(quiet.ask("GET", "/v1/me", by="nobody", headers=broken), 401, "not_signed_in")


def test_a_reader_reads_and_writes_nothing(quiet: Api) -> None:
    assert quiet.ask("GET", "claims", by="reader").status_code == 200
    assert quiet.ask("POST", "recall", by="reader", json={"question": "what?"}).status_code == 200
    for path, body in (
        ("claims", {"subject": "a", "predicate": "b", "value": "c"}),
        ("captures", NO_EVENTS),
        (f"claims/{NOBODYS}/flag", {"reason": "why"}),
    ):
        problem(quiet.ask("POST", path, by="reader", json=body), 403, "role_too_low")


def test_a_writer_reads_no_history_and_no_audit(quiet: Api) -> None:
    problem(quiet.ask("POST", "recall", by="agent", json={"question": "what?", "mode": "history"}), 403, "role_too_low")
    problem(quiet.ask("GET", "claims", by="agent", params={"mode": "history"}), 403, "role_too_low")
    problem(quiet.ask("GET", f"claims/{NOBODYS}/history", by="agent"), 403, "role_too_low")
    problem(quiet.ask("GET", "audit", by="agent"), 403, "role_too_low")


def test_a_token_that_was_given_the_history_reads_it(api: Api) -> None:
    claim = api.propose("billing", "port", "8080")["claim_id"]
    given = api.post("tokens", {"agent": "historian", "role": "reader", "reads_history": True}, by="person")
    assert len(api.get(f"claims/{claim}/history", by=given["token"])["items"]) == 1


@pytest.mark.guarantee(5)
def test_no_token_reviews(api: Api) -> None:
    claim = api.propose("billing", "port", "8080")["claim_id"]
    for action in ("accept", "reject", "correct", "withdraw", "restore", "revalidate", "pin", "erase"):
        body = {"action": action, "reason": "because", "value": "9090"}
        problem(api.ask("POST", f"claims/{claim}/review", by="agent", json=body), 403, "role_too_low")
    assert api.get(f"claims/{claim}", mode="investigation")["review"] == "proposed"


def test_a_one_time_link_signs_in_once(api: Api) -> None:
    link = _link(api)
    first = api.ask("POST", "/v1/sign-in", by="nobody", json={"link": link})
    assert first.status_code == 200
    assert first.json()["name"] == "Ada"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    api.client.cookies.clear()
    problem(api.ask("POST", "/v1/sign-in", by="nobody", json={"link": link}), 401, "not_signed_in")


def test_an_old_link_signs_nobody_in(api: Api) -> None:
    problem(api.ask("POST", "/v1/sign-in", by="nobody", json={"link": _link(api, minutes=-1)}), 401, "not_signed_in")


def test_opening_the_sign_in_page_does_not_use_the_link_up(api: Api) -> None:
    link = _link(api)
    for _ in range(3):
        page = api.ask("GET", "/sign-in", by="nobody", params={"link": link})
        assert page.status_code == 200
        assert "http://" not in page.text.replace("http://www.w3.org", "")
        assert "https://" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert link not in page.text
    assert api.ask("POST", "/v1/sign-in", by="nobody", json={"link": link}).status_code == 200


def test_the_session_of_a_link_works_until_it_signs_out(api: Api) -> None:
    signed = api.ask("POST", "/v1/sign-in", by="nobody", json={"link": _link(api)})
    session = signed.cookies["memoranda_session"]
    api.client.cookies.clear()
    headers = {"Cookie": f"memoranda_session={session}", "X-CSRF-Token": signed.json()["csrf_token"]}
    assert api.ask("GET", "/v1/me", by="nobody", headers=headers).json()["channel"] == "browser"
    claim = api.propose("billing", "port", "8080")["claim_id"]
    body = {"action": "accept", "reason": "because"}
    assert api.ask("POST", f"claims/{claim}/review", by="nobody", headers=headers, json=body).status_code == 200
    assert api.ask("POST", "/v1/sign-out", by="nobody", headers=headers).status_code == 204
    problem(api.ask("GET", "/v1/me", by="nobody", headers=headers), 401, "not_signed_in")


def test_me_says_who_asks_and_which_brains_open(quiet: Api) -> None:
    told = quiet.get("/v1/me")
    assert (told["kind"], told["channel"]) == ("agent", "token")
    assert [(brain["slug"], brain["role"]) for brain in told["brains"]] == [("main", "writer")]


def test_a_signed_in_person_makes_a_brain_and_a_bound_token_does_not(api: Api) -> None:
    made = api.ask("POST", "/v1/brains", by="person", json={"slug": "second", "name": "Second"})
    assert made.status_code == 201
    assert (made.json()["policy"], made.json()["role"]) == ("review", "admin")
    assert {brain["slug"] for brain in api.get("/v1/brains", by="person")["items"]} == {"main", "second"}
    problem(api.ask("POST", "/v1/brains", by="person", json={"slug": "second", "name": "Again"}), 409, "stale")
    problem(api.ask("POST", "/v1/brains", by="agent", json={"slug": "third", "name": "Third"}), 403, "role_too_low")
    assert api.ask("POST", "/v1/brains", by="page", json={"slug": "third", "name": "Third"}).status_code == 403
    problem(api.ask("POST", "/v1/brains", by="person", json={"slug": "No Slug", "name": "x"}), 422, "invalid")


def test_a_secret_is_in_no_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    api.ask("GET", "claims")
    api.ask("GET", "claims", by="mem_this_one_was_never_given_to_anybody")
    secret = (api.world.extra["token"], "mem_this_one_was_never_given_to_anybody")
    for record in caplog.records:
        assert not any(text in str(record.__dict__) for text in secret)
