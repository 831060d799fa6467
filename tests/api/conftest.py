"""The application over a fresh database: asked without a network, or under a real server where the wire is the subject."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from httpx2 import Response
from starlette.testclient import TestClient

from memoranda.settings import Settings
from tests.databases import Server
from tests.world import World

HOST = "127.0.0.1:7411"
BODY_LIMIT = 64 * 1024
NOBODYS = "00000000-0000-7000-8000-000000000000"
UNKNOWN_BRAIN = "unknown_brain"
CSRF = "csrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A world and the application over it. ``by`` is who asks: person, agent, reader or nobody."""

    world: World
    app: FastAPI
    client: TestClient

    def headers(self, by: str) -> dict[str, str]:
        """The credential of one of the world's people."""
        extra = self.world.extra
        match by:
            case "person":
                return {"Cookie": f"memoranda_session={extra['session']}", "X-CSRF-Token": extra["csrf"]}
            case "page":
                return {"Cookie": f"memoranda_session={extra['session']}"}
            case "agent":
                return {"Authorization": f"Bearer {extra['token']}"}
            case "reader":
                return {"Authorization": f"Bearer {extra['reading']}"}
            case "nobody":
                return {}
            case _:
                return {"Authorization": f"Bearer {by}"}

    def ask(self, method: str, path: str, *, by: str = "agent", headers: dict[str, str] | None = None, **more: Any) -> Response:
        """One request. A path without a leading slash is one of the brain's."""
        whole = path if path.startswith("/") else f"/v1/brains/{self.world.brain}/{path}"
        return self.client.request(method, whole, headers={**self.headers(by), **(headers or {})}, **more)

    def get(self, path: str, *, by: str = "agent", **params: Any) -> Any:
        """The answer of a GET that must succeed."""
        response = self.ask("GET", path, by=by, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: dict[str, Any], *, by: str = "agent") -> Any:
        """The answer of a POST that must succeed."""
        response = self.ask("POST", path, by=by, json=body)
        assert response.is_success, response.text
        return response.json()

    def recall(self, question: str, *, by: str = "agent", **more: Any) -> Any:
        """The answer to a question."""
        return self.post("recall", {"question": question, **more}, by=by)

    def propose(self, subject: str, predicate: str, value: str, *, by: str = "agent", **more: Any) -> Any:
        """A proposed claim."""
        return self.post("claims", {"subject": subject, "predicate": predicate, "value": value, **more}, by=by)

    def review(self, claim: str, action: str, **more: Any) -> Any:
        """A person's decision."""
        return self.post(f"claims/{claim}/review", {"action": action, "reason": "because", **more}, by="person")

    def accepted(self, subject: str, predicate: str, value: str, **more: Any) -> Any:
        """A claim that an agent proposed and a person accepted."""
        made = self.propose(subject, predicate, value, **more)
        self.review(made["claim_id"], "accept")
        return made


def problem(response: Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of a response, which must have this status and code."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"].split(";")[0] == "application/problem+json"
    document = response.json()
    assert document["code"] == code, document
    assert document["status"] == status
    assert document["outcome"] in ("not_applied", "unknown")
    assert isinstance(document["retry"], bool)
    assert document["type"]
    assert document["title"]
    return document


def make_app(world: World, **more: Any) -> FastAPI:
    """The application over a world's database."""
    from memoranda_api.app import create_app

    settings = Settings(database=world.database.conninfo, body_limit=BODY_LIMIT, **more)
    return create_app(settings, world.connections, world.announcer.run_once)


@pytest.fixture
def api(world: World) -> Generator[Api]:
    """The application, asked without a network."""
    app = make_app(world)
    with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        yield Api(world=world, app=app, client=client)


@pytest.fixture(scope="module")
def quiet(server: Server, template: str) -> Generator[Api]:
    """The application over one world that the tests of a module share: for what is only read, or refused."""
    from tests.world import make

    with server.new("test", template=template) as database:
        for world in make(database):
            app = make_app(world)
            with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
                yield Api(world=world, app=app, client=client)


@contextmanager
def served(world: World) -> Generator[str]:
    """The application under a real server; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(32)
        server = uvicorn.Server(uvicorn.Config(make_app(world), log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server takes too long"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture
def address(world: World) -> Generator[str]:
    """The address of the application under a real server."""
    with served(world) as url:
        yield url
