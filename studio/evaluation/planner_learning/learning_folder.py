"""The folder of a learning: what it was begun with, its evaluations, and the planner that came of it.

Knows files. One process at a time learns in it: a lock is free when that ends in any way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field, ValidationError

from conductor.baselines.planner_file.planner_file import (
    NEIGHBOURS,
    Learner,
    PlannerFile,
    PlanUse,
    read_planner,
)
from conductor.baselines.planner_file.planner_texts import PlannerTexts
from conductor.errors import DataError
from conductor.files.file_lock import is_free, lock
from conductor.files.named_file import replace_file
from conductor.values.messages import Value

STATE, PLANNER, LOCK = "learning.json", "planner.json", "learning.lock"

PLANS: Mapping[Learner, int] = {"examples": 24, "search": 400, "reflect": 24}
"""How many plans are tried, unless another number is named."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class LearningSettings(Value):
    """What decides what is learnt. `planners` draw the plans that are tried on each question of the fit part,
    `draws` of them are random ones; so many `plans` of those that were right are tried on all of it. The
    worker `reflector`, None: the model that plans, does so many `reflections`. A share `held_out` of the
    questions examines the planner.
    """

    data: str
    digest: str
    method: Learner = "examples"
    use: PlanUse
    planners: tuple[str, ...]
    draws: int = Field(default=8, ge=0)
    plans: int = Field(default=24, ge=0)
    reflections: int = Field(default=8, ge=1)
    reflector: str | None = None
    held_out: float = Field(default=0.5, gt=0, lt=1)
    neighbours: int = Field(default=NEIGHBOURS, ge=1)
    embeddings: bool = False
    seed: int = 0


class Candidate(Value):
    """`texts` that a reflection on what the candidate `parent` (0: the Conductor as it is) came to on a
    `batch` of questions, by position, wrote; None if that gave none. Whether they are `accepted`, and the
    `outcome` in words, are None before they are tried.
    """

    parent: int
    batch: tuple[int, ...]
    texts: PlannerTexts | None
    accepted: bool | None = None
    outcome: str | None = None


class LearningState(Value):
    """How far a learning is: its evaluations by their ids, None before they are begun, whose the plans are
    that were tried on all questions, the `candidates` that reflections wrote, numbered from 1, and by
    question the `instructions` that a model wrote for a search.
    """

    settings: LearningSettings
    fit: str | None = None
    origins: tuple[tuple[str, str], ...] | None = None
    candidates: tuple[Candidate, ...] = ()
    instructions: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    exam: str | None = None


class LearningFolder:
    """A folder with a state, made when it is first written. Raises `DataError` where it holds another
    learning.
    """

    def __init__(self, path: Path, settings: LearningSettings) -> None:
        self.path = path
        self.state = read_state(path) or LearningState(settings=settings)
        if self.state.settings != settings:
            raise DataError(
                f"{path} holds a learning with other settings or questions, which {STATE} names; go on with "
                "those, or name another folder with --out."
            )

    @property
    def planner_path(self) -> Path:
        return self.path / PLANNER

    @property
    def planner(self) -> PlannerFile | None:
        """What came of it so far. Raises `FormatError`."""
        return read_planner(self.planner_path) if self.planner_path.exists() else None

    def note(self, **changes: object) -> None:
        """Write the state with these changes."""
        self.state = self.state.model_copy(update=changes)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / STATE, (self.state.model_dump_json(indent=1) + "\n").encode())
        except OSError as error:
            raise DataError(f"{self.path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop other processes from learning here meanwhile. Raises `DataError` where one does, and where the
        folder cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / LOCK).open("ab")
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be written: {error.strerror}. Name another folder."
            ) from error
        with file:
            if not lock(file):
                raise DataError(
                    f"Another process learns in {self.path}; wait for its end, or name another folder."
                )
            yield


def is_held(path: Path) -> bool:
    """Whether a process learns in a folder. Raises `DataError` if that cannot be read."""
    try:
        return not is_free(path / LOCK)
    except OSError as error:
        raise DataError(
            f"Whether a process learns in {path} cannot be read: {error.strerror}; allow to read it."
        ) from error


def check_name(name: str) -> None:
    """Raise `DataError` for what is no name of a planner."""
    if not _NAME.fullmatch(name):
        raise DataError(f"{name[:60]!r} is no name of a planner: 1 to 40 letters, digits, - and _.")


def read_state(path: Path) -> LearningState | None:
    """The state in a folder; None if there is none. Raises `DataError`."""
    file = path / STATE
    try:
        return LearningState.model_validate_json(file.read_bytes()) if file.exists() else None
    except (OSError, ValidationError) as error:
        raise DataError(f"{file} cannot be read; name another folder, or remove it.") from error
