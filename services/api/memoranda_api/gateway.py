"""What every route needs: the credential of the request, the lens to read through, the commands to write with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.security import APIKeyCookie, HTTPBearer

from memoranda.errors import NotFound
from memoranda.settings import Settings
from memoranda.store import lens
from memoranda.store.database import Database
from memoranda_api import auth
from memoranda_api.acting import Acting, Commands, Credential
from memoranda_api.refusals import UnknownBrain


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The process' settings, its pools and its commands. ``bus`` says what keeps jobs from being published; nothing when all is well."""

    settings: Settings
    database: Database
    commands: Commands
    bus: Callable[[], str]

    @contextmanager
    def reading(self, credential: Credential, brain: str, view: lens.View = lens.ACCEPTED) -> Generator[lens.Reading]:
        """A reading transaction with the lens open. Raises UnknownBrain for a brain that is unknown or not the caller's."""
        opened = False
        try:
            with lens.reading(self.database, credential.digest, brain, view, timeout=self.settings.read_timeout) as reading:
                opened = True
                yield reading
        except NotFound as error:
            if opened:
                raise
            raise UnknownBrain(error.message) from error


def _gateway(request: Request) -> Gateway:
    return request.app.state.gateway


_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="an agent's token: mem_…")
_SESSION = APIKeyCookie(
    name=auth.COOKIE, auto_error=False, scheme_name="session", description="a person's session; writes need X-CSRF-Token"
)


def _credential(
    request: Request, _: Annotated[object, Depends(_BEARER)] = None, __: Annotated[object, Depends(_SESSION)] = None
) -> Credential:
    """The two schemes are named for the description only."""
    return auth.credential(request)


TheGateway = Annotated[Gateway, Depends(_gateway)]
TheCredential = Annotated[Credential, Depends(_credential)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00]*$",
        description="The same key with the same body returns the first result; with another body it is refused (409).",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A request to write: who, where, under which key."""

    gateway: Gateway
    credential: Credential
    response: Response
    key: str | None

    def run(self, brain: str, name: str, payload: bytes, work: Callable[[Acting], dict[str, Any]]) -> dict[str, Any]:
        """Runs the work once for the key and says in a header whether this was a replay."""
        outcome = self.gateway.commands.run(self.credential, brain, command=name, key=self.key, payload=payload, work=work)
        if outcome.replayed:
            self.response.headers["Idempotency-Replayed"] = "true"
        return outcome.result


def _command(gateway: TheGateway, credential: TheCredential, response: Response, key: Key = None) -> Command:
    return Command(gateway=gateway, credential=credential, response=response, key=key)


TheCommand = Annotated[Command, Depends(_command)]
