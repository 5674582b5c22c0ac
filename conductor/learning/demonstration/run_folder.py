"""The folder of a training run: settings, metrics a line at a time, the state to go on from, results.

A page may read `metrics.jsonl` while the run goes on. Knows files; a state is bytes that the caller makes.

A kill at any moment leaves a folder that goes on: a state is replaced as a whole, and metrics behind it are
dropped when the run goes on. One process at a time trains in it: `held` locks a file, which is free when that
process ends in any way.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from conductor.errors import DataError
from conductor.files.file_lock import is_free, lock
from conductor.learning.demonstration.settings import DemoSettings
from conductor.values.messages import Value

SETTINGS, METRICS, STATE, RESULTS = "settings.json", "metrics.jsonl", "state.pt", "results.json"

Metrics = dict[str, Any]
"""One line: `kind` and what it names, in the order in which things happened."""

LOCK = "run.lock"

_TRIES, _TRY_SECONDS = 20, 0.02
"""A process that looks whether the lock is free has it for a moment."""


class Holder(Value):
    """The process that trains in a folder, and since when (Unix seconds)."""

    process: int
    since: float


class RunFolder:
    """A run's folder. Raises `DataError` where it holds a run with other settings, or cannot be written."""

    def __init__(self, path: Path, settings: DemoSettings) -> None:
        self.path = path
        self._lines = 0
        file = path / SETTINGS
        try:
            path.mkdir(parents=True, exist_ok=True)
            before = file.read_bytes() if file.exists() else None
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}. Name another folder.") from error
        if before is None:
            self.write(SETTINGS, settings)
        if before is not None and _settings(before) != settings:
            raise DataError(
                f"{path} holds a run with other settings, which {SETTINGS} names; go on with those, or name "
                "another folder with --out."
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from training here meanwhile. Raises `DataError` where one does."""
        try:
            file = (self.path / LOCK).open("ab")
        except OSError as error:
            raise _refused(self.path, error) from error
        with file:
            self._hold(file)
            yield

    def _hold(self, file: IO[bytes]) -> None:
        try:
            for _ in range(_TRIES):
                if lock(file):
                    break
                time.sleep(_TRY_SECONDS)
            else:
                raise DataError(f"{_trained_in(self.path)}; wait for its end, or name another folder.")
            file.truncate(0)
            file.write(Holder(process=os.getpid(), since=time.time()).model_dump_json().encode())
            file.flush()
        except OSError as error:
            raise _refused(self.path, error) from error

    @property
    def results(self) -> dict[str, Any] | None:
        """What a finished run measured; None before its end."""
        file = self.path / RESULTS
        return json.loads(file.read_bytes()) if file.exists() else None

    def write_results(self, results: dict[str, Any]) -> None:
        """Store the results: the run is finished."""
        _replace(self.path / RESULTS, (json.dumps(results, indent=1) + "\n").encode())

    def add(self, metrics: Metrics) -> None:
        """Add a line to the metrics."""
        try:
            with (self.path / METRICS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(metrics) + "\n")
        except OSError as error:
            raise _refused(self.path, error) from error
        self._lines += 1

    @property
    def metrics(self) -> list[Metrics]:
        """All lines of the metrics."""
        return read_metrics(self.path)

    def write(self, name: str, content: Value) -> None:
        """Store a value in a file of the folder, in the place of the one before."""
        _replace(self.path / name, (content.model_dump_json(indent=1) + "\n").encode())

    def save(self, state: bytes) -> None:
        """Store the state, and after how many lines of metrics it is."""
        _replace(self.path / STATE, self._lines.to_bytes(8, "little") + state)

    def load(self) -> bytes | None:
        """The last state, with the metrics cut to what had happened by then; or None."""
        file = self.path / STATE
        content = file.read_bytes() if file.exists() else bytes(8)
        self._lines = int.from_bytes(content[:8], "little")
        lines = [line for line, _ in zip(_lines(self.path / METRICS), range(self._lines), strict=False)]
        _replace(self.path / METRICS, "".join(f"{line}\n" for line in lines).encode())
        return content[8:] or None


def read_settings(path: Path) -> DemoSettings:
    """The settings of the run in a folder. Raises `DataError` if they cannot be read."""
    try:
        settings = _settings((path / SETTINGS).read_bytes())
    except OSError as error:
        raise DataError(f"{path / SETTINGS} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # a NUL in the name
        raise DataError(f"{path / SETTINGS} cannot be read: no file has such a name.") from error
    if settings is None:
        raise DataError(f"{path / SETTINGS} has no settings of a training; train in another folder.")
    return settings


def read_metrics(path: Path) -> list[Metrics]:
    """All whole lines of the metrics in a folder, also while another process writes one. Raises `ValueError`
    where a line is no JSON.
    """
    file = path / METRICS
    # What stands behind the last line's end is being written.
    whole, _, _ = file.read_text(encoding="utf-8").rpartition("\n") if file.exists() else ("", "", "")
    return [json.loads(line) for line in whole.splitlines()]


def holder(path: Path) -> Holder | None:
    """The process that trains in the folder, or None. Raises `DataError` if unknown."""
    try:
        if is_free(path / LOCK):
            return None
        return Holder.model_validate_json((path / LOCK).read_bytes())
    except (OSError, ValidationError) as error:
        raise DataError(f"Whether a process trains in {path} cannot be read; allow to read it.") from error


def _trained_in(path: Path) -> str:
    with suppress(DataError):
        training = holder(path)
        if training is not None:
            return f"Process {training.process} trains in {path}"
    return f"Another process trains in {path}"


def _refused(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path} cannot be written: {error.strerror}. What was stored is kept; make room or allow to write "
        "there, and give the same command again."
    )


def _settings(content: bytes) -> DemoSettings | None:
    try:
        return DemoSettings.model_validate_json(content)
    except ValidationError:
        return None


def _lines(file: Path) -> Iterator[str]:
    if file.exists():
        yield from file.read_text(encoding="utf-8").splitlines()


def _replace(file: Path, content: bytes) -> None:
    fresh = file.with_name(f"{file.name}.new")
    try:
        fresh.write_bytes(content)
        fresh.replace(file)
    except OSError as error:
        raise _refused(file.parent, error) from error
