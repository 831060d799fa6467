"""Settings of a process: read once from the environment, frozen, few."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What differs between installations.

    ``database`` is a libpq connection string without a user: each role connects with its own name, and with the password in
    ``MEMORANDA_PASSWORD_<ROLE>`` where one is set. ``allowed_hosts`` are the names under which the API answers to browsers and
    MCP clients. Times are in seconds, sizes in bytes.
    """

    database: str
    data_dir: Path = field(default_factory=lambda: Path.home() / ".memoranda")
    host: str = "127.0.0.1"
    port: int = 7411
    allowed_hosts: tuple[str, ...] = ()
    pool_size: int = 8
    body_limit: int = 8 * 1024 * 1024
    read_timeout: float = 2.0
    write_timeout: float = 15.0
    lease_seconds: float = 60.0
    sweep_seconds: float = 5.0
    worker_threads: int = 4
    secure_cookies: bool = False

    @property
    def url(self) -> str:
        """Where the REST API answers."""
        return f"http://{self.host}:{self.port}"


def from_environment() -> Settings:
    """Reads ``MEMORANDA_*``. A number that is none raises ValueError with the variable's name."""
    env = os.environ
    plain = Settings(database=env.get("MEMORANDA_DATABASE", ""))
    return Settings(
        database=plain.database,
        data_dir=Path(env.get("MEMORANDA_DATA", str(plain.data_dir))).expanduser(),
        host=env.get("MEMORANDA_HOST", plain.host),
        port=_number("MEMORANDA_PORT", plain.port),
        allowed_hosts=tuple(name.strip() for name in env.get("MEMORANDA_ALLOWED_HOSTS", "").split(",") if name.strip()),
        pool_size=_number("MEMORANDA_POOL_SIZE", plain.pool_size),
        body_limit=_number("MEMORANDA_BODY_LIMIT", plain.body_limit),
        worker_threads=_number("MEMORANDA_WORKER_THREADS", plain.worker_threads),
        secure_cookies=env.get("MEMORANDA_SECURE_COOKIES", "") == "1",
    )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdigit():
        raise ValueError(f"{name} is '{text}': a whole number is needed")
    return int(text)
