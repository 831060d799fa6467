"""Brains, and the tokens of their agents."""

from __future__ import annotations

import secrets
from typing import Any
from uuid import UUID

from memoranda.errors import Forbidden, NotFound, NotSignedIn, Stale
from memoranda.store import access
from memoranda_api.acting import Acting
from memoranda_api.auth import digest
from memoranda_api.gateway import TheCommand, TheCredential, TheGateway
from memoranda_api.refusals import CsrfMissing, UnknownBrain
from memoranda_api.routers import READ, WRITE, router
from memoranda_api.wire import BrainOut, Brains, NewBrain, NewToken, TokenGiven, Tokens

routes = router("brains", "/v1/brains")


@routes.get("", response_model=Brains, operation_id="list_brains", responses=READ)
def list_brains(gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """The brains that the credential opens."""
    with gateway.database.transaction("gateway", timeout=gateway.settings.read_timeout) as connection:
        if access.who(connection, credential.digest) is None:
            raise NotSignedIn("this credential is unknown, expired or revoked")
        return {"items": access.brains(connection, credential.digest)}


@routes.post("", response_model=BrainOut, status_code=201, operation_id="create_brain", responses=WRITE)
def create_brain(body: NewBrain, gateway: TheGateway, credential: TheCredential) -> access.Brain:
    """Makes a brain and its creator its admin. Needs a signed-in person, or an admin's token that is not bound to one brain.

    The slug is the key: made twice, it is refused the second time.
    """
    try:
        with gateway.database.transaction("command", timeout=gateway.settings.write_timeout) as connection:
            who = access.who(connection, credential.digest, credential.csrf_digest)
            if who is None:
                raise NotSignedIn("this credential is unknown, expired or revoked")
            if who.channel == "page":
                raise CsrfMissing("the CSRF token is missing or wrong")
            access.create_brain(connection, credential.digest, credential.csrf_digest, slug=body.slug, name=body.name, policy=body.policy)
            return next(brain for brain in access.brains(connection, credential.digest) if brain.slug == body.slug)
    except Stale as error:
        raise Stale(f"there is a brain '{body.slug}' already", mend="choose another slug") from error


@routes.get("/{brain}", response_model=BrainOut, operation_id="get_brain", responses=READ)
def get_brain(brain: str, gateway: TheGateway, credential: TheCredential) -> access.Brain:
    """One brain."""
    with gateway.database.transaction("gateway", timeout=gateway.settings.read_timeout) as connection:
        if access.who(connection, credential.digest) is None:
            raise NotSignedIn("this credential is unknown, expired or revoked")
        for found in access.brains(connection, credential.digest):
            if found.slug == brain:
                return found
    raise UnknownBrain("there is no such brain")


@routes.get("/{brain}/tokens", response_model=Tokens, operation_id="list_tokens", responses=READ)
def list_tokens(brain: str, gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """The brain's tokens, without their secrets. For its admin."""
    with gateway.reading(credential, brain) as reading:
        if reading.role != "admin":
            raise Forbidden("this needs the role admin", mend="ask an admin of the brain")
        return {"items": access.tokens(reading.connection)}


@routes.post("/{brain}/tokens", response_model=TokenGiven, status_code=201, operation_id="give_token", responses=WRITE)
def give_token(brain: str, body: NewToken, command: TheCommand) -> dict[str, Any]:
    """Gives an agent a token. It is shown this once: only its digest is stored, and a replay shows null in its place."""
    token = f"mem_{secrets.token_urlsafe(32)}"

    def work(acting: Acting) -> dict[str, object]:
        _need_admin(acting)
        made = access.give_token(
            acting.connection,
            digest(token),
            agent=body.agent,
            role=body.role,
            reads_history=body.reads_history,
            label=body.label,
            expires_at=body.expires_at,
        )
        return {"id": made}

    given = command.run(brain, "give_token", body.model_dump_json().encode(), work)
    return given if "Idempotency-Replayed" in command.response.headers else given | {"token": token}


@routes.delete("/{brain}/tokens/{token}", status_code=204, operation_id="revoke_token", responses=WRITE)
def revoke_token(brain: str, token: UUID, command: TheCommand) -> None:
    """Revokes a token at once."""

    def work(acting: Acting) -> dict[str, object]:
        _need_admin(acting)
        if not access.revoke_token(acting.connection, token):
            raise NotFound("there is no such token that holds", mend="list the brain's tokens")
        return {}

    command.run(brain, "revoke_token", str(token).encode(), work)


def _need_admin(acting: Acting) -> None:
    acting.need_person()
    acting.need("admin")
