"""Writing transactions: a credential proves who acts, the command runs once for each key, the bus is told of its jobs after commit."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from memoranda.domain.job import Lane, Line, Ring
from memoranda.errors import Forbidden, NotSignedIn
from memoranda.store import access, receipts
from memoranda.store.database import Connection, Database
from memoranda.telemetry import traceparent
from memoranda_api.refusals import CsrfMissing, UnknownBrain

Channel = Literal["browser", "page", "token"]
RANKS = ("reader", "writer", "reviewer", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a request brought to prove who it is: digests only, never the secret itself."""

    digest: bytes
    csrf_digest: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """An open writing transaction and who acts in it. ``lanes`` are those with new jobs, for the bus once it has committed."""

    connection: Connection
    brain_id: uuid.UUID
    principal_id: uuid.UUID
    kind: str
    role: str
    channel: Channel
    lanes: set[Lane] = field(default_factory=set[Lane])

    def need(self, role: str) -> None:
        """Raises Forbidden unless the role is at least this one."""
        if RANKS.index(self.role) < RANKS.index(role):
            raise Forbidden(f"this needs the role {role}; you have {self.role}", mend="ask an admin of the brain for it")

    def need_person(self) -> None:
        """Raises Forbidden unless a person acts in a browser session, proven by its CSRF token."""
        if self.channel != "browser":
            raise Forbidden("only a signed-in person can do this", mend="sign in with a browser link; a token cannot review")
        self.need("reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command came to: its result as JSON, and whether it is that of an earlier call with the same key."""

    result: dict[str, Any]
    replayed: bool


class Commands:
    """Runs write use cases. Thread-safe."""

    def __init__(self, database: Database, ring: Ring, *, timeout: float) -> None:
        """``ring`` is told of lines with new jobs after their transaction has committed; it returns at once and does not raise."""
        self._database = database
        self._ring = ring
        self._timeout = timeout

    @contextmanager
    def begin(self, credential: Credential, brain: str) -> Generator[Acting]:
        """Opens a writing transaction in a brain.

        Raises NotSignedIn for a credential that does not hold, NotFound for a brain that is unknown or not the caller's.
        """
        with self._database.transaction("command", timeout=self._timeout) as connection:
            acting = _prove(connection, credential, brain)
            yield acting
        if acting.lanes:
            self._ring(Line(acting.brain_id, lane) for lane in acting.lanes)

    def run(
        self, credential: Credential, brain: str, *, command: str, key: str | None, payload: bytes, work: Callable[[Acting], dict[str, Any]]
    ) -> Outcome:
        """Runs ``work`` at most once for each key of a principal; its result is stored with its effect.

        ``payload`` is what the key is bound to: the same key with another payload raises KeyReused. Two calls with one key at
        the same time wait for each other, and the second gets the first one's result.
        """
        digest = hashlib.sha256(command.encode() + b"\0" + payload).digest()
        with self.begin(credential, brain) as acting:
            if key is None:
                return Outcome(result=work(acting), replayed=False)
            known = receipts.claim(acting.connection, brain_id=acting.brain_id, principal_id=acting.principal_id, key=key, digest=digest)
            if known is not None:
                return Outcome(result=known, replayed=True)
            result = work(acting)
            receipts.keep(
                acting.connection,
                brain_id=acting.brain_id,
                principal_id=acting.principal_id,
                key=key,
                command=command,
                digest=digest,
                result=json.loads(json.dumps(result, default=str)),
                subject_id=_subject(result),
            )
            return Outcome(result=result, replayed=False)


def _prove(connection: Connection, credential: Credential, brain: str) -> Acting:
    standing = access.act(connection, credential.digest, credential.csrf_digest, brain, traceparent())
    if standing is None:
        if access.who(connection, credential.digest) is None:
            raise NotSignedIn("this credential is unknown, expired or revoked")
        raise UnknownBrain("there is no such brain")
    if standing.channel == "page":
        raise CsrfMissing("the CSRF token is missing or wrong")
    return Acting(
        connection=connection,
        brain_id=standing.brain_id,
        principal_id=standing.principal_id,
        kind=standing.kind,
        role=standing.role,
        channel="browser" if standing.channel == "browser" else "token",
    )


def _subject(result: dict[str, Any]) -> uuid.UUID | None:
    found = result.get("claim_id") or result.get("source_id")
    return uuid.UUID(str(found)) if found else None
