"""Refusals that only the gateway makes: what the store says in one word, told apart for its callers."""

from __future__ import annotations

from memoranda.errors import Forbidden, NotFound


class UnknownBrain(NotFound):
    """Raised for a brain that does not exist and for one that the caller has no rights to, alike."""

    code = "unknown_brain"
    mend = "list your brains with GET /v1/brains"


class CsrfMissing(Forbidden):
    """Raised where a browser session writes without its CSRF token, or with a wrong one."""

    code = "csrf"
    mend = "send the X-CSRF-Token that signing in returned"
