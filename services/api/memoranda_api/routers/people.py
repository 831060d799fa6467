"""Signing in: a one-time link becomes a browser session; who a credential belongs to."""

from __future__ import annotations

import secrets
from datetime import timedelta

from fastapi import Response
from fastapi.responses import HTMLResponse

from memoranda.errors import NotSignedIn
from memoranda.store import access
from memoranda_api.auth import COOKIE, digest
from memoranda_api.gateway import TheCredential, TheGateway
from memoranda_api.pages import SIGN_IN
from memoranda_api.routers import READ, problems, router
from memoranda_api.wire import Me, SignedIn, SignIn

routes = router("people", "")
SESSION = timedelta(hours=12)


@routes.get("/sign-in", response_class=HTMLResponse, include_in_schema=False)
def sign_in_page() -> HTMLResponse:
    """A page with one button. Opening it uses nothing up: a mail scanner or a preview may do so first."""
    return HTMLResponse(SIGN_IN)


@routes.post("/v1/sign-in", response_model=SignedIn, operation_id="sign_in", responses=problems(401, 422, 503))
def sign_in(body: SignIn, gateway: TheGateway, response: Response) -> dict[str, str]:
    """Redeems a one-time link. Sets the session cookie; the CSRF token goes into the header of every write."""
    session, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with gateway.database.transaction("command", timeout=5) as connection:
        name = access.redeem_sign_in(connection, link=digest(body.link), session=digest(session), csrf=digest(csrf), lifetime=SESSION)
    if name is None:
        raise NotSignedIn("this link was used, or is too old", mend="make a new one: memoranda sign-in")
    response.set_cookie(
        COOKIE,
        session,
        max_age=int(SESSION.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=gateway.settings.secure_cookies,
        path="/",
    )
    return {"name": name, "csrf_token": csrf}


@routes.post("/v1/sign-out", status_code=204, operation_id="sign_out", responses=problems(401, 503))
def sign_out(gateway: TheGateway, credential: TheCredential, response: Response) -> None:
    """Ends the browser session. Nobody else needs to be asked: whoever holds the cookie may end it."""
    with gateway.database.transaction("command", timeout=5) as connection:
        access.end_session(connection, credential.digest)
    response.delete_cookie(COOKIE, path="/")


@routes.get("/v1/me", response_model=Me, operation_id="me", responses=READ)
def me(gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """Who the credential belongs to, and the brains that it opens."""
    with gateway.database.transaction("gateway", timeout=gateway.settings.read_timeout) as connection:
        person = access.who(connection, credential.digest, credential.csrf_digest)
        if person is None:
            raise NotSignedIn("this credential is unknown, expired or revoked")
        found = access.brains(connection, credential.digest)
    return {"name": person.name, "kind": person.kind, "channel": person.channel, "brains": found}
