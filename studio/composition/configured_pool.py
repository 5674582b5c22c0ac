"""The pool that is configured, as its file says it now: read again when the file has changed.

For a program that outlives edits of the file. While the file cannot be used, the ensemble before it stays,
and `fault` says why; knows neither sessions nor pages.
"""

from __future__ import annotations

import threading
from pathlib import Path

from conductor.errors import PoolError
from conductor.workers.pool import configured_path, configured_pool
from conductor.workers.pool_file import tokenizer_files
from conductor.workers.secret import SECRETS_FILE
from conductor.workers.whole_file import read_whole
from storage.ensemble import Ensemble
from storage.opening import ensemble_of

_Version = tuple[int, int] | None
_Stamp = tuple[Path | None, str | None, tuple[_Version, ...]]
"""What decides the ensemble: which file, what it says, and which versions there are of the secrets and of
the files that it names."""


class ConfiguredEnsemble:
    """Called for the ensemble of what begins now, from any thread. See `Ensembles`."""

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._stamp: _Stamp | None = None
        self._ensemble: Ensemble | None = None
        self._fault: PoolError | None = None

    def __call__(self) -> Ensemble:
        """The newest that could be read. Raises `PoolError` while there has been none."""
        with self._looking:
            self._look()
            if self._ensemble is not None:
                return self._ensemble
            assert self._fault is not None, "looking gives an ensemble or says why there is none"
            raise self._fault.with_traceback(None)

    @property
    def fault(self) -> PoolError | None:
        """Why the file as it is now cannot be used, None where it can."""
        with self._looking:
            self._look()
            return self._fault

    @property
    def usable(self) -> bool:
        """Whether there is an ensemble, be it the one before the fault."""
        with self._looking:
            self._look()
            return self._ensemble is not None

    def _look(self) -> None:
        # Taken first: what changes while it is read makes the next look read again.
        stamp = _stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._ensemble, self._fault = ensemble_of(configured_pool()), None
        except PoolError as error:
            self._fault = error


def _stamp() -> _Stamp:
    path = configured_path()
    content = None if path is None else _content(path)
    named: tuple[Path, ...] = ()
    if path is not None and content is not None:
        named = tokenizer_files(content, path.parent)
    return path, content, tuple(map(_version, (SECRETS_FILE, *named)))


def _content(path: Path) -> str | None:
    try:
        return read_whole(path)
    except PoolError as error:
        return str(error)  # another one is another version


def _version(path: Path) -> _Version:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size
