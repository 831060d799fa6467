"""Credentials of a request: a bearer token or a browser session, as digests. The secret itself goes no further."""

from __future__ import annotations

import hashlib
import re

from starlette.requests import HTTPConnection

from memoranda.errors import NotSignedIn
from memoranda_api.acting import Credential

COOKIE = "memoranda_session"
CSRF_HEADER = "x-csrf-token"
_SECRET = re.compile(r"[A-Za-z0-9_~.+/=-]{16,512}")


def digest(secret: str) -> bytes:
    """What the store knows of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def bearer(connection: HTTPConnection) -> str | None:
    """The bearer token of a request, or None where the header is missing or is none."""
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and _SECRET.fullmatch(secret.strip()) else None


def credential(connection: HTTPConnection) -> Credential:
    """The request's credential; a bearer token comes before a cookie. Raises NotSignedIn where there is none."""
    if "authorization" in connection.headers:
        token = bearer(connection)
        if token is None:
            raise NotSignedIn("the Authorization header holds no bearer token")
        return Credential(digest=digest(token))
    session = connection.cookies.get(COOKIE, "")
    if not _SECRET.fullmatch(session):
        raise NotSignedIn("this needs a credential")
    csrf = connection.headers.get(CSRF_HEADER)
    return Credential(digest=digest(session), csrf_digest=digest(csrf) if csrf else None)
