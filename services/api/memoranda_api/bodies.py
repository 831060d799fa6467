"""JSON bodies: read fast, and whatever is in them, never more than a refusal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, cast

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class JsonRequest(Request):
    """A request whose JSON may hold lone surrogates and NUL (they become U+FFFD), and neither NaN nor bottomless nesting."""

    async def json(self) -> Any:
        """The body. Raises JSONDecodeError for what is not JSON."""
        body = await self.body()
        if "idempotency-key" in self.headers:
            self.scope["memoranda.body"] = hashlib.sha256(body).digest()
        try:
            return _read(body)
        except RecursionError as error:
            raise json.JSONDecodeError("nested too deeply", "", 0) from error


def _read(body: bytes) -> Any:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"\\ud" not in body and b"\\uD" not in body:
            raise
        return scrubbed(_lenient(body))
    return scrubbed(value) if b"\\u0000" in body else value


def scrubbed(value: Any) -> Any:
    """The value with text that Postgres can hold: NUL and lone surrogates become U+FFFD."""
    if isinstance(value, str):
        return _scrubbed(value)
    if isinstance(value, list):
        return [scrubbed(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_scrubbed(str(name)): scrubbed(item) for name, item in cast("dict[Any, Any]", value).items()}
    return value


def _scrubbed(text: str) -> str:
    text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _lenient(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse)
    except ValueError as error:
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
