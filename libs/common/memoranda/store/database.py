"""Connections: one pool for each role that a process needs, transactions, and foreign errors translated at this door."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NoReturn

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from memoranda.errors import (
    BannedValue,
    Busy,
    EvidenceGone,
    Forbidden,
    Invalid,
    MemorandaError,
    Misconfigured,
    OutcomeUnknown,
    Stale,
    SupersedeOwn,
)

Connection = psycopg.Connection[TupleRow]
Role = Literal["gateway", "command", "ingest", "learner", "indexer", "graph"]


class Database:
    """The roles' pools of one process. Thread-safe; each pool opens on its first use and grows on demand."""

    def __init__(self, conninfo: str, *, pool_size: int = 8, wait: float = 10.0, idle: float = 60.0) -> None:
        """``conninfo`` has no user: the role is added here. ``wait`` is how long a caller waits for a free connection, in seconds.

        A transaction in which nothing is asked for ``idle`` seconds is ended by the server: a process that was frozen in the middle
        of one would hold its locks against everybody else.
        """
        self._conninfo = conninfo
        self._idle = f"{int(idle * 1000)}"
        self._pool_size = pool_size
        self._wait = wait
        self._pools: dict[Role, ConnectionPool[Connection]] = {}

    def open(self, *roles: Role) -> None:
        """Opens the pools of these roles without waiting for the server."""
        for role in roles:
            self._pools[role] = ConnectionPool(
                self.conninfo(role),
                connection_class=psycopg.Connection[TupleRow],
                kwargs={
                    "options": f"-c timezone=UTC -c application_name=memoranda-{role} -c idle_in_transaction_session_timeout={self._idle}"
                },
                min_size=0,
                max_size=self._pool_size,
                max_idle=60,
                reconnect_timeout=5,  # the wait between attempts grows up to this: recovery is this late at most
                timeout=self._wait,
                check=ConnectionPool.check_connection,
                open=True,
                name=f"memoranda-{role}",
            )

    def close(self) -> None:
        """Closes every pool; connections in use are closed when they come back."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def conninfo(self, role: Role) -> str:
        """The connection string of a role."""
        password = os.environ.get(f"MEMORANDA_PASSWORD_{role.upper()}")
        extra = {"password": password} if password else {}
        return make_conninfo(self._conninfo, user=f"memoranda_{role}", **extra)

    @contextmanager
    def transaction(self, role: Role, *, timeout: float) -> Generator[Connection]:
        """One transaction of a role, with a statement timeout in seconds. It commits when the block ends without an error.

        Raises the errors of ``memoranda.errors`` in place of psycopg's. ``OutcomeUnknown`` is raised only where the connection
        broke while the commit was under way.
        """
        committing = False
        try:
            with self._pools[role].connection() as connection:
                connection.execute("select set_config('statement_timeout', %s, true)", [f"{int(timeout * 1000)}"])
                yield connection
                committing = True
                connection.commit()
        except (psycopg.Error, PoolTimeout, TooManyRequests) as error:
            translate(error, committing=committing)


def translate(error: Exception, *, committing: bool = False) -> NoReturn:
    """Raises the error of ours that a database error stands for. Backend text never goes further than the cause."""
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        raise Busy("every database connection is in use") from error
    if committing and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        raise OutcomeUnknown("the database went away during the commit") from error
    if isinstance(error, psycopg.Error):
        raise _of_state(error) from error
    raise error


@dataclass(frozen=True, slots=True)
class _Why:
    message: str
    mend: str


AWAY = {
    "53100": _Why("the database's disk is full", "make room on the disk of Postgres; nothing is lost meanwhile"),
    "53300": _Why("the database takes no more connections", "raise max_connections, or run fewer processes or smaller pools"),
    "57014": _Why("the database took too long", "ask for less, or try again"),
}
"""States in which the store cannot answer now, and why."""
STRANGE_SCHEMA = frozenset(("3F000", "42703", "42883", "42P01"))
"""A schema, column, function or table is missing: the migrations did not run, or are those of another release."""


def _of_state(error: psycopg.Error) -> MemorandaError:
    state = error.sqlstate or ""
    message = (error.diag.message_primary or "").strip()
    match state:
        case "MEM01":
            return Stale(message)
        case "MEM02":
            return EvidenceGone(message)
        case "MEM03":
            return Invalid(message, field="body")
        case "MEM04":
            return SupersedeOwn(message, claim_id=error.diag.message_detail or "")
        case "MEM05":
            return BannedValue(message)
        case "42501" if not message.startswith(("permission denied", "new row violates")):
            return Forbidden(message)
        case _ if state in AWAY:
            return Busy(AWAY[state].message, mend=AWAY[state].mend)
        case _ if state in STRANGE_SCHEMA:
            return Misconfigured("the database's schema is not that of this release", mend="run memoranda-migrate")
        case _ if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, pg.SerializationFailure, pg.DeadlockDetected)):
            return Busy("the database is not available")
        case _ if isinstance(error, (pg.CheckViolation, pg.StringDataRightTruncation)):
            return Invalid("a value is outside what the store takes", field=_field_of(error))
        case "23505":
            return Stale("it exists already", mend="read what is there")
        case _:
            return MemorandaError("the database refused this")


def _field_of(error: psycopg.Error) -> str:
    name = error.diag.constraint_name or ""
    match = re.match(r"[a-z]+_(.+)_check\d*$", name)
    return match.group(1) if match else name or "body"
