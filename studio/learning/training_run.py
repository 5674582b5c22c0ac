"""A training run as its folder holds it: the same while it goes on, afterwards, and for another process.

Reads files; starts nothing and knows no process but by its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from conductor.errors import ConductorError, DataError
from conductor.learning.demonstration.contenders import Results
from conductor.learning.demonstration.run_folder import (
    RESULTS,
    SETTINGS,
    Holder,
    Metrics,
    holder,
    read_metrics,
    read_settings,
)
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.gauges import Alarm, Gauges
from conductor.planner.local.card import CARD, read_card

State = Literal["running", "interrupted", "collapsed", "done"]
"""`interrupted`: no process trains, and it can go on; `collapsed`: the gauges ended it."""

TRAINED = "conductor"
"""The folder of the trained Conductor below the run's."""


@dataclass(frozen=True)
class TrainingRun:
    """`losses` are of the warm start, `steps` the gauges of GRPO's batches, `fixed` those of the fixed
    questions' likeliest plans: each with its step. `trained_by` is the process that trains, None for none;
    `is_starting`: a process was started for it here, which holds the folder only once it trains.
    """

    path: Path
    settings: DemoSettings
    losses: tuple[tuple[int, float], ...] = ()
    steps: tuple[tuple[int, Gauges], ...] = ()
    fixed: tuple[tuple[int, Gauges], ...] = ()
    alarms: tuple[tuple[int, Alarm], ...] = ()
    results: Results | None = None
    trained_by: Holder | None = None
    is_starting: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def trained(self) -> Path:
        """The folder of the trained Conductor, which is there once the run is done."""
        return self.path / TRAINED

    @property
    def state(self) -> State:
        if self.is_starting or self.trained_by is not None:
            return "running"
        if self.results is not None:
            return "done"
        return "collapsed" if self.alarms and self.settings.stop_on_collapse else "interrupted"

    @property
    def warm_step(self) -> int:
        return self.losses[-1][0] if self.losses else 0

    @property
    def grpo_step(self) -> int:
        return self.steps[-1][0] if self.steps else 0

    @property
    def share(self) -> float:
        """How much of the steps is done, from 0 to 1; a step of GRPO takes about as long as three others."""
        whole = self.settings.warm_steps + 3 * self.settings.grpo_steps
        return min(1.0, (self.warm_step + 3 * self.grpo_step) / whole)


def with_metrics(
    path: Path,
    settings: DemoSettings,
    lines: Iterable[Metrics],
    *,
    results: Results | None = None,
    trained_by: Holder | None = None,
    is_starting: bool = False,
) -> TrainingRun:
    """The run with these metrics, in the order in which they were written."""
    losses: list[tuple[int, float]] = []
    steps: list[tuple[int, Gauges]] = []
    fixed: list[tuple[int, Gauges]] = []
    alarms: list[tuple[int, Alarm]] = []
    for line in lines:
        step = line["step"]
        match line["kind"]:
            case "warm start":
                losses.append((step, line["loss"]))
            case "grpo":
                steps.append((step, Gauges.of_row(line)))
            case "evaluation":
                fixed.append((step, Gauges.of_row(line)))
            case "alarm":
                alarms.append((step, Alarm(what=line["what"], cure=line["cure"])))
    series = tuple(losses), tuple(steps), tuple(fixed), tuple(alarms)
    return TrainingRun(path, settings, *series, results, trained_by, is_starting)


def read_run(path: Path, *, is_starting: bool = False) -> TrainingRun:
    """The run in a folder. Raises `DataError` without one that can be read."""
    settings, file = read_settings(path), path / RESULTS
    try:
        results = Results.model_validate_json(file.read_bytes()) if file.exists() else None
        lines = read_metrics(path)
        return with_metrics(
            path, settings, lines, results=results, trained_by=holder(path), is_starting=is_starting
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"The training in {path} cannot be read; train again in another folder.") from error


def runs_below(folder: Path) -> tuple[list[TrainingRun], list[str]]:
    """The runs in the folders below, the newest first, and the names of those that cannot be read."""
    runs, broken = [], []
    for file in _newest(folder, f"*/{SETTINGS}"):
        try:
            runs.append(read_run(file.parent))
        except DataError:
            broken.append(file.parent.name)
    return runs, broken


def trained_below(folder: Path) -> list[Path]:
    """The folders of all Conductors that were trained below, the newest first."""
    return [card.parent for card in _newest(folder, f"*/{TRAINED}/{CARD}")]


def _newest(folder: Path, pattern: str) -> list[Path]:
    """The files that match, the last written first; without those that are removed in the meantime."""
    files = []
    for file in folder.glob(pattern):
        with suppress(FileNotFoundError):
            files.append((file.stat().st_mtime, file))
    return [file for _, file in sorted(files, reverse=True)]


def corrected_below(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Those of them that have learnt corrections, each with what its card has of that."""
    corrections = []
    for path in trained_below(folder):
        with suppress(ConductorError):  # a folder that is no Conductor
            learnt = read_card(path).results.get("corrections")
            if learnt is not None:
                corrections.append((path, learnt))
    return corrections
