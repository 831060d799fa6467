"""A private RabbitMQ node from the installed package: its own ports, cookie and folder, and nobody else's environment."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from memoranda.errors import Misconfigured
from memoranda_up.children import ending_with_parent

# where Debian, Red Hat and the generic archive have the program itself; the one in /usr/sbin changes user and drops the environment
PLACES: Final = ("/usr/lib/rabbitmq/bin", "/opt/rabbitmq/sbin", "/usr/local/lib/rabbitmq/sbin", "/opt/homebrew/opt/rabbitmq/sbin")
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0
MEND: Final = "apt-get install rabbitmq-server, or name a running one: MEMORANDA_BROKER=amqp://user:password@host:5672/vhost"
CONFIGURATION: Final = """
listeners.tcp.1 = 127.0.0.1:{port}
distribution.listener.interface = 127.0.0.1
log.console = true
log.console.level = warning
log.file = false
default_user = {user}
default_pass = {password}
loopback_users = none
disk_free_limit.absolute = 50MB
"""


@dataclass(slots=True, kw_only=True)
class Rabbit:
    """A node. It keeps its queues in its folder, through a kill too; ``start`` may be called again after ``stop`` or ``kill``."""

    folder: Path
    programs: Path
    port: int
    distribution: int
    mapper: int
    password: str
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @classmethod
    def make(cls, folder: Path) -> Self:
        """Chooses ports and a password for a node that keeps everything in ``folder``. Raises Misconfigured without a RabbitMQ."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(
            folder=folder,
            programs=installed(),
            port=free_port(),
            distribution=free_port(),
            mapper=free_port(),
            password=secrets.token_urlsafe(16),
        )

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"amqp://memoranda:{self.password}@127.0.0.1:{self.port}/%2F"

    @property
    def running(self) -> bool:
        """Whether the node's process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process of the node."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts the node and returns once it takes connections. Raises Misconfigured where it does not."""
        self._configure()
        with (self.folder / "rabbit.log").open("ab") as log:
            self._process = subprocess.Popen(
                ending_with_parent([str(self.programs / "rabbitmq-server")]),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.folder,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise Misconfigured("RabbitMQ did not start", mend=f"see {self.folder / 'rabbit.log'}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends the node in order. May be called again."""
        if self._process is not None and self.running:
            with suppress(ProcessLookupError):
                # the script that was started hands SIGTERM on to the node
                os.killpg(self._process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends the node at once, as a crash would, and its port mapper, which would outlive it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        for pid in _of_environment(f"ERL_EPMD_PORT={self.mapper}"):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def freeze(self, *, frozen: bool) -> None:
        """Stops the node's process in its tracks, or lets it go on."""
        os.killpg(self.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def control(self, *arguments: str) -> str:
        """What ``rabbitmqctl`` says to a command. Raises CalledProcessError where it fails."""
        command = [str(self.programs / "rabbitmqctl"), "--quiet", *arguments]
        done = subprocess.run(command, env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=self.folder)
        return done.stdout.decode()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _configure(self) -> None:
        text = CONFIGURATION.format(port=self.port, user="memoranda", password=self.password)
        file = self.folder / "rabbitmq.conf"
        file.touch(mode=0o600)
        file.write_text(text)
        (self.folder / "enabled_plugins").write_text("[].\n")

    def _environment(self) -> dict[str, str]:
        top = str(self.folder)
        return {
            "PATH": f"{self.programs}:{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "HOME": top,
            "RABBITMQ_NODENAME": f"memoranda-{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution),
            "ERL_EPMD_PORT": str(self.mapper),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": f"{top}/mnesia",
            "RABBITMQ_LOG_BASE": f"{top}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{top}/enabled_plugins",
            "RABBITMQ_PID_FILE": f"{top}/rabbit.pid",
            "RABBITMQ_CONFIG_FILE": f"{top}/rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _answers(self) -> bool:
        """Whether it speaks AMQP yet: it listens a little before that."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.settimeout(5)
                connection.sendall(b"AMQP\x00\x00\x09\x01")
                return bool(connection.recv(1))
        except OSError:
            return False


def installed() -> Path:
    """The folder of RabbitMQ's programs. Raises Misconfigured where there is none."""
    named = os.environ.get("MEMORANDA_RABBITMQ_BIN")
    found = shutil.which("rabbitmq-server")
    places = [named] if named else [*PLACES, *([str(Path(found).resolve().parent)] if found else [])]
    for place in places:
        if (Path(place) / "rabbitmq-server").exists():
            return Path(place)
    raise Misconfigured("RabbitMQ is not installed here", mend=MEND)


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _of_environment(entry: str) -> list[int]:
    """The processes that were started with this entry in their environment."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if entry.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
