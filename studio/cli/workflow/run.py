"""`run QUERY`, `run --workflow FILE`, `run --session ID`: plan if needed, run, print the answer."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from conductor.files.named_file import STDIN, read_bounded
from conductor.runs.events import Event
from conductor.runs.scope import EDITED, FORCE, RunScope, RunScopeKind
from conductor.runs.state import RunState
from conductor.workflow.file import MAX_BYTES, read_plan
from storage import Session
from studio.cli.opening import confirm_keys, name_session, opened, session_option
from studio.cli.options import (
    App,
    Choice,
    Configured,
    DryRun,
    Files,
    Query,
    Storable,
    count,
    flag,
    option,
    piped_text,
)
from studio.cli.output.plan_graph import plan_lines
from studio.cli.output.progress import EventLines, ProgressPrinter
from studio.cli.output.run_end import END_WORDS, exit_code
from studio.cli.output.shapes import run_shape
from studio.cli.output.terminal import (
    is_quiet,
    name_next,
    print_fault,
    print_json,
    print_label,
    print_lines,
    print_remark,
)
from studio.cli.workflow.forecast import show_run, unstored
from studio.cli.workflow.guards import set_guards
from studio.cli.workflow.parse import print_problems
from studio.cli.workflow.plan import (
    dry_session,
    new_session,
    report_of,
    session_again,
    settings_of,
)
from studio.cli.workflow.revising import head_of, revise
from studio.cli.workflow.tool_questions import asked_decisions, decisions_by_option, print_questions
from studio.sessions.person_limits import check_admits
from studio.workbench import Workbench

Listening = Callable[[Event], None] | None
"""What prints events as they happen, where anything does."""
Output = Literal["text", "json", "events"]
_AGAIN = (
    "Run a session's workflow again, with its settings except for those named here. A session without one, "
    "as after an interrupted planning, is planned first."
)
_PANEL = "How much of the workflow is run"
_TOOLS = "Where a tool may act"
_step = partial(count, metavar="STEP", panel=_PANEL)

_rule = partial(option, parser=str, panel="Where a step gives no answer")

app = App()


@app.command()
def run(
    ctx: typer.Context,
    *,
    query: Query = None,
    file: Files = None,
    workflow: Annotated[
        Path | None,
        option(
            "Run this workflow, - is stdin; a QUERY replaces its own. With --session: its revision.",
            "FILE",
            Path,
        ),
    ] = None,
    session: Annotated[str | None, session_option(_AGAIN)] = None,
    first: Annotated[int | None, _step("Run it and all that its output reaches.", names=["--from"])] = None,
    to: Annotated[int | None, _step("Run what it needs, and no more.")] = None,
    only: Annotated[int | None, _step("Run it alone, on the outputs that are there.")] = None,
    every: Annotated[bool, flag("--all", "Run every step, reusing nothing.", panel=_PANEL)] = False,
    pause_before: Annotated[
        list[int] | None,
        _step("Wait before it, until --continue; once for each such step.", names=["--pause-before"]),
    ] = None,
    proceed: Annotated[
        bool, flag("--continue", "Pass the gates at which the session's run waits.", panel=_PANEL)
    ] = False,
    allow_tools: Annotated[
        bool,
        flag("--allow-tools", "Let tools act without a question, and the calls that wait.", panel=_TOOLS),
    ] = False,
    refuse_tools: Annotated[
        str | None,
        option(
            "Refuse the calls that wait, for this reason.", "REASON", names=["--refuse-tools"], panel=_TOOLS
        ),
    ] = None,
    recorded: Annotated[
        bool,
        flag(
            "--recorded", "Call no tool: give the results of runs before; with --from or --all.", panel=_TOOLS
        ),
    ] = False,
    retry: Annotated[list[str] | None, _rule("Call its worker up to N times more.", "STEP=N")] = None,
    fallback: Annotated[list[str] | None, _rule("Let this worker answer.", "STEP=WORKER")] = None,
    skip: Annotated[
        list[str] | None,
        _rule("Go on without its output, or with this text in its place.", "STEP[=TEXT]"),
    ] = None,
    dry_run: DryRun = False,
    events: Annotated[bool, flag("--events", "Print events as JSON lines as they happen.")] = False,
    no_stream: Annotated[
        bool, flag("--no-stream", "Print the answer at its end, also on a terminal.")
    ] = False,
    choice: Choice,
    options: Storable,
) -> int:
    """Answer a query, or run a workflow file or a session.

    With --from, --to or --only a part of the workflow is run; steps count from 1.
    """
    if session is None and query is None and workflow is None and (query := piped_text()) is None:
        ctx.fail("give a query, --workflow FILE, or --session ID")
    if session is not None and query is not None:
        ctx.fail("a session has a query of its own; give --session alone, or with --workflow")
    if file and (session is not None or workflow is not None):
        ctx.fail("--file goes with a QUERY alone")
    if options.json and events:
        ctx.fail("choose one of --json and --events")
    scope = _scope(ctx, {"from": first, "to": to, "only": only}, every=every)
    if proceed and (session is None or scope != EDITED):
        ctx.fail("--continue goes on with the run of a --session as far as that was to go; give nothing else")
    if allow_tools and refuse_tools is not None:
        ctx.fail("choose one of --allow-tools and --refuse-tools")
    if recorded and (session is None or allow_tools or proceed):
        ctx.fail("--recorded repeats results of a --session; leave --allow-tools and --continue out")
    if refuse_tools is not None and not proceed:
        ctx.fail("--refuse-tools answers what the run of a --session waits with; give --continue, too")
    output: Output = "events" if events else "json" if options.json else "text"
    if dry_run:
        return _forecast(
            scope, choice, options, session=session, file=workflow, query=query, attached=file or ()
        )
    confirm_keys(options.pool, ask=True)
    with listening(output, stream=not no_stream) as listen, opened(options) as workbench:
        if session is not None:
            target = session_again(workbench, session, choice)
            name_session(target, options, what="again")
            if workflow is not None:
                plan = read_plan(read_bounded(workflow, most=MAX_BYTES, kind="a workflow file"))
                revise(
                    workbench, head_of(workbench, target.id), plan.workflow, options,
                    note=f"From {'stdin' if str(workflow) == STDIN else workflow.name}",
                )  # fmt: skip
            planned = workbench.store.revisions.head(target.id) is not None
            if not planned:
                print_remark("this session has no workflow yet; the Conductor is asked for one")
        elif workflow is not None:
            target, planned = _imported(workbench, workflow, query, choice), True
        else:
            target, planned = new_session(workbench, query or "", choice, file or ()), False
        name_session(target, options, what="again")
        if not planned:
            report = report_of(workbench.planning.plan(target.id, listen=listen))
            print_problems(report)
            if not report.ok:
                return 1
        set_guards(
            workbench,
            target.id,
            pause_before=pause_before or (),
            retry=retry or (),
            fallback=fallback or (),
            skip=skip or (),
        )
        if scope == EDITED:
            waiting = workbench.running.waiting(target.id)
            decisions = decisions_by_option(waiting, allow=allow_tools, refuse=refuse_tools)
            scope = workbench.running.next_scope(target.id, proceed=proceed, decisions=decisions)
        if allow_tools or recorded:
            own = {"allows": ("*",)} if allow_tools else {"recorded": "only"}
            scope = scope.model_copy(update=own)
        return run_session(workbench, target, scope, options, listen=listen, output=output)


def _forecast(
    scope: RunScope,
    choice: Choice,
    options: Storable,
    *,
    session: str | None,
    file: Path | None,
    query: str | None,
    attached: Sequence[Path],
) -> int:
    """Print what the run would call; a new session is made in no store."""
    content = None if file is None else read_bounded(file, most=MAX_BYTES, kind="a workflow file")
    plan = None if content is None else read_plan(content)
    options = options if session is not None else unstored(options)
    with opened(options) as workbench:
        if session is None and content is not None:
            id = workbench.editing.import_plan(content, query=query).id
        else:
            id = dry_session(workbench, session, query, choice, attached)
        settings = settings_of(choice, pool=workbench.pool, before=workbench.settings(id))
        workflow = None if plan is None else plan.workflow
        return show_run(
            workbench, id, settings, options, is_new=session is None, scope=scope, workflow=workflow
        )


def _scope(ctx: typer.Context, steps: Mapping[RunScopeKind, int | None], *, every: bool) -> RunScope:
    """How much of the workflow is run; people count steps from 1."""
    scopes = [RunScope(kind=kind, step=step - 1) for kind, step in steps.items() if step is not None]
    scopes += [FORCE] * every
    if len(scopes) > 1:
        ctx.fail("choose one of --from, --to, --only and --all")
    return scopes[0] if scopes else EDITED


@contextmanager
def listening(output: Output, *, stream: bool = True) -> Iterator[Listening]:
    """What prints the events of a run, and with `stream` its answer as it comes.

    Raises the `OSError` for which some of them are missing.
    """
    if output == "events":
        lines = EventLines()
        yield lines
        if lines.fault is not None:
            raise lines.fault
    elif output == "json" and not sys.stderr.isatty():
        yield None
    else:
        with closing(ProgressPrinter(stream=stream and output == "text")) as progress:
            yield progress


def _imported(workbench: Workbench, file: Path, query: str | None, choice: Choice) -> Session:
    """A session whose workflow is the file's."""
    settings = settings_of(choice, pool=workbench.pool)
    content = read_bounded(file, most=MAX_BYTES, kind="a workflow file")
    check_admits(workbench.store, workbench.asker)
    return workbench.store.sessions.set_settings(
        workbench.editing.import_plan(content, query=query).id, settings
    )


def run_session(
    workbench: Workbench,
    session: Session,
    scope: RunScope,
    options: Configured,
    *,
    listen: Listening,
    output: Output,
) -> int:
    """Run a session's workflow as far as `scope`; print what comes of it. Returns the exit code."""
    if output == "text":
        if sys.stderr.isatty() and not is_quiet():
            workflow = head_of(workbench, session.id).workflow
            print_lines(*plan_lines(workflow), stream=sys.stderr, style="dim")
        print_remark(workbench.running.outlook(session.id, scope).sentence)
    state = _run(workbench, session, scope, listen, output)
    while output == "text" and state.questions and (decisions := asked_decisions(state)):
        scope = workbench.running.next_scope(session.id, decisions=decisions)
        state = _run(workbench, session, scope, listen, output)
    if state.status == "paused":
        allow = "" if state.gates_reached else " --allow-tools"
        again = f"run --session {session.id[:8]}{options.again} --continue{allow}"
        name_next(f"session {session.id[:8]} waits", again)
    elif state.status == "finished":
        name_next(f"session {session.id[:8]}", f"edit {session.id[:8]}{options.again}", what="change it")
    if output == "json":
        name_next(None)
    return exit_code(state)


def _run(
    workbench: Workbench, session: Session, scope: RunScope, listen: Listening, output: Output
) -> RunState:
    """Run all rounds and print the outcome: the state of the last finished round, else of the last one."""
    first = workbench.running.start(session.id, scope, listen=listen).run
    _wait(workbench, session)
    # Newest first; the rounds after the first are runs of their own.
    newest_first = workbench.store.runs.of_session(session.id)
    records = newest_first[[record.id for record in newest_first].index(first) :: -1]
    runs = [workbench.state(record) for record in records]
    for record in records:
        if unsaved := workbench.unsaved(record):
            print_remark(f"not everything was kept: {unsaved}")
    state = next((run for run in reversed(runs) if run.status == "finished"), runs[-1])
    if output == "json":
        shape = run_shape(
            state,
            session=session.id,
            label=_label(workbench, state),
            names=workbench.pool.names,
            used=workbench.store.sessions.total(session.id),
            changed_pins=_changed_pins(workbench, session, state),
        )
        print_json(shape)
    elif output == "text":
        printed = listen.answer if isinstance(listen, ProgressPrinter) else None
        _print_outcome(workbench, session, state, last=runs[-1], printed=printed)
        if not state.whole:
            _print_part(state, scope)
    return state


def _wait(workbench: Workbench, session: Session) -> None:
    """Wait for the end of the last round; the first interrupt stops the work, not what is finished."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print_lines("stopping", stream=sys.stderr)
        workbench.running.stop(session.id)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        workbench.activities.wait(session.id)
    except CancelledError:
        # Planning of a later round was stopped; the round before has ended.
        pass
    finally:
        signal.signal(signal.SIGINT, previous)


def _changed_pins(workbench: Workbench, session: Session, state: RunState) -> Collection[int]:
    """The pinned steps (0-based) whose inputs changed."""
    return (
        workbench.running.outlook(session.id).changed_pins if state.workflow and state.workflow.pins else ()
    )


def _print_outcome(
    workbench: Workbench, session: Session, state: RunState, *, last: RunState, printed: str | None
) -> None:
    """Print the answer, unless it stands there as it came, and on stderr what a person should know of it."""
    if state.answer is not None:
        if state.answer != printed:
            print_lines(state.answer)
        if state.status == "finished" and not state.answered:
            print_remark("the run finished without an answer; what its worker wrote instead stands above.")
    elif state.whole:
        say = print_remark if state.status == "paused" else print_fault
        say(f"{END_WORDS[state.status]}; there is no answer.")
    if state.warning:
        print_remark(state.warning)
    for step in state.open_gates:
        print_remark(f"step {step + 1} was reused, so the run did not wait before it.")
    if state.status == "paused":
        _print_gates(workbench, state, session)
    if last is not state:
        print_remark(f"in round {last.round} {END_WORDS[last.status]}; this is an earlier answer.")
    for step in sorted(_changed_pins(workbench, session, state)):
        print_remark(f"step {step + 1} is pinned, and its inputs changed; unpin it to have it answer them.")
    used = workbench.store.sessions.total(session.id)
    if used.tokens is not None:
        words = f"{used.token_words}, {used.cost_words}" if used.cost is not None else used.token_words
        print_remark(f"this session has used {words}, planning included.")
    print_label(_label(workbench, state))


def _label(workbench: Workbench, state: RunState) -> str | None:
    """The label of the workers that answered."""
    return None if state.workflow is None else workbench.pool.label_of(state.workflow, state)


def _print_gates(workbench: Workbench, state: RunState, session: Session) -> None:
    """Print before which steps the run waits, what these would be sent, and which calls need a yes."""
    print_questions(state)
    for step in state.gates_reached:
        request = state.steps[step].request
        assert state.workflow is not None, "it ran"
        assert request is not None, "its gate was reached"
        sent = "\n\n".join(message.content for message in request.messages)
        worker = state.workflow.steps[step].worker
        print_remark(f"waiting before step {step + 1}; {worker} would be sent:\n\n{sent}\n")
    print_remark(f"to continue calls {workbench.running.outlook(session.id).calls}.")


def _print_part(state: RunState, scope: RunScope) -> None:
    """Print the output of the step that a run of a part was for, unless it was the answer."""
    if state.workflow is None:
        return
    goal = scope.goal(state.workflow)
    output = state.steps[goal].output
    if state.answer is None and output is not None:
        print_lines(output.text)
        print_remark(f"this is what step {goal + 1} gave; the answer was not asked for.")
    elif output is None:
        print_remark(f"{END_WORDS[state.status]}; step {goal + 1} gave nothing.")
