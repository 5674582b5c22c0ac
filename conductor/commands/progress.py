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


def print_event(event: Event) -> None:
    """Print it as a line of JSON."""
    # Through json.dumps, which can also write half a surrogate pair, as models do.
    say(json.dumps(EVENT.dump_python(event, mode="json")), sys.stdout)


def say(line: str, stream: TextIO) -> None:
    """Print a line while the run goes on; whether anybody still reads does not matter to the run."""
    try:
        print(shown(line, stream), file=stream, flush=True)
    except BrokenPipeError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


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
