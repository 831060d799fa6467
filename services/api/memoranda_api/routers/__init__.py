"""One module for each resource of the REST API."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Depends, Request

from memoranda_api.bodies import JsonRoute
from memoranda_api.refusals import UnknownBrain
from memoranda_api.wire import Problem

_READ = (401, 403, 404, 422, 503)
_WRITE = (401, 403, 404, 409, 413, 415, 422, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, for its description."""
    return {status: {"model": Problem, "content": {"application/problem+json": {}}} for status in statuses}


_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
READ = problems(*_READ)
WRITE = problems(*_WRITE)


def router(tag: str, prefix: str = "/v1/brains/{brain}") -> APIRouter:
    """A router for one resource."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=JsonRoute, dependencies=[Depends(_named)])


def _named(request: Request) -> None:
    """Refuses a brain's name that none can have, before it reaches the store: it may hold what Postgres cannot take."""
    brain = request.path_params.get("brain")
    if brain is not None and not _SLUG.fullmatch(brain):
        raise UnknownBrain("there is no such brain")
