"""Prints the progress of `run`: lines for people, or the run's events for programs."""

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
from studio.cli.output.terminal import Style, is_quiet, one_line, print_lines, stream_text

if TYPE_CHECKING:
    from rich.progress import TaskID


def print_line(line: str, stream: TextIO, *, style: Style | None = None) -> OSError | None:
    """Print a line about a run, which continues whether or not that is possible.

    Returns the error, after which nothing more is printed on `stream`; None if the line was printed, and
    where the reader has gone.
    """
    try:
        print_lines(line, stream=stream, style=style)
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

    On a terminal the workers that work right now stand below these lines, each with its seconds, and with
    `stream` the last step's answer is on stdout as it comes. `answer` is what stands there.
    """

    def __init__(self, *, stream: bool = True) -> None:
        on_terminal = sys.stdout.isatty() and sys.stderr.isatty()
        self._quiet = is_quiet()
        self._lines = ProgressLines()
        self._working = _Working() if on_terminal and not self._quiet else None
        self._streamed = _StreamedAnswer() if on_terminal and stream else None

    @property
    def answer(self) -> str | None:
        """The text of the answer that was printed as it came; None without one."""
        return None if self._streamed is None else self._streamed.text or None

    def __call__(self, event: Event) -> None:
        piece = None if self._streamed is None else self._streamed.piece(event)
        # Neither here does it matter to the run whether it can be shown.
        with suppress(OSError):
            if self._streamed is not None and piece is not None:
                if self._working is not None:
                    self._working.close()
                self._streamed.write(*piece)
            elif self._working is not None and not (self._streamed and self._streamed.is_in_line):
                self._working.follow(event)
        line = self._lines.line(event)
        if line is not None and (not self._quiet or isinstance(event, _FAILURES)):
            self._end_line()
            print_line(line, sys.stderr, style="red" if isinstance(event, _FAILURES) else None)

    def close(self) -> None:
        """Leave only the lines on the terminal."""
        self._end_line()
        if self._working is not None:
            self._working.close()

    def _end_line(self) -> None:
        if self._streamed is not None and self._streamed.is_in_line:
            with suppress(OSError):
                self._streamed.write("\n", None)


_FAILURES = (events.StepFailed, events.PlanRejected, events.BudgetExceeded)
"""Have a line also where nothing else has one."""


class _StreamedAnswer:
    """The last step's text on stdout as its worker writes it, and what a model thinks before that dim."""

    def __init__(self) -> None:
        self.text = ""
        self.is_in_line = False
        self._step: int | None = None
        self._style: Style | None = None

    def piece(self, event: Event) -> tuple[str, Style | None] | None:
        """What is to be written of the event, and how; None if nothing is."""
        if isinstance(event, events.RunStarted):
            self._step, self.text = event.workflow.final, ""
        if getattr(event, "step", None) != self._step:
            return None
        match event:
            case events.StepDelta():
                self.text += event.text
                return event.text, None
            case events.StepThought():
                self.text = self.text[: len(self.text) - event.recalls]
                return event.text, "dim"
            case events.StepRetried() | events.StepFellBack():
                self.text = ""
            case events.StepFinished() if self.text and event.output.text.startswith(self.text):
                rest, self.text = event.output.text[len(self.text) :], event.output.text
                return (rest, None) if rest else None
        return None

    def write(self, text: str, style: Style | None) -> None:
        if self.is_in_line and style != self._style and text != "\n":
            text = f"\n{text}"
        self.is_in_line, self._style = not text.endswith("\n"), style
        print_lines(text, end="", style=style)


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
            case events.StepToolsCalled():
                self._begin(event.step, f"step {event.step + 1}: {event.calls[0].line}")
            case events.StepToolsReturned() if event.uses:
                self._begin(event.step, f"step {event.step + 1}: goes on after {event.uses[-1].words}")
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
