"""What a run says in the terminal while it goes on: lines for people, or its events for programs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TextIO

from conductor.commands.terminal import shown
from conductor.events import (
    EVENT,
    AnswerKept,
    BudgetExceeded,
    Event,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
)


def say(line: str, stream: TextIO) -> OSError | None:
    """Print a line while the run goes on, to which it does not matter whether that is possible.

    Why it was not, and nothing after it will be; None where it was, or where nobody reads any more.
    """
    try:
        print(shown(line, stream), file=stream, flush=True)
    except OSError as error:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        return None if isinstance(error, BrokenPipeError) else error
    return None


class EventLines:
    """Every event as a line of JSON on stdout. `fault` says why some of them are missing."""

    def __init__(self) -> None:
        self.fault: OSError | None = None

    def __call__(self, event: Event) -> None:
        # Through json.dumps, which can also write half a surrogate pair, as models do.
        missed = say(json.dumps(EVENT.dump_python(event, mode="json")), sys.stdout)
        self.fault = self.fault or missed


class Progress:
    """One line on stderr for whatever happens to a step."""

    def __init__(self) -> None:
        self._steps = 0

    def __call__(self, event: Event) -> None:
        match event:
            case PlanningStarted():
                say(f"{event.planner} plans", sys.stderr)
            case RunStarted():
                self._steps = len(event.workflow)
                if event.round > 1:
                    say(f"round {event.round}", sys.stderr)
            case PlanRejected():
                say(
                    "the plan is not valid: " + " ".join(p.message for p in event.report.problems), sys.stderr
                )
            case PlanningRetried():
                say(f"the Conductor is asked again in {event.seconds:.1f} s: {event.message}", sys.stderr)
            case AnswerKept():
                say(f"the Conductor keeps the answer: {event.reason}", sys.stderr)
            case BudgetExceeded():
                say(f"stopped at the budget: {event.words}", sys.stderr)
            case _:
                said = _progress(event)
                if said is not None:
                    step, words = said
                    say(f"[{step + 1}/{self._steps}] {words}", sys.stderr)


def _progress(event: Event) -> tuple[int, str] | None:
    match event:
        case StepStarted():
            return event.step, f"{event.worker} works"
        case StepFinished():
            return event.step, f"{event.output.worker} is done, {event.output.seconds:.1f} s"
        case StepReused():
            return event.step, f"{event.output.worker}'s output is reused"
        case StepKept():
            return event.step, f"its output is {'pinned' if event.because == 'pinned' else 'taken as it was'}"
        case StepFailed():
            return event.step, f"failed: {event.message}"
        case StepRetried():
            return event.step, f"is asked again in {event.seconds:.1f} s: {event.message}"
        case StepFellBack():
            return event.step, f"{event.worker} stands in: {event.message}"
        case StepInner():
            inside = _progress(event.event)
            return None if inside is None else (event.step, f"inside, step {inside[0] + 1}: {inside[1]}")
        case StepBlocked():
            return event.step, "does not run, because a step it reads failed"
        case StepCancelled():
            return event.step, "was stopped"
        case _:
            return None
