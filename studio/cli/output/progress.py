"""What `run` prints during a run: lines for people, or the run's events for programs."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from conductor.runs import events
from conductor.runs.events import EVENT, Event
from conductor.runs.progress_lines import ProgressLines
from conductor.text.control_characters import escaped
from studio.cli.output.terminal import one_line, print_shown, stream_text

if TYPE_CHECKING:
    from rich.progress import TaskID


def print_line(line: str, stream: TextIO) -> OSError | None:
    """Print a line about a run, which continues whether or not that is possible.

    Returns the error, after which nothing more is printed on `stream`; None if the line was printed, and
    where the reader has gone.
    """
    try:
        print_shown(line, stream=stream)
    except OSError as error:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        return None if isinstance(error, BrokenPipeError) else error
    return None


class EventLines:
    """Prints every event as a line of JSON on stdout. `fault` is why some of them are missing."""

    def __init__(self) -> None:
        self.fault: OSError | None = None

    def __call__(self, event: Event) -> None:
        # Through json.dumps, which can also write half a surrogate pair, as models do.
        missed = print_line(escaped(json.dumps(EVENT.dump_python(event, mode="json"))), sys.stdout)
        self.fault = self.fault or missed


class ProgressPrinter:
    """Prints a line on stderr for everything that happens to a step.

    On a terminal the workers that work right now stand below these lines, each with its seconds.
    """

    def __init__(self) -> None:
        self._lines = ProgressLines()
        self._working = _Working() if sys.stdout.isatty() and sys.stderr.isatty() else None

    def __call__(self, event: Event) -> None:
        if self._working is not None:
            # Neither here does it matter to the run whether it can be shown.
            with suppress(OSError):
                self._working.follow(event)
        line = self._lines.line(event)
        if line is not None:
            print_line(line, sys.stderr)

    def close(self) -> None:
        """Leave only the lines on the terminal."""
        if self._working is not None:
            self._working.close()


class _Working:
    """The planner and the workers that work right now, at the foot of a terminal, each with its seconds."""

    def __init__(self) -> None:
        # Only a terminal waits for these to load.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._display = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[int | None, TaskID] = {}

    def follow(self, event: Event) -> None:
        match event:
            case events.PlanningStarted():
                self._begin(None, event.planner)
            case (
                events.WorkflowPlanned()
                | events.AnswerKept()
                | events.PlanRejected()
                | events.PlanningFailed()
            ):
                self._end(None)
            case events.StepStarted() | events.StepFellBack():
                self._begin(event.step, f"step {event.step + 1}: {event.worker}")
            case events.StepFinished() | events.StepFailed() | events.StepCancelled():
                self._end(event.step)
            case events.RunFinished():
                self.close()

    def close(self) -> None:
        for step in tuple(self._tasks):
            self._end(step)

    def _begin(self, step: int | None, words: str) -> None:
        """`step` is None for the planner."""
        self._end(step)
        if not self._tasks:
            self._display.start()
        self._tasks[step] = self._display.add_task(stream_text(one_line(words, 60), sys.stderr), total=None)

    def _end(self, step: int | None) -> None:
        if (task := self._tasks.pop(step, None)) is not None:
            self._display.remove_task(task)
            if not self._tasks:
                self._display.stop()
