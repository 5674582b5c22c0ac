"""The trainings that this process has begun: children that write a run's folder each, one at a time.

Knows commands and processes; torch is the child's, which may have another environment than the app. Whatever
ends a child, its folder goes on with the same command. What it wrote is read by `training_run`, or by
`planner_run` where a planner learns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import conductor
from conductor.errors import DataError
from conductor.evaluation.items import DataSet
from conductor.extras import install_command
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.own_settings import passed_environment, whole_environment
from conductor.planner.corrections import Row
from studio.evaluation.planner_learning.learning_folder import check_name
from studio.learning.planner_run import SETTINGS, PlannerSettings, write_questions
from studio.learning.training_run import TRAINED
from studio.sessions.notes import AUTHOR, author

LOG, CORRECTIONS = "training.log", "corrections.jsonl"

_ROOT = Path(conductor.__file__).resolve().parents[1]
_LEARN = _ROOT / ".venv-learn"

_NEEDED = ("torch", "transformers")

_OPTIONS = ("seed", "warm_steps", "teacher", "learner", "group", "grpo_lr", "shy", "reward", "price")
"""Settings of a demonstration that its command has an option for by their names."""

STOP_SECONDS = 10.0


def trainer() -> Path | None:
    """The Python that can train: this one, or that of `make learn`; None if neither has what it needs."""
    if all(find_spec(name) is not None for name in _NEEDED):
        return Path(sys.executable)
    return _LEARN / "bin" / "python" if (_LEARN / ".installed").is_file() else None


class Trainings:
    """Trainings in the folders below `folder`; `person` returns who begins one in the calling thread."""

    def __init__(self, folder: Path, *, person: Callable[[], str | None] = author) -> None:
        # As a whole, since children are known by their folders.
        self.folder = folder.absolute()
        self._person = person
        self._lock = Lock()
        self._children: dict[Path, subprocess.Popen[bytes]] = {}
        self._stopped: set[Path] = set()

    def begin(self, settings: DemoSettings, threads: int) -> Path:
        """Begin a run in a new folder, which is returned. Raises `DataError`."""
        with self._lock:
            self._refuse_a_second()
            path = self._new("demo")
            _ = RunFolder(path, settings)
            self._start(path, _demo(settings, path, threads))
        return path

    def resume(self, path: Path, settings: DemoSettings, threads: int) -> None:
        """Go on with a run that was interrupted. Raises `DataError`."""
        with self._lock:
            self._refuse_a_second()
            self._start(path, _demo(settings, path, threads))

    def learn(self, model: str, rows: Iterable[Row]) -> Path:
        """Begin to teach `model` these corrections, as `learn corrections` does, in a new folder, which is
        returned. Raises `DataError`.
        """
        with self._lock:
            self._refuse_a_second()
            path = self._new("corrected")
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (path / CORRECTIONS).write_text(lines, encoding="utf-8")
            self._start(path, ["corrections", model, str(path / CORRECTIONS), "--out", str(path / TRAINED)])
        return path

    def learn_planner(self, name: str, settings: PlannerSettings, questions: DataSet | None) -> Path:
        """Begin to learn a planner, as `learn mine` does, in a new folder of that name, which is returned;
        `questions` are written into it, None for those of a shipped set. Raises `DataError`.
        """
        check_name(name)
        with self._lock:
            self._refuse_a_second()
            path = self.folder / name
            try:
                path.mkdir(parents=True)
                if questions is not None:
                    settings = settings.model_copy(update={"data": write_questions(questions, path)})
            except FileExistsError:
                raise DataError(f"There is a folder {name} already; choose another name.") from None
            except OSError as error:
                raise DataError(f"{path} cannot be written: {error.strerror}.") from error
            self._start_planner(path, settings)
        return path

    def resume_planner(self, path: Path, settings: PlannerSettings) -> None:
        """Go on with the learning of a planner. Raises `DataError`."""
        with self._lock:
            self._refuse_a_second()
            self._start_planner(path, settings)

    def stop(self, path: Path) -> None:
        """End the child that trains there; its folder can go on. Nothing where this process has none."""
        child = self._children.get(path)
        if child is None or child.poll() is not None:
            return
        self._stopped.add(path)
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def runs_here(self, path: Path) -> bool:
        """Whether a child of this process trains there."""
        child = self._children.get(path)
        return child is not None and child.poll() is None

    def failure(self, path: Path) -> str | None:
        """Why the last child there ended before its end; None if it did not, or was stopped."""
        child = self._children.get(path)
        if child is None or path in self._stopped or child.poll() in (None, 0):
            return None
        last = last_line(path)
        if child.returncode < 0:
            words = f"It was ended from outside, by signal {-child.returncode}"
            return f"{words}, after: {last}" if last else f"{words}."
        return last or f"It ended with code {child.returncode}."

    def close(self) -> None:
        """End all children."""
        for path in tuple(self._children):
            self.stop(path)

    # -- inside ----------------------------------------------------------------------------------

    def _refuse_a_second(self) -> None:
        for path, child in self._children.items():
            if child.poll() is None:
                raise DataError(f"{path.name} is being trained; wait for its end, or stop it first.")

    def _new(self, name: str) -> Path:
        numbers = (name if number == 1 else f"{name}-{number}" for number in range(1, 10_000))
        for path in map(self.folder.__truediv__, numbers):
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise DataError(f"{path} cannot be made: {error.strerror}.") from error
            return path
        raise DataError(f"{self.folder} is full of trainings; remove some.")

    def _start_planner(self, path: Path, settings: PlannerSettings) -> None:
        (path / SETTINGS).write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")
        # Without torch, and with the keys of the pool's workers.
        environment = {**whole_environment(), "PYTHONPATH": str(_ROOT), AUTHOR: self._person() or ""}
        self._begin(path, [sys.executable, "-m", "conductor", "learn", *settings.command(path)], environment)

    def _start(self, path: Path, command: Sequence[str]) -> None:
        python = trainer()
        if python is None:
            raise DataError(
                f"Training needs {' and '.join(_NEEDED)}, which this environment does not have; install them "
                f"with `make learn`, or `{install_command('learn')}` where the app is installed."
            )
        self._begin(path, [str(python), "-m", "conductor", "learn", *command], _environment())

    def _begin(self, path: Path, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._stopped.discard(path)
        try:
            with (path / LOG).open("wb") as log:
                self._children[path] = subprocess.Popen(  # noqa: S603 - the command is made here
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
                )
        except OSError as error:
            raise DataError(f"Learning in {path} could not begin: {error.strerror}.") from error


def last_line(path: Path) -> str:
    """The last line that a child there wrote, "" without one."""
    try:
        lines = (path / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    written = [line.removeprefix("conductor: ") for line in lines if line.strip()]
    return written[-1] if written else ""


def _demo(settings: DemoSettings, path: Path, threads: int) -> list[str]:
    """The command that trains with these settings; those without an option are the defaults."""
    flags = {"--fresh": settings.fresh, "--stop-on-collapse": settings.stop_on_collapse}
    values = {f"--{name.replace('_', '-')}": getattr(settings, name) for name in _OPTIONS}
    values |= {"--steps": settings.grpo_steps, "--threads": threads, "--out": path}
    options = [text for name, value in values.items() for text in (name, str(value))]
    return ["demo", *options, *(name for name, is_set in flags.items() if is_set)]


def _environment() -> dict[str, str]:
    """What Python needs and no key; this program is found where it is."""
    return {**passed_environment("HOME"), "PYTHONPATH": str(_ROOT)}
