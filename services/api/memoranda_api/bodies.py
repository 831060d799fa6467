"""JSON bodies: read fast, and whatever is in them, never more than a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class JsonRequest(Request):
    """A request whose JSON may hold lone surrogates (they become U+FFFD later) and may not hold NaN, Infinity or bottomless nesting."""

    async def json(self) -> Any:
        """The body. Raises JSONDecodeError for what is not JSON."""
        body = await self.body()
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            if b"\\ud" not in body and b"\\uD" not in body:
                raise
            return _lenient(body)


def _lenient(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse)
    except (RecursionError, ValueError) as error:
        raise json.JSONDecodeError("not JSON", "", 0) from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


class JsonRoute(APIRoute):
    """A route whose bodies are read as ``JsonRequest`` reads them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the request wrapped."""
        handler = super().get_route_handler()

        async def wrapped(request: Request) -> Response:
            return await handler(JsonRequest(request.scope, request.receive))

        return wrapped
