"""`run QUERY`, `run --workflow FILE`, `run --session ID`: plan if needed, run, print the answer."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from conductor.bounded_file import read_bounded
from conductor.commands.opening import opened
from conductor.commands.plan import print_problems, report_of
from conductor.commands.progress import EventLines, Progress
from conductor.commands.session_choice import session_of
from conductor.commands.settings import add_settings, positive, settings_of
from conductor.commands.shapes import run_shape
from conductor.commands.terminal import print_shown
from conductor.engine.extent import ANEW, EDITED, Extent, ExtentKind
from conductor.events import Event
from conductor.plan_file import MAX_BYTES
from conductor.run_state import RunState, RunStatus
from storage import RunRecord, Session
from storage.workbench import Workbench

_ENDS: dict[RunStatus, str] = {
    "running": "the run has not ended",
    "finished": "the run finished",
    "failed": "the run failed",
    "cancelled": "the run was stopped",
    "interrupted": "the run was interrupted",
    "over_budget": "the run was stopped at its budget",
}

_Listener = Callable[[Event], None]

_EXIT_CODES: dict[RunStatus, int] = {"finished": 0, "cancelled": 130}


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("run", parents=parents, help="answer a query, or run a workflow file")
    parser.add_argument("query", nargs="?", help="the question; with --workflow, in place of the file's own")
    parser.add_argument("--workflow", type=Path, metavar="FILE", help="run this exported workflow")
    parser.add_argument(
        "--session",
        metavar="ID",
        help="run a session's current workflow again, with its settings but for those named here",
    )
    _add_extent(parser)
    add_settings(parser)
    parser.add_argument("--events", action="store_true", help="print events as JSON lines as they happen")
    parser.set_defaults(command=_run, usage=parser.error)


def _add_extent(parser: argparse.ArgumentParser) -> None:
    """How much of the workflow is run; steps count from 1, as people see them."""
    extent = parser.add_mutually_exclusive_group()
    for kind, told in (
        ("from", "run this step and all that its work reaches anew"),
        ("to", "run what this step needs, and no more"),
        ("only", "run this step alone, on the outputs that are there"),
    ):
        extent.add_argument(f"--{kind}", dest=f"{kind}_step", type=positive, metavar="STEP", help=told)
    extent.add_argument("--anew", action="store_true", help="run every step, reusing nothing")


def _extent(options: argparse.Namespace) -> Extent:
    if options.anew:
        return ANEW
    kinds: tuple[ExtentKind, ...] = ("from", "to", "only")
    for kind in kinds:
        step = getattr(options, f"{kind}_step")
        if step is not None:
            return Extent(kind=kind, step=step - 1)
    return EDITED


def _check_source(options: argparse.Namespace) -> None:
    if options.session is None and options.query is None and options.workflow is None:
        options.usage("give a query, --workflow FILE, or --session ID")
    if options.session is not None and (options.query is not None or options.workflow is not None):
        options.usage("a session has a query and a workflow of its own; give --session alone")


def _run(options: argparse.Namespace) -> int:
    _check_source(options)
    if options.json and options.events:
        options.usage("choose one of --json and --events")
    listen = _listener(options)
    with opened(options) as workbench:
        session = _planned(options, workbench, listen)
        if session is None:
            return 1
        extent = _extent(options)
        _tell_resumption(options, workbench, session, extent)
        first = workbench.start(session.id, extent, listen=listen).run
        _wait(workbench, session)
        records = _since(first, workbench.store.runs(session.id))
        runs = [workbench.state(run) for run in records]
        for run in records:
            if unsaved := workbench.unsaved(run):
                print(f"conductor: not everything was kept: {unsaved}", file=sys.stderr)
        state = next((run for run in reversed(runs) if run.status == "finished"), runs[-1])
        _report(options, workbench, session=session, state=state, last=runs[-1])
        if not options.json and not options.events and not state.whole:
            _print_part(state, extent)
    if isinstance(listen, EventLines) and listen.fault is not None:
        raise listen.fault
    return _EXIT_CODES.get(state.status, 1)


def _tell_resumption(
    options: argparse.Namespace, workbench: Workbench, session: Session, extent: Extent
) -> None:
    """Say how much is kept where the run goes on from one that broke off."""
    resumption = workbench.resumption(session.id, extent) if options.session is not None else None
    if resumption is not None and not options.json:
        print(f"resumes: {resumption.words}", file=sys.stderr)


def _since(run: str, newest_first: Sequence[RunRecord]) -> list[RunRecord]:
    """The run of that id and those after it, oldest first."""
    found: list[RunRecord] = []
    for record in newest_first:
        found.insert(0, record)
        if record.id == run:
            break
    return found


def _planned(options: argparse.Namespace, workbench: Workbench, listen: _Listener | None) -> Session | None:
    """A session with a workflow, None after saying why there is none."""
    if options.session is not None:
        return _session(options, workbench)
    settings = settings_of(options, pool=workbench.pool)
    if options.workflow is not None:
        content = read_bounded(options.workflow, most=MAX_BYTES, kind="a workflow file")
        session = workbench.import_plan(content, query=options.query)
        return workbench.store.set_settings(session.id, settings)
    session = workbench.ask(options.query, settings=settings, origin="terminal")
    report = report_of(workbench.plan(session.id, listen=listen))
    print_problems(report)
    return session if report.ok else None


def _session(options: argparse.Namespace, workbench: Workbench) -> Session:
    """The session that is run again; settings that were said become its own, as they do in the app."""
    session = workbench.store.session(session_of(workbench.store, options.session))
    before = workbench.settings(session.id)
    settings = settings_of(options, pool=workbench.pool, before=before)
    return session if settings == before else workbench.store.set_settings(session.id, settings)


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


def _listener(options: argparse.Namespace) -> _Listener | None:
    if options.events:
        return EventLines()
    return None if options.json and not sys.stderr.isatty() else Progress()


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
        print_shown(state.answer)
    elif state.whole:
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


def _print_part(state: RunState, extent: Extent) -> None:
    """What the step gave that a run of a part was for; the workflow's answer, where it was that, is out."""
    assert state.workflow is not None, "a run that started has a workflow"
    goal = extent.goal(state.workflow)
    output = state.steps[goal].output
    if state.answer is None and output is not None:
        print_shown(output.text)
        print(f"conductor: this is what step {goal + 1} gave; the answer was not asked for.", file=sys.stderr)
    elif output is None:
        print(f"conductor: {_ENDS[state.status]}; step {goal + 1} gave nothing.", file=sys.stderr)
