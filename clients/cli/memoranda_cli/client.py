"""The REST API as a client sees it: typed, idempotent, patient with a server that restarts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self, cast

import httpx
import orjson

from memoranda_cli.errors import Problem, Unreachable
from memoranda_cli.target import Session, Target
from memoranda_cli.wire import Captured, Claim, Progress, Recalled

COOKIE: Final = "memoranda_session"
# together eight seconds: a restart of the embedded profile takes two
PAUSES: Final = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0)
LONGEST_PAUSE: Final = 10.0
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 120.0
FIRST_POLL: Final = 0.03
LAST_POLL: Final = 0.5

UNPROVEN: Final = 401
BUSY: Final = 503

Json = dict[str, Any]


class Client:
    """One connection pool to one brain, as an agent with a token or as a person with a session. Thread-safe."""

    def __init__(self, target: Target, session: Session | None = None) -> None:
        self.target = target
        self.session = session
        headers = {"Accept": "application/json"}
        if session is not None:
            headers |= {"Cookie": f"{COOKIE}={session.cookie}", "X-CSRF-Token": session.csrf}
        elif target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        self._http = httpx.Client(
            base_url=target.url, headers=headers, timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS), trust_env=not target.local
        )
        self._answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def get(self, path: str, **parameters: str | int | None) -> Json:
        """Reads. ``path`` is below the brain, or absolute where it starts with a slash."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._ask("GET", path, parameters=given)

    def write(self, path: str, body: object, *, method: str = "POST", key: str | None = None) -> Json:
        """Writes at most once, however often the connection breaks: every attempt carries the same idempotency key."""
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex}
        return self._ask(method, path, content=content, headers=headers)

    def delete(self, path: str, **parameters: str) -> Json:
        """Deletes, with an idempotency key."""
        return self._ask("DELETE", path, parameters=parameters, headers={"Idempotency-Key": uuid.uuid4().hex})

    def capture(self, batch: bytes) -> Captured:
        """Sends one batch of events, already JSON."""
        return cast("Captured", self.write("captures", batch))

    def recall(self, question: str, **options: object) -> Recalled:
        """Asks a question."""
        given = {name: value for name, value in options.items() if value is not None}
        return cast("Recalled", self._ask("POST", "recall", content=orjson.dumps({"question": question, **given})))

    def progress(self, source: str) -> Progress:
        """How far a source has come."""
        return cast("Progress", self.get(f"sources/{source}/progress"))

    def settled(self, source: str, *, seconds: float) -> Progress:
        """Waits until everything captured of a source is sealed and learned, at most so long, and says how far it came."""
        deadline = time.monotonic() + seconds
        pause = FIRST_POLL
        while True:
            found = self.progress(source)
            if found["done"] or time.monotonic() >= deadline:
                return found
            time.sleep(pause)
            pause = min(pause * 1.5, LAST_POLL)

    def pages(self, path: str, **parameters: str | int | None) -> Iterator[Json]:
        """Every item of a listing, page after page."""
        after: str | None = None
        while True:
            page = self.get(path, after=after, **parameters)
            yield from page["items"]
            after = page.get("next")
            if after is None:
                return

    def claims(self, **parameters: str | int | None) -> list[Claim]:
        """Every claim of a listing that is not withheld."""
        found = cast("list[Claim]", list(self.pages("claims", **parameters)))
        return [claim for claim in found if not claim.get("withheld")]

    def ready(self) -> dict[str, str]:
        """What the server says of its own readiness, by what was checked; asked once. Raises Unreachable where it does not answer."""
        try:
            answer: dict[str, Any] = self._http.get("/v1/health/ready").json()
        except (httpx.TransportError, ValueError) as exc:
            raise Unreachable(f"{self.target.url} does not say whether it is ready ({type(exc).__name__})") from exc
        return dict(answer.get("checks") or {"server": str(answer.get("status") or "no answer")})

    def _ask(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str | int] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        where = path if path.startswith("/") else f"/v1/brains/{self.target.brain}/{path}"
        sent = {"Content-Type": "application/json", **(headers or {})} if content is not None else dict(headers or {})
        for pause in (*PAUSES, None):
            try:
                answer = self._http.request(method, where, params=parameters, content=content, headers=sent)
                self._answered = True
                return _understood(answer)
            except httpx.TransportError as exc:
                # an address where nothing ever answered is told at once; a server that went away may come back
                if pause is None or not self._answered:
                    raise self._unreachable(exc) from exc
                time.sleep(pause)
            except Problem as problem:
                if pause is None or problem.status != BUSY:
                    raise self._mended(problem) from None
                time.sleep(min(problem.retry_after or pause, LONGEST_PAUSE))
        raise AssertionError("the last pause is None")

    def _mended(self, problem: Problem) -> Problem:
        """The problem with what mends it here, where the server can only say it in general."""
        lapsed = problem.status == UNPROVEN and self.session is not None
        unread = problem.code == "role_too_low" and self.session is None and "history" in problem.message
        if lapsed or unread:
            problem.mend = "memoranda sign-in --here"
        return problem

    def _unreachable(self, exc: httpx.TransportError) -> Unreachable:
        mend = (
            "start it with 'memoranda up'; 'memoranda doctor' says what is wrong" if self.target.local else "check MEMORANDA_URL or --url"
        )
        return Unreachable(f"{self.target.url} does not answer ({type(exc).__name__})", mend=mend)


def redeem(target: Target, link: str) -> Session:
    """Signs a person in with a one-time link, as a browser does. Raises Problem for one that is used, expired or unknown."""
    secret = httpx.URL(link).params.get("link", link)
    with httpx.Client(base_url=target.url, timeout=CONNECT_SECONDS, trust_env=not target.local) as http:
        try:
            answer = http.post("/v1/sign-in", json={"link": secret})
        except httpx.TransportError as exc:
            raise Unreachable(f"{target.url} does not answer", mend="start it with 'memoranda up'") from exc
        said = _understood(answer)
        return Session(cookie=answer.cookies[COOKIE], csrf=said["csrf_token"], name=said["name"], url=target.url)


def _understood(answer: httpx.Response) -> Json:
    try:
        body: Json = orjson.loads(answer.content or b"{}")
    except orjson.JSONDecodeError as exc:
        what = f"status {answer.status_code} without a readable body"
        raise Problem(what, status=answer.status_code, code="not_json", mend="is this address a Memoranda?") from exc
    if answer.is_success:
        return body
    waited = answer.headers.get("Retry-After", "")
    raise Problem(
        str(body.get("detail") or body.get("title") or f"status {answer.status_code}"),
        status=answer.status_code,
        code=str(body.get("code", "unknown")),
        field=str(body.get("field") or ""),
        mend=str(body.get("mend") or ""),
        retry_after=float(waited) if waited.isdigit() else None,
    )
