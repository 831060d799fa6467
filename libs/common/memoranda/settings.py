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
    MCP clients. ``broker`` names one or several RabbitMQ nodes: amqp:// or amqps:// URLs with a semicolon between them; the queues
    are those whose names begin with ``broker_prefix``. ``grace_seconds`` is how long work under way is waited for at a SIGTERM.
    Times are in seconds, sizes in bytes.
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
    broker: str = ""
    broker_ca_file: str = ""
    broker_prefix: str = "memoranda"
    broker_quorum: bool = False
    broker_heartbeat: int = 20
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    grace_seconds: float = 25.0
    api_workers: int = 2
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
        lease_seconds=_seconds("MEMORANDA_LEASE_SECONDS", plain.lease_seconds),
        sweep_seconds=_seconds("MEMORANDA_SWEEP_SECONDS", plain.sweep_seconds),
        worker_threads=_number("MEMORANDA_WORKER_THREADS", plain.worker_threads),
        broker=env.get("MEMORANDA_BROKER", plain.broker),
        broker_ca_file=env.get("MEMORANDA_BROKER_CA_FILE", plain.broker_ca_file),
        broker_prefix=env.get("MEMORANDA_BROKER_PREFIX", plain.broker_prefix),
        broker_quorum=env.get("MEMORANDA_BROKER_QUORUM", "") == "1",
        broker_heartbeat=_number("MEMORANDA_BROKER_HEARTBEAT", plain.broker_heartbeat),
        health_host=env.get("MEMORANDA_HEALTH_HOST", plain.health_host),
        health_port=_number("MEMORANDA_HEALTH_PORT", 0) if env.get("MEMORANDA_HEALTH_PORT") else None,
        grace_seconds=_seconds("MEMORANDA_GRACE_SECONDS", plain.grace_seconds),
        api_workers=_number("MEMORANDA_API_WORKERS", plain.api_workers),
        secure_cookies=env.get("MEMORANDA_SECURE_COOKIES", "") == "1",
    )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdigit():
        raise ValueError(f"{name} is '{text}': a whole number is needed")
    return int(text)


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 86_400:
        raise ValueError(f"{name} is '{text}': a number of seconds is needed")
    return seconds
