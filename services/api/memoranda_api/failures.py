"""Errors as problem documents (RFC 9457). The one place that knows status codes."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memoranda import errors
from memoranda_api.wire import Problem

log = logging.getLogger("memoranda.api")

MEDIA = "application/problem+json"
TITLES = {
    400: "Bad request",
    401: "Not signed in",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Invalid",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available",
}
STATUS: tuple[tuple[type[errors.MemorandaError], int], ...] = (
    (errors.Invalid, 422),
    (errors.NotSignedIn, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.Erased, 410),
    (errors.EvidenceGone, 422),
    (errors.Refused, 409),
    (errors.Busy, 503),
    (errors.Misconfigured, 503),
)
RETRY_AFTER = "1"


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    mend: str = "",
    field: str | None = None,
    unknown: bool = False,
    retry: bool = False,
    **more: str | None,
) -> JSONResponse:
    """One problem document as a response."""
    document = Problem(
        type=f"urn:memoranda:problem:{code}",
        title=TITLES.get(status, "Error"),
        status=status,
        code=code,
        detail=detail,
        mend=mend,
        field=field,
        outcome="unknown" if unknown else "not_applied",
        retry=retry,
        **more,
    )
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="memoranda"'
    if status in (429, 503):
        headers["Retry-After"] = RETRY_AFTER
    return JSONResponse(document.model_dump(exclude_none=True), status_code=status, media_type=MEDIA, headers=headers)


def of(error: errors.MemorandaError) -> JSONResponse:
    """The problem document of one of our errors."""
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    return problem(
        status,
        error.code,
        error.message,
        mend=error.mend,
        field=error.field if isinstance(error, errors.Invalid) else None,
        unknown=isinstance(error, errors.OutcomeUnknown),
        retry=isinstance(error, errors.Busy),
        claim_id=error.claim_id if isinstance(error, errors.SupersedeOwn) else None,
    )


def install(app: FastAPI) -> None:
    """Makes the application answer every error as a problem document."""
    app.add_exception_handler(errors.MemorandaError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def _ours(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, errors.MemorandaError)
    return of(error) if type(error) is not errors.MemorandaError else incident(error)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0]) if error.errors() else {}
    # the first step says which part of the request it is
    part, *steps = [str(step) for step in first.get("loc", ())] or ["body"]
    field = shown(".".join(steps)) or part
    message, mend = str(first.get("msg", "it cannot be read")), "see /openapi.json for what is taken"
    match first.get("type"):
        case "json_invalid":
            field, message = "body", "this is not JSON"
        case "extra_forbidden":
            message = "there is no such field"
        case "model_attributes_type" | "model_type" if field == "body":
            message, mend = "a JSON object is needed here", "send one, with Content-Type: application/json"
        case _:
            pass
    return problem(422, "invalid", f"{field}: {message}", field=field, mend=mend)


def shown(name: str) -> str:
    """A name that the caller made up, fit to be shown to it: short, and text."""
    return name[:200].encode("utf-8", "replace").decode()


def _http(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, HTTPException)
    codes = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}
    answer = problem(error.status_code, codes.get(error.status_code, "refused"), TITLES.get(error.status_code, "Refused"))
    answer.headers.update(error.headers or {})
    return answer


def incident(error: Exception) -> JSONResponse:
    """The answer to what nobody foresaw: a number to look for in the log, and nothing else."""
    number = secrets.token_hex(6)
    log.error("unexpected error", exc_info=error, extra={"fields": {"incident": number}})
    detail = "something went wrong here; nothing about it is shown"
    return problem(500, "internal", detail, mend="look for the incident in the log", unknown=True, retry=True, incident=number)
