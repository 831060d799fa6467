"""The store goes away and comes back: what is said meanwhile, and that nobody has to restart anything."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from starlette.testclient import TestClient

from memoranda.settings import Settings
from memoranda.store.database import Database
from tests.api.conftest import HOST, problem
from tests.world import World

# seconds that a caller waits for a connection: too short to hide an outage, and long enough for the pool to replace one that broke
SHORT, LONG = 0.3, 5.0


class Cable:
    """A socket that leads to the server as long as it is plugged in."""

    def __init__(self, folder: Path, server: str) -> None:
        self._place = folder / ".s.PGSQL.5432"
        self._server = server
        self._ends: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.plug()

    def plug(self) -> None:
        """Lets connections through."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._place))
        self._listening.listen(16)
        threading.Thread(target=self._accept, args=[self._listening], daemon=True).start()

    def pull(self) -> None:
        """Cuts every connection and lets none through."""
        assert self._listening is not None
        self._place.unlink()
        for end in (self._listening, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._server)
                self._ends += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=[source, target], daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def cable(world: World, request: pytest.FixtureRequest) -> Generator[tuple[Cable, TestClient]]:
    """The application behind a cable."""
    from memoranda_api.app import create_app

    folder = Path(tempfile.mkdtemp(prefix="memo-", dir="/tmp"))
    given = conninfo_to_dict(world.database.conninfo)
    if not str(given.get("host", "")).startswith("/"):
        pytest.skip("optional: the server of the tests has no local socket")
    cable = Cable(folder, f"{given['host']}/.s.PGSQL.{given.get('port', 5432)}")
    conninfo = make_conninfo(world.database.conninfo, host=str(folder), port=5432)
    connections = Database(conninfo, pool_size=3, wait=getattr(request, "param", LONG))
    connections.open("gateway", "command")
    app = create_app(Settings(database=conninfo), connections, world.announcer.run_once)
    try:
        with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
            yield cable, client
    finally:
        with suppress(OSError):
            cable.pull()
        connections.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("cable", [SHORT], indirect=True)
def test_an_outage_is_said_and_ends_by_itself(world: World, cable: tuple[Cable, TestClient]) -> None:
    wire, client = cable
    headers = {"Authorization": f"Bearer {world.extra['token']}"}
    claim = {"subject": "billing", "predicate": "port", "value": "8080"}

    def write(key: str) -> int:
        return client.post("/v1/brains/main/claims", headers={**headers, "Idempotency-Key": key}, json=claim).status_code

    assert client.get("/v1/health/ready").json()["status"] == "ready"
    assert write("first") == 201
    wire.pull()

    began = time.monotonic()
    ready = client.get("/v1/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert time.monotonic() - began < 4
    assert client.get("/v1/health/live").status_code == 200
    for response in (
        client.get("/v1/me", headers=headers),
        client.post("/v1/brains/main/recall", headers=headers, json={"question": "port"}),
        client.post("/v1/brains/main/claims", headers={**headers, "Idempotency-Key": "second"}, json={**claim, "subject": "mail"}),
    ):
        document = problem(response, 503, "busy")
        assert (document["outcome"], document["retry"]) == ("not_applied", True)
        assert response.headers["retry-after"].isdigit()
        assert not any(word in response.text for word in ("PGSQL", "socket", "psycopg", "memo-"))

    wire.plug()
    began = time.monotonic()
    while write("first") != 201:
        assert time.monotonic() - began < 10, "it does not recover"
    assert write("second-try") == 201
    assert client.get("/v1/health/ready").status_code == 200
    assert len(world.rows("select 1 from ledger.claim")) == 1


def test_connections_that_the_server_ends_are_replaced(world: World, cable: tuple[Cable, TestClient]) -> None:
    _, client = cable
    headers = {"Authorization": f"Bearer {world.extra['token']}"}
    for _ in range(3):
        assert client.get("/v1/me", headers=headers).status_code == 200
        world.rows("select pg_terminate_backend(pid, 2000) from pg_stat_activity where usename like 'memoranda_%%'")


def test_readiness_waits_for_no_free_connection_longer_than_a_probe(world: World, cable: tuple[Cable, TestClient]) -> None:
    """Every connection is taken by readers that wait for a writer; the process still says within seconds that it is not ready."""
    _, client = cable
    headers = {"Authorization": f"Bearer {world.extra['token']}"}
    with world.admin() as admin:
        admin.autocommit = False
        admin.execute("select pg_advisory_xact_lock(access.write_lock(%s))", (world.brain_id,))
        readers = [threading.Thread(target=client.get, args=["/v1/brains/main/claims"], kwargs={"headers": headers}) for _ in range(12)]
        for reader in readers:
            reader.start()
        began = time.monotonic()
        assert client.get("/v1/health/live").status_code == 200
        assert client.get("/v1/health/ready").status_code in (200, 503)
        assert time.monotonic() - began < 4
        admin.rollback()
        for reader in readers:
            reader.join(20)
    assert client.get("/v1/brains/main/claims", headers=headers).status_code == 200
