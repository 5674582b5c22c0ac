"""The workbench and the pool from what is configured.

The composition root of the app and the commands; nothing below knows where its parts come from.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from conductor.errors import PoolError
from conductor.extras import install_command
from conductor.files.named_file import read_whole
from conductor.orchestration.runtime import Runtime, Runtimes, runtime_of
from conductor.own_settings import setting
from conductor.workers.endpoint.transport.timing import waiting_calls
from conductor.workers.keys.hosts import hosts_file
from conductor.workers.keys.secret import secrets_path
from conductor.workers.pool.pool import configured_path, configured_pool
from conductor.workers.pool.toml_file import named_files
from storage.store import SessionStore, default_url
from studio.sessions.notes import author
from studio.telemetry.logs import LOG, RunLog, log_as_json
from studio.telemetry.observer import Observer
from studio.workbench import Workbench

if TYPE_CHECKING:
    from studio.telemetry.metrics import Metrics

TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""OpenTelemetry's environment variable with the address of a collector; where it is set, runs are traced."""

_log = logging.getLogger(__name__)

_Version = tuple[int, int, int, int] | None
"""Of a file: its inode, its size, and when its content and its entry were changed; None without one."""


def open_workbench(*, pool: Path | None = None, database: str | None = None) -> Workbench:
    """Raises `PoolError` or `StorageError`. Without a pool file or URL the configured ones are opened."""
    runtime = runtime_of(configured_pool(pool))
    return Workbench(SessionStore.open(database or default_url()), lambda: runtime)


def served_workbench(
    configured: ConfiguredRuntime, metrics: Metrics, *, person: Callable[[], str | None] = author
) -> Workbench:
    """The workbench of a server, used by `person`: its work is counted in `metrics` and, as configured,
    logged and traced.

    Raises `StorageError`. Where traces are wanted and their extra is not installed, there are none and the
    log warns of it: the variable is a general one, which is often set for every program of a machine.
    """
    observers: list[Observer] = [metrics]
    if setting(LOG) == "json":
        log_as_json()
        observers.append(RunLog)
    if os.environ.get(TRACES):
        observers.extend(_traces(configured))
    store = SessionStore.open(default_url())
    store.ledger.watchers.append(metrics.count_apart)
    metrics.show_queues(writes=lambda: store.waiting_writes, calls=waiting_calls)
    return Workbench(store, configured, observers=observers, person=person)


def _traces(configured: Runtimes) -> Sequence[Observer]:
    """The observer that traces runs; none without the extra."""
    try:
        from studio.telemetry.traces import configured_traces  # noqa: PLC0415 - an extra

        return [configured_traces(configured)]
    except ImportError as error:
        _log.warning(
            "%s names where traces of runs go, and none are sent: %s is not installed; install it with: "
            "%s - or unset the variable",
            TRACES,
            error.name,
            install_command("otel"),
        )
        return []


class ConfiguredRuntime:
    """The configured pool, read again whenever its file has changed: a `Runtimes`, from any thread.

    For a program that runs while the file is edited. While the file cannot be used, the previous runtime
    stays, and `fault` is the reason.
    """

    def __init__(self) -> None:
        self._looking = threading.Lock()
        # What decides the runtime: the pool file, and what it names, the secrets and the confirmed hosts.
        self._file: tuple[Path | None, _Version] | None = None
        self._others: tuple[_Version, ...] = ()
        self._named: tuple[Path, ...] = ()
        self._runtime: Runtime | None = None
        self._fault: PoolError | None = None
        # What this thread uses until the end of its block `looked_at_once`.
        self._block = threading.local()

    def __call__(self) -> Runtime:
        """The newest runtime that could be read. Raises `PoolError` while there has been none."""
        runtime, fault = self._look()
        if runtime is not None:
            return runtime
        assert fault is not None, "_look returns a runtime or a fault"
        raise fault.with_traceback(None)

    @property
    def fault(self) -> PoolError | None:
        """Why the file as it is now cannot be used, or None."""
        return self._look()[1]

    @property
    def usable(self) -> bool:
        """Whether there is a runtime, also one from before the fault."""
        return self._look()[0] is not None

    @contextmanager
    def looked_at_once(self) -> Iterator[None]:
        """Look at the files once for all that this thread asks in the block: a page that it draws."""
        self._block.seen = self._look()
        try:
            yield
        finally:
            del self._block.seen

    def _look(self) -> tuple[Runtime | None, PoolError | None]:
        if (seen := getattr(self._block, "seen", None)) is not None:
            return cast("tuple[Runtime | None, PoolError | None]", seen)
        with self._looking:
            # Taken first: a change during the reading makes the next call read again.
            path = configured_path()
            file = path, None if path is None else _version(path)
            if file != self._file:
                self._named = () if path is None else _named_in(path)
            others = tuple(map(_version, (secrets_path(), hosts_file(), *self._named)))
            if (file, others) != (self._file, self._others):
                self._file, self._others = file, others
                try:
                    self._runtime, self._fault = runtime_of(configured_pool()), None
                except PoolError as error:
                    self._fault = error
            return self._runtime, self._fault


def _named_in(path: Path) -> tuple[Path, ...]:
    try:
        content = read_whole(path)
    except PoolError:
        return ()
    return () if content is None else named_files(content, path.parent.absolute())


def _version(path: Path) -> _Version:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
