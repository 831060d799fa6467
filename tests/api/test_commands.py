"""Writing over REST: the path of each route, and that a command with a key happens once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.conftest import NOBODYS, Api, problem
from tests.world import World

CLAIM = {"subject": "billing", "predicate": "port", "value": "8080"}
SOURCE = {"host": "claude-code", "external_id": "s-1", "title": "a talk", "repositories": ["shop"]}


def _event(number: int, text: str) -> dict[str, Any]:
    return {"key": f"e{number}", "role": "person", "kind": "prompt", "text": text, "said_at": "2026-01-02T03:04:05Z"}


def test_a_capture_is_stored_sealed_learned_listed_and_erased(api: Api) -> None:
    batch = {"source": SOURCE, "events": [_event(1, "hello"), _event(2, "billing.port = 8080")], "last": True}
    response = api.ask("POST", "captures", json=batch)
    assert response.status_code == 202, response.text
    told = response.json()
    assert (told["received"], told["new"], told["duplicate"], told["differing"]) == (2, 2, 0, [])
    source = told["source_id"]
    waiting = api.get(f"sources/{source}/progress")
    assert (waiting["events"], waiting["sealed_events"], waiting["done"]) == (2, 0, False)
    assert str(api.world.broker.rung[-1]) == told["job_id"]
    assert api.get(f"jobs/{told['job_id']}")["state"] == "ready"
    api.world.work()
    done = api.get(f"sources/{source}/progress")
    assert (done["sealed_events"], done["done"], done["error"]) == (2, True, None)
    assert done["claims"]["accepted"] == 1
    assert api.get("jobs", state="done")["counts"]["done"] >= 2
    (listed,) = api.get("sources")["items"]
    assert listed == api.get(f"sources/{source}")
    assert (listed["title"], listed["repositories"], listed["events"]) == ("a talk", ["shop"], 2)
    problem(api.ask("DELETE", f"sources/{source}?reason=private", by="agent"), 403, "role_too_low")
    erased = api.ask("DELETE", f"sources/{source}?reason=private", by="person")
    assert erased.json() == {"erased_revisions": 1}
    assert api.get(f"sources/{source}")["withheld"] == "erased"
    problem(api.ask("POST", "captures", json=batch), 410, "erased")


def test_one_event_that_differs_does_not_stop_its_batch(api: Api) -> None:
    api.post("captures", {"source": SOURCE, "events": [_event(50, "first")]})
    events = [_event(number, f"line {number}") for number in range(100)]
    for new, duplicate in ((99, 0), (0, 99)):
        told = api.post("captures", {"source": SOURCE, "events": events})
        assert (told["received"], told["new"], told["duplicate"]) == (100, new, duplicate)
        assert told["differing"] == [{"index": 50, "key": "e50"}]
    assert [row["body"] for row in api.world.rows("select body from evidence.event where body like 'first%'")] == ["first"]


def test_a_secret_in_a_capture_is_masked_and_counted(api: Api) -> None:
    response = api.ask("POST", "captures", json={"source": SOURCE, "events": [_event(1, "key AKIAIOSFODNN7EXAMPLE here")]})
    assert sum(response.json()["masked"].values()) == 1
    assert "AKIA" not in response.text
    problem(api.ask("POST", "claims", json={**CLAIM, "value": "AKIAIOSFODNN7EXAMPLE"}), 422, "invalid")


def test_a_claim_goes_through_its_whole_life(api: Api) -> None:
    made = api.propose("billing", "port", "8080", kind="decision", scope={"repositories": ["shop"]}, valid_from="2026-01-01T00:00:00Z")
    claim = made["claim_id"]
    assert (made["review"], made["ordinal"], made["conflicts"]) == ("proposed", 1, [])
    assert api.ask("GET", f"claims/{claim}").json()["withheld"] == "unreviewed"
    api.post(f"claims/{claim}/revise", {"value": "9090"})
    shown = api.get(f"claims/{claim}", mode="investigation")
    assert (shown["value"], shown["statement"], shown["kind"]) == ("9090", "billing: port is 9090.", "decision")
    assert shown["scope"]["repositories"] == ["shop"]
    assert shown["valid_from"] == "2026-01-01T00:00:00Z"
    assert api.post(f"claims/{claim}/flag", {"reason": "look"})["flagged"] is True
    stale = {"action": "accept", "reason": "because", "revision_id": made["revision_id"]}
    problem(api.ask("POST", f"claims/{claim}/review", by="person", json=stale), 409, "stale")
    assert api.review(claim, "accept")["review"] == "accepted"
    problem(api.ask("POST", f"claims/{claim}/revise", json={"value": "1"}), 403, "role_too_low")
    corrected = api.review(claim, "correct", value="7070")
    assert corrected["rule_id"]
    assert [item["value"] for item in api.get("claims", subject="Billing", predicate="PORT")["items"]] == ["7070"]
    banned = api.propose("billing", "port", "9090")
    assert banned["admission"] == "blocked_by_rule"
    problem(
        api.ask("POST", f"claims/{banned['claim_id']}/review", by="person", json={"action": "accept", "reason": "x"}), 409, "banned_value"
    )
    history = api.get(f"claims/{claim}/history", by="person")
    assert [item["value"] for item in history["items"]] == ["8080", "9090", "9090", "7070"]
    assert [item["ordinal"] for item in history["items"]] == [1, 2, 3, 4]
    assert history["rules"][0]["cause"] == "corrected"
    assert history["items"][-1]["reviewer"] == "Ada"
    audited = api.get("audit", by="person", subject=claim)["items"]
    assert {"Ada", "agent"} <= {entry["principal"] for entry in audited}
    assert api.review(claim, "erase")["erased_revisions"] == 4
    assert api.ask("GET", f"claims/{claim}?mode=investigation").json()["withheld"] == "erased"


def test_a_contradiction_of_ones_own_names_the_claim_to_revise(api: Api) -> None:
    claim = api.propose("billing", "port", "8080")["claim_id"]
    document = problem(api.ask("POST", "claims", json={**CLAIM, "value": "9090"}), 409, "supersede_own_claim")
    assert document["claim_id"] == claim
    assert claim in document["mend"]


def test_a_conflict_is_shown_and_ended(api: Api) -> None:
    api.accepted("billing", "port", "8080")
    given = api.post("tokens", {"agent": "second", "role": "writer"}, by="person")["token"]
    other = api.propose("billing", "port", "9090", by=given)
    (found,) = api.get("conflicts")["items"]
    assert {found["left"]["value"], found["right"]["value"]} == {"8080", "9090"}
    body = {"how": "keep_one", "keep": NOBODYS, "reason": "because"}
    assert problem(api.ask("POST", f"conflicts/{found['id']}/resolution", by="person", json=body), 422, "invalid")["field"] == "keep"
    ended = api.post(f"conflicts/{found['id']}/resolution", {**body, "keep": other["claim_id"]}, by="person")
    assert ended["resolution"] == "keep_one"
    assert api.get("conflicts")["items"] == []
    assert api.get("conflicts", open=False)["items"][0]["resolved_by"] == "Ada"
    problem(api.ask("POST", f"conflicts/{found['id']}/resolution", by="person", json=body), 404, "not_found")


def test_a_dead_job_is_given_its_attempts_back(api: Api) -> None:
    job = api.post("captures", {"source": SOURCE, "events": [_event(1, "x")]})["job_id"]
    problem(api.ask("POST", f"jobs/{job}/requeue"), 409, "stale")
    api.world.run("update pipeline.job set state = 'dead', finished_at = now(), error = 'gone'")
    problem(api.ask("POST", f"jobs/{job}/requeue", by="reader"), 403, "role_too_low")
    assert api.ask("POST", f"jobs/{job}/requeue").json() == {"id": job, "state": "ready"}
    assert str(api.world.broker.rung[-1]) == job


@pytest.mark.parametrize("limit", [7, 200])
def test_pages_hold_each_claim_once(api: Api, limit: int) -> None:
    from memoranda.domain.claim import Statement
    from memoranda.store import ledger
    from memoranda_api.contribute import write_down

    with api.world.commands.begin(api.world.agent, "main") as acting:
        first = Statement(kind="fact", subject="s", predicate="p", value="v", sentence="v")
        cited = [write_down(acting, "v", kind="contribution", scope=first.scope)]
        for number in range(60 if limit == 7 else 500):
            statement = Statement(kind="fact", subject=f"s{number}", predicate="p", value="v", sentence="v")
            ledger.write(acting.connection, acting.brain_id, statement, ledger.Standing(), cited)
    api.world.run("analyze")
    seen: list[str] = []
    mark: dict[str, str] = {}
    while True:
        page = api.get("claims", mode="investigation", limit=limit, **mark)
        seen.extend(item["subject"] for item in page["items"])
        if page["next"] is None:
            break
        mark = {"after": page["next"]}
        api.propose(f"new-{len(seen)}", "p", "v")
    assert sorted(seen) == sorted(f"s{number}" for number in range(len(seen)))
    assert len(seen) == (60 if limit == 7 else 500)


KEY = {"Idempotency-Key": "k-1"}


@pytest.mark.guarantee(11)
def test_a_key_that_comes_again_returns_the_first_result(api: Api) -> None:
    first = api.ask("POST", "claims", headers=KEY, json=CLAIM)
    again = api.ask("POST", "claims", headers=KEY, json=CLAIM)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (None, "true")
    assert len(api.world.rows("select 1 from ledger.revision")) == 1


@pytest.mark.guarantee(11)
def test_a_key_with_another_payload_is_refused_and_the_first_result_stands(api: Api) -> None:
    first = api.ask("POST", "claims", headers=KEY, json=CLAIM).json()
    problem(api.ask("POST", "claims", headers=KEY, json={**CLAIM, "value": "9090"}), 409, "key_reused")
    problem(api.ask("POST", f"claims/{first['claim_id']}/retract", headers=KEY, json={"reason": "x"}), 409, "key_reused")
    assert api.ask("POST", "claims", headers=KEY, json=CLAIM).json() == first


@pytest.mark.guarantee(11)
def test_a_key_belongs_to_who_used_it_and_a_refusal_does_not_use_it_up(api: Api) -> None:
    problem(api.ask("POST", "claims", headers=KEY, json={**CLAIM, "value": "AKIAIOSFODNN7EXAMPLE"}), 422, "invalid")
    problem(api.ask("POST", "claims", by="reader", headers=KEY, json=CLAIM), 403, "role_too_low")
    mine = api.ask("POST", "claims", headers=KEY, json=CLAIM)
    theirs = api.ask("POST", "claims", by="person", headers=KEY, json={**CLAIM, "subject": "mailer"})
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert "idempotency-replayed" not in theirs.headers


@pytest.mark.guarantee(11)
def test_every_write_takes_a_key(api: Api) -> None:
    claim = api.propose("a", "b", "c")["claim_id"]
    source = api.post("captures", {"source": SOURCE, "events": [_event(1, "x")]})["source_id"]
    token = api.post("tokens", {"agent": "bot"}, by="person")["id"]
    for number, (method, path, by, body) in enumerate(
        [
            ("POST", "captures", "agent", {"source": SOURCE, "events": [_event(2, "y")]}),
            ("POST", f"claims/{claim}/revise", "agent", {"value": "d"}),
            ("POST", f"claims/{claim}/flag", "agent", {"reason": "look"}),
            ("POST", f"claims/{claim}/review", "person", {"action": "accept", "reason": "because"}),
            ("POST", "tokens", "person", {"agent": "bot"}),
            ("DELETE", f"tokens/{token}", "person", None),
            ("DELETE", f"sources/{source}?reason=private", "person", None),
        ]
    ):
        key = {"Idempotency-Key": f"key-{number}"}
        first = api.ask(method, path, by=by, headers=key, json=body)
        again = api.ask(method, path, by=by, headers=key, json=body)
        assert first.is_success, (path, first.text)
        assert again.status_code == first.status_code, (path, again.text)
        assert again.headers["idempotency-replayed"] == "true"
        if path == "tokens":
            assert (again.json()["id"], again.json()["token"]) == (first.json()["id"], None)
        elif first.content:
            assert again.json() == first.json(), path


@pytest.mark.guarantee(11)
def test_two_calls_with_one_key_at_the_same_time_happen_once(world: World, address: str) -> None:
    headers = {"Authorization": f"Bearer {world.extra['token']}", **KEY}
    together = threading.Barrier(8)

    def send(_: int) -> httpx.Response:
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            client.get("/v1/me")
            together.wait(20)
            return client.post("/v1/brains/main/claims", json=CLAIM)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["revision_id"] for answer in answers}) == 1
    assert sum(answer.headers.get("idempotency-replayed") == "true" for answer in answers) == 7
    assert len(world.rows("select 1 from ledger.revision")) == 1


def test_a_new_brain_is_asked_and_filled_at_once(api: Api, world: World, address: str) -> None:
    """Nothing is made on first use: twenty questions and five captures meet in a brain that is a moment old."""
    assert api.ask("POST", "/v1/brains", by="person", json={"slug": "fresh", "name": "Fresh"}).status_code == 201
    given = api.ask("POST", "/v1/brains/fresh/tokens", by="person", json={"agent": "bot"}).json()["token"]
    headers = {"Authorization": f"Bearer {given}"}
    together = threading.Barrier(25)

    def send(number: int) -> httpx.Response:
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            together.wait(20)
            if number < 20:
                return client.post("/v1/brains/fresh/recall", json={"question": "port", "mode": "investigation"})
            source = {"host": "h", "external_id": f"s-{number}"}
            return client.post("/v1/brains/fresh/captures", json={"source": source, "events": [_event(1, "the port")]})

    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(send, range(25)))
    assert [answer.status_code for answer in answers] == [200] * 20 + [202] * 5
    assert {len(answer.json()["evidence"]) for answer in answers[:20]} == {0}


@pytest.mark.guarantee(10)
def test_the_order_of_an_answer_does_not_change_with_later_writes(api: Api) -> None:
    """A word that became common since weighs less from now on, and as much as ever as of then."""
    api.accepted("one", "note", "alpha of the first kind")
    api.accepted("two", "note", "beta of the other sort")
    first = api.recall("alpha beta")
    for number in range(12):
        api.accepted(f"later-{number}", "note", "beta beta")
    again = api.recall("alpha beta", knowledge_time=first["coverage"]["knowledge_time"])
    assert [item["claim_id"] for item in again["accepted"]] == [item["claim_id"] for item in first["accepted"]]
    assert again["coverage"] == first["coverage"]
