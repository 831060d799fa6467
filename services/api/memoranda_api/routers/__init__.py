"""One module for each resource of the REST API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memoranda_api.bodies import JsonRoute
from memoranda_api.wire import Problem

_READ = (401, 403, 404, 422, 503)
_WRITE = (401, 403, 404, 409, 413, 415, 422, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, for its description."""
    return {status: {"model": Problem, "content": {"application/problem+json": {}}} for status in statuses}


READ = problems(*_READ)
WRITE = problems(*_WRITE)


def router(tag: str, prefix: str = "/v1/brains/{brain}") -> APIRouter:
    """A router for one resource."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=JsonRoute)
