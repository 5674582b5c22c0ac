"""A PostgreSQL server on loopback, from the system's own packages, in a folder that goes with it.

Nothing of it waits for the disk, unless it is to be durable. It refuses to run as root, so root runs it as
another user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Thread

import psycopg
import pytest

from tests.support.processes.child_process import end, start

USER = "conductor"
_HASTY = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off", "jit=off")


def binaries() -> Path | None:
    """The folder of the newest installed server's programs, or None."""
    program = shutil.which("initdb")
    if program:
        return Path(program).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


@dataclass
class PostgresServer:
    """A server that runs in `folder`, on `port` of loopback."""

    folder: Path
    programs: Path
    port: int
    durable: bool = False
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _numbers: Iterator[int] = field(default_factory=count, init=False)

    def url(self, database: str = "postgres", *, user: str = USER, password: str | None = None) -> str:
        """A database's URL."""
        named = user if password is None else f"{user}:{password}"
        return f"postgresql://{named}@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        """Make the folder's databases. Every user is trusted but `guarded`, who has the password "right"."""
        options = ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        command = [*_as_user(), self.programs / "initdb", "-D", "data", *options]
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        rules = "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        (self.folder / "data" / "pg_hba.conf").write_text(rules, encoding="utf-8")

    def start(self) -> None:
        """Begin to serve; returns when it does."""
        settings: list[str] = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}"]
        settings += () if self.durable else _HASTY
        options = [part for setting in settings for part in ("-c", setting)]
        self._process = start(
            [*_as_user(), self.programs / "postgres", "-D", "data", "-p", str(self.port), *options],
            cwd=self.folder,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr is not None
        printed = []
        for line in self._process.stderr:
            printed.append(line)
            if "ready to accept connections" in line:
                break
        else:
            raise AssertionError("".join(printed))
        # A full pipe would stop it.
        Thread(target=self._process.stderr.read, daemon=True).start()

    def stop(self) -> None:
        """Close every connection and stop."""
        if self._process is not None:
            end(self._process, signal.SIGINT)

    def execute(self, *statements: str) -> None:
        """Execute statements, each in a transaction of its own."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def database(self, *, template: str = "template0") -> str:
        """The name of a new database, made like `template`."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def empty(self, database: str) -> None:
        """Take every row out of a store's tables; quicker than another database."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            named = (
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' "
                "AND tablename NOT IN ('meta', 'alembic_version')"
            )
            tables = [name for (name,) in connection.execute(named)]
            # Without triggers, so in any order.
            statements = [
                "SET session_replication_role = replica",
                *(f"DELETE FROM {name}" for name in tables),
                "DELETE FROM meta WHERE key LIKE 'planning/%'",
            ]
            connection.execute("; ".join(statements))

    def drop(self, database: str) -> None:
        """Take a database away, with all connections to it."""
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")


def _as_user() -> Sequence[str]:
    """What a command begins with to run as a user that the server accepts, and to end with this process."""
    ending = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() != 0:
        return ending
    return [*ending, f"--reuid={_owner().pw_name}", f"--regid={_owner().pw_gid}", "--clear-groups"]


def _owner() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


@contextmanager
def serving(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A running server; a `durable` one waits for the disk, as an installed one does.

    Skips the test where PostgreSQL is not installed.
    """
    programs = binaries()
    if programs is None or shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL is not installed (on Debian: apt-get install postgresql)")
    # Not below pytest's own folder, which no other user may enter.
    folder = Path(tempfile.mkdtemp(prefix="conductor-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, _owner().pw_uid, _owner().pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = PostgresServer(folder=folder, programs=programs, port=port, durable=durable)
    try:
        server.make()
        server.start()
        server.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
