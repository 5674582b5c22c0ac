"""Downloads of models in threads of this process, which pages of all tabs follow.

Knows the hub's models; what becomes of a file is decided by the one who begins its download.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conductor.errors import ConductorError
from conductor.workers.embedded.model_hub import HubModel, download


@dataclass
class Download:
    """A download as it is now: the bytes that are there and those of the whole file (0: not known yet).

    `failure` is why it ended without a file, `file` what it ended with.
    """

    have: int = 0
    size: int = 0
    failure: str = ""
    file: Path | None = None

    @property
    def busy(self) -> bool:
        return not self.failure and self.file is None


class Downloads:
    """At most one download of a model at a time, the last one by the model's name."""

    def __init__(self) -> None:
        self._latest: dict[str, Download] = {}
        self._lock = threading.Lock()

    def begin(self, model: HubModel, folder: Path, *, then: Callable[[Path], object]) -> None:
        """Download `model` into `folder`, then do `then` with its file; returns at once."""
        with self._lock:
            latest = self._latest.get(model.name)
            if latest is not None and latest.busy:
                return
            state = self._latest[model.name] = Download()
        threading.Thread(target=_follow, args=(state, model, folder, then), daemon=True).start()

    def of(self, model: HubModel) -> Download | None:
        """The latest download of the model, None if none was begun."""
        return self._latest.get(model.name)

    @property
    def busy(self) -> bool:
        return any(state.busy for state in tuple(self._latest.values()))


def _follow(state: Download, model: HubModel, folder: Path, then: Callable[[Path], object]) -> None:
    def listen(have: int, size: int) -> None:
        state.have, state.size = have, size

    try:
        file = download(model, folder, listen=listen)
        then(file)
        state.file = file
    except ConductorError as error:
        state.failure = str(error)
    except Exception as error:  # noqa: BLE001 - nothing waits for the thread, so it is shown with the model
        state.failure = f"{model.name} was not downloaded ({type(error).__name__}: {error}). Try again."
