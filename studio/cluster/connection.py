"""The connection of this process to a Ray cluster that runs, and what is sent to its machines.

Knows addresses and stores' URLs; knows no evaluation.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from textwrap import shorten
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import conductor
import storage
import studio
from conductor.errors import ClusterError
from conductor.extras import install_command
from storage.database.database import sqlite_file

CONNECT_SECONDS = 30.0
"""How long a cluster may take to admit this process. Ray itself would wait for ever."""

GONE = "The head of the Ray cluster does not answer any more; start it again, then give the command again."

GONE_SECONDS = 15.0
"""How long a head may not answer while it is waited for."""

_OWN_TERMS = {
    # Ray itself would end a program 60 seconds after the head is gone, whatever it has yet to save.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
    # What Ray prints of its nodes goes to stdout, which has a command's result; it is in Ray's logs as well.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
"""Environment variables that Ray reads where it is loaded."""

_RAY_MISSING = f"Ray is not installed; it comes with: {install_command('ray')}."


def place(address: str) -> tuple[str, int]:
    """The host and the port of an address, HOST:PORT. Raises `ClusterError`."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ClusterError(
            f"{address[:80]!r} is no address of a Ray cluster; write its head's HOST:PORT, which "
            "`ray start --head` prints, like 10.0.0.5:6379."
        )
    return host.strip("[]"), int(port)


def url_for_machines(url: str, *, from_command_line: bool) -> str | None:
    """What the machines are sent of the store: its URL, or None if that has a password, which they then
    have in their own environment.

    Raises `ClusterError` for a store on SQLite, and for a password on the command line: Ray shows that of
    each program that is connected to it.
    """
    if sqlite_file(url) is not None:
        raise ClusterError(
            "A Ray cluster needs a store on PostgreSQL, which all of its machines reach; this one is a "
            "SQLite file. Name another one in CONDUCTOR_DATABASE_URL or with --database."
        )
    parts = urlsplit(url)
    secret = parts.password is not None or any("pass" in name.lower() for name, _ in parse_qsl(parts.query))
    if secret and from_command_line:
        raise ClusterError(
            "Ray shows the command line of each program that is connected to it, and --database has a "
            "password: name the store in CONDUCTOR_DATABASE_URL, here and on each machine."
        )
    return None if secret else url


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Ray, connected to the cluster whose head has that address; disconnected afterwards in every case.

    Raises `ClusterError` where Ray is not installed, nothing answers there, or the cluster does not admit
    this process.
    """
    if find_spec("ray") is None:
        raise ClusterError(_RAY_MISSING)
    _knock(*place(address))
    os.environ.update(_OWN_TERMS)
    import ray  # noqa: PLC0415 - an extra

    failed: list[Exception] = []

    def connect() -> None:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", runtime_env=_sources())
        except Exception as error:  # noqa: BLE001 - Ray raises of every kind; it is raised below
            failed.append(error)

    thread = Thread(target=connect, name="ray-connection", daemon=True)
    # Ray has its workers look for modules in this process's folder first: in none that a machine may have.
    with TemporaryDirectory() as empty, chdir(empty):
        thread.start()
        thread.join(CONNECT_SECONDS)
    try:
        if thread.is_alive():
            raise ClusterError(
                f"What listens at {address} is not the head of a Ray cluster, or does not answer."
            )
        if failed:
            # Of another Python, or another Ray, it has a line for each version.
            reason = shorten(str(failed[0]), 500)
            raise ClusterError(f"The Ray cluster at {address} does not admit this program: {reason}")
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()


class HeadWatch:
    """Whether the head of the cluster that is connected to still answers."""

    def __init__(self) -> None:
        import ray  # noqa: PLC0415 - an extra

        self._place = place(ray.get_runtime_context().gcs_address)
        self._silent_since: float | None = None
        self._due = 0.0

    @property
    def gone(self) -> bool:
        """Whether it has not answered for `GONE_SECONDS`; asks it where that is due."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + GONE_SECONDS / 5
            try:
                socket.create_connection(self._place, timeout=5).close()
                self._silent_since = None
            except OSError:
                self._silent_since = self._silent_since or now
        return self._silent_since is not None and now - self._silent_since > GONE_SECONDS

    @property
    def answered(self) -> bool:
        """Whether it answered when it was last asked."""
        return self._silent_since is None


def _sources() -> dict[str, Any]:
    """What Ray's workers run: the sources of this process, whatever is installed on their machines. Ray puts
    addresses on that one cluster in the place of the folders.
    """
    folders = [package.__path__[0] for package in (conductor, storage, studio)]
    return {"py_modules": folders, "excludes": ["__pycache__"]}


def cause_line(message: str) -> str:
    """Of what Ray has of an error: its cause, below where it was raised."""
    return message.strip().rpartition("\n")[2].strip().rstrip(".")


def _knock(host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise ClusterError(
            f"Nothing answers at {host}:{port} ({error.strerror or error}); start a Ray cluster there with "
            "`ray start --head`, or name another one's head."
        ) from error
