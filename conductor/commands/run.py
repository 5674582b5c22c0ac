"""`run QUERY`, `run --workflow FILE`: plan if needed, run, print the answer."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, TextIO

from conductor.commands.opening import opened
from conductor.commands.plan import print_problems, report_of
from conductor.commands.settings import add_settings, settings_of
from conductor.commands.shapes import run_shape
from conductor.errors import FormatError
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
    StepRetried,
    StepReused,
    StepStarted,
)
from conductor.run_state import RunState, RunStatus
from storage import Session
from storage.workbench import Workbench

_ENDS: dict[RunStatus, str] = {
    "running": "the run has not ended",
    "finished": "the run finished",
    "failed": "the run failed",
    "cancelled": "the run was stopped",
    "interrupted": "the run was interrupted",
    "over_budget": "the run was stopped at its budget",
}

_EXIT_CODES: dict[RunStatus, int] = {"finished": 0, "cancelled": 130}


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("run", parents=parents, help="answer a query, or run a workflow file")
    parser.add_argument("query", nargs="?", help="the question; with --workflow, in place of the file's own")
    parser.add_argument("--workflow", type=Path, metavar="FILE", help="run this exported workflow")
    add_settings(parser)
    parser.add_argument("--events", action="store_true", help="print events as JSON lines as they happen")
    parser.set_defaults(command=_run, usage=parser.error)


def _run(options: argparse.Namespace) -> int:
    if options.query is None and options.workflow is None:
        options.usage("give a query, or --workflow FILE")
    if options.json and options.events:
        options.usage("choose one of --json and --events")
    with opened(options) as workbench:
        session = _planned(options, workbench)
        if session is None:
            return 1
        workbench.start(session.id, listen=_listener(options))
        _wait(workbench, session)
        runs = [workbench.state(run) for run in reversed(workbench.store.runs(session.id))]
        for run in workbench.store.runs(session.id):
            if unsaved := workbench.unsaved(run):
                print(f"conductor: not everything was kept: {unsaved}", file=sys.stderr)
        state = next((run for run in reversed(runs) if run.status == "finished"), runs[-1])
        _report(options, workbench, session=session, state=state, last=runs[-1])
    return _EXIT_CODES.get(state.status, 1)


def _planned(options: argparse.Namespace, workbench: Workbench) -> Session | None:
    """A session with a workflow, None after saying why there is none."""
    settings = settings_of(options, pool=workbench.pool)
    if options.workflow is not None:
        session = workbench.import_plan(_content(options.workflow), query=options.query)
        return workbench.store.set_settings(session.id, settings)
    session = workbench.ask(options.query, settings=settings)
    report = report_of(workbench.plan(session.id, listen=_listener(options)))
    print_problems(report)
    return session if report.ok else None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}.") from error


def _wait(workbench: Workbench, session: Session) -> None:
    """Wait for the end of the last round; the first interrupt stops what goes on and keeps what is done."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("stopping", file=sys.stderr)
        workbench.stop(session.id)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        workbench.conducting.wait(session.id)
    except CancelledError:
        # Planning of a later round was stopped; the round before has ended.
        pass
    finally:
        signal.signal(signal.SIGINT, previous)


def _listener(options: argparse.Namespace) -> Callable[[Event], None] | None:
    if options.events:
        return _print_event
    return None if options.json and not sys.stderr.isatty() else _Progress()


def _print_event(event: Event) -> None:
    # Through json.dumps, which can also write half a surrogate pair, as models do.
    _say(json.dumps(EVENT.dump_python(event, mode="json")), sys.stdout)


def _say(line: str, stream: TextIO) -> None:
    """Print a line while the run goes on; whether anybody still reads does not matter to the run."""
    try:
        print(line, file=stream, flush=True)
    except BrokenPipeError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


class _Progress:
    """One line on stderr for whatever happens to a step."""

    def __init__(self) -> None:
        self._steps = 0

    def __call__(self, event: Event) -> None:
        match event:
            case PlanningStarted():
                _say(f"{event.planner} plans", sys.stderr)
            case RunStarted():
                self._steps = len(event.workflow)
                if event.round > 1:
                    _say(f"round {event.round}", sys.stderr)
            case PlanRejected():
                _say(
                    "the plan is not valid: " + " ".join(p.message for p in event.report.problems), sys.stderr
                )
            case PlanningRetried():
                _say(f"the Conductor is asked again in {event.seconds:.1f} s: {event.message}", sys.stderr)
            case AnswerKept():
                _say(f"the Conductor keeps the answer: {event.reason}", sys.stderr)
            case BudgetExceeded():
                _say(f"stopped at the budget: {event.words}", sys.stderr)
            case _:
                said = _progress(event)
                if said is not None:
                    step, words = said
                    _say(f"[{step + 1}/{self._steps}] {words}", sys.stderr)


def _progress(event: Event) -> tuple[int, str] | None:
    match event:
        case StepStarted():
            return event.step, f"{event.worker} works"
        case StepFinished():
            return event.step, f"{event.output.worker} is done, {event.output.seconds:.1f} s"
        case StepReused():
            return event.step, f"{event.output.worker}'s output is reused"
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


def _report(
    options: argparse.Namespace, workbench: Workbench, *, session: Session, state: RunState, last: RunState
) -> None:
    label = workbench.pool.label
    if options.events:
        return
    if options.json:
        print(json.dumps(run_shape(state, session=session.id, label=label, names=workbench.pool.names)))
        return
    if state.answer is not None:
        print(state.answer)
    else:
        print(f"conductor: {_ENDS[state.status]}; there is no answer.", file=sys.stderr)
    if state.warning:
        print(f"conductor: {state.warning}", file=sys.stderr)
    if last is not state:
        print(
            f"conductor: in round {last.round} {_ENDS[last.status]}; this is an earlier answer.",
            file=sys.stderr,
        )
    if label:
        print(f"({label})", file=sys.stderr)
