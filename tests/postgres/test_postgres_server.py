"""The servers of the tests themselves: what they hold after a stop and a crash, and their end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from tests.postgres_server import Schema, Server, programs, running_server, server_folder
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", [16, 18])
def test_a_stopped_and_a_killed_server_keep_their_commits(version: int) -> None:
    with running_server(version, durable=True) as server:
        server.execute("CREATE TABLE kept (number int)", "INSERT INTO kept VALUES (1)")
        server.stop()
        with pytest.raises(OSError, match="No such file"):
            server.execute("SELECT 1")
        server.start(shared_buffers="16MB")
        server.execute("INSERT INTO kept VALUES (2)")
        server.kill()
        with pytest.raises(ConnectionRefusedError):
            server.execute("SELECT 1")
        server.start()
        query = "SELECT string_agg(number::text, ' ' ORDER BY number) FROM kept"
        printed = server.command("psql", "-X", "-A", "-t", "-c", query, server.address())
        assert printed == "1 2\n"
        assert "not properly shut down" in server.log.read_text()


def test_a_schema_is_empty_and_apart(postgres: Server, postgres_schema: Schema) -> None:
    name = postgres_schema.name
    assert postgres_schema.address == postgres.address()
    postgres.execute(f"CREATE TABLE {name}.thing (number int)")
    with pytest.raises(asyncpg.UndefinedTableError):
        postgres.execute("SELECT * FROM thing")


def test_a_server_ends_with_a_killed_process() -> None:
    programs()
    script = (
        "from tests.postgres_server import *\n"
        "with running_server() as server:\n"
        "    print(server.folder, flush=True)\n"
        "    input()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert (folder / "data" / "postmaster.pid").exists()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    until(lambda: not folder.exists(), f"{folder} stays")


def test_a_version_that_is_not_installed_skips(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs()
    monkeypatch.setattr("tests.postgres_server._PACKAGE", "no_such_package")
    with pytest.raises(pytest.skip.Exception, match="is not installed"):
        programs()


def test_programs_that_do_not_run_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    programs()
    with server_folder() as folder:
        package = folder / "pretended_package"
        program = package / "pginstall18" / "bin" / "postgres"
        program.parent.mkdir(parents=True)
        (package / "__init__.py").touch()
        program.write_text("#!/bin/sh\necho no such library >&2\nexit 127\n")
        program.chmod(0o755)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr("tests.postgres_server._PACKAGE", "pretended_package")
        with pytest.raises(pytest.skip.Exception, match=r"does not run as user .*no such library"):
            programs()
        with pytest.raises(pytest.skip.Exception, match="has no PostgreSQL 16"):
            programs(16)
