"""`sessions show`: a session with its query, its revisions as a tree, its runs and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from conductor.text.formatting import quantity
from conductor.values.output import NO_ANSWER
from conductor.values.total import Total
from conductor.workflow.history import HistoryRow, history
from storage import Revision, RunRecord, Session, SessionStore, SessionSummary
from studio.cli.opening import SessionId, run_of, session_of, stored
from studio.cli.options import Stored, count, flag, option
from studio.cli.output.plan_graph import plan_lines
from studio.cli.output.terminal import UNKNOWN, amount, lane_text, moment, one_line, table, tokens_cell
from studio.cli.sessions.note_commands import note_lines
from studio.cli.sessions.show_step import show_step, status_words
from studio.sessions.session_shape import newest_answer, no_plan, session_shape, with_summary

_WORDS: Mapping[str, str] = {"cancelled": "stopped", "unanswered": NO_ANSWER}
"""States whose name is not the word that people read."""


def state_word(state: str) -> str:
    """The state of a session, or of a run, for people."""
    return _WORDS.get(state, state)


def show(
    ctx: typer.Context,
    id: SessionId,
    step: Annotated[
        int | None, count("What this step read, from whom, and gave.", "STEP", names=("--step", "-s"))
    ] = None,
    run: Annotated[str | None, option("With --step: in this run; default: the newest.", "RUN")] = None,
    saw: Annotated[bool, flag("--saw", "With --step: all that its worker was sent.")] = False,
    *,
    options: Stored,
) -> int:
    """Show a session's revisions, runs and answer, or one of its steps."""
    if step is None and (saw or run is not None):
        ctx.fail("--saw and --run go with --step")
    with stored(options) as store:
        session_id = session_of(store, id)
        if step is not None:
            run_id = None if run is None else run_of(store, run)
            return show_step(store, session_id, step - 1, run_id, options, saw=saw)
        session, summary = with_summary(store, session_id)
        if options.json:
            return options.show(session_shape(store, session, summary))
        return options.show(None, *_described(store, session, summary))


# -- for people ------------------------------------------------------------------------------------


def _described(store: SessionStore, session: Session, summary: SessionSummary) -> Iterator[str]:
    yield one_line(session.title)
    yield from (
        f"  {name:8} {value}" for name, value in _facts(session, summary, store.sessions.total(session.id))
    )
    yield f"\nQuery\n{session.query}"
    revisions = store.revisions.of_session(session.id)
    if (reason := no_plan(store.plans.latest(session.id), revisions)) is not None:
        yield f"\nWhy there is no plan\n{reason}"
    runs = store.runs.of_session(session.id)
    if revisions:
        yield f"\n{quantity(len(revisions), 'revision')}, newest first"
        yield _tree(revisions, head=session.head, redo=store.revisions.redo_targets(session.id))
        yield f"\nWorkflow\n{_graph(store, session, runs)}"
    if runs:
        yield f"\n{quantity(len(runs), 'run')}, newest first"
        numbers = {revision.id: revision.number for revision in revisions}
        yield _runs(runs, numbers, store.runs.totals(session.id))
    if notes := store.notes.of_session(session.id):
        yield f"\n{quantity(len(notes), 'note')}"
        yield from note_lines(notes)
    answer = newest_answer(runs)
    yield "\nNo answer yet." if answer is None else f"\nAnswer\n{answer}"


def _facts(session: Session, summary: SessionSummary, used: Total) -> Iterator[tuple[str, str]]:
    """By name; tokens and cost are those of planning and all runs."""
    yield "id", session.id
    yield "state", state_word(summary.state)
    yield "created", moment(session.created_at)
    yield "updated", moment(session.updated_at)
    if session.deleted_at is not None:
        yield "deleted", moment(session.deleted_at)
    if session.pool_label:
        yield "pool", one_line(session.pool_label)
    if summary.tags:
        yield "tags", ", ".join(map(one_line, summary.tags))
    if summary.workers:
        yield "workers", ", ".join(map(one_line, summary.workers))
    yield "tokens", tokens_cell(used)
    yield "cost", used.cost_words


def _tree(revisions: Sequence[Revision], *, head: str | None, redo: Mapping[str, str]) -> str:
    by_id = {revision.id: revision for revision in revisions}
    rows = history({revision.id: revision.parent for revision in revisions}, head, redo)
    return table(
        ("", "made", "by", "shape", "steps", "note"),
        [
            (
                f"{lane_text(_lanes(row, at_head=row.id == head))} {revision.number}",
                moment(revision.created_at),
                revision.origin,
                revision.workflow.topology,
                amount(len(revision.workflow)),
                one_line(revision.note, 60) + ("  (current)" if row.id == head else ""),
            )
            for row in rows
            for revision in (by_id[row.id],)
        ],
        right=(4,),
    )


def _lanes(row: HistoryRow, *, at_head: bool) -> str:
    """The lines of a row of the tree; the head is filled."""
    lanes = [" "] * (max((row.lane, *row.joins, *row.passing)) + 1)
    for lane in row.passing:
        lanes[lane] = "│"
    for lane in row.joins:
        lanes[lane] = "╯"
    lanes[row.lane] = "●" if at_head else "○"
    reach = max(row.joins, default=row.lane)
    # A line that comes from the side goes in front of those it crosses.
    return "".join(lane + ("─" if row.lane <= at < reach else " ") for at, lane in enumerate(lanes)).rstrip()


def _graph(store: SessionStore, session: Session, runs: Sequence[RunRecord]) -> str:
    """The current workflow, with where each step is in the newest run of it."""
    head = store.revisions.head(session.id)
    assert head is not None, "there is a revision"
    run = next((each for each in runs if each.revision == head.id), None)
    steps = () if run is None else store.runs.state(run.id).steps
    return "\n".join(plan_lines(head.workflow, [status_words(step) for step in steps]))


def _runs(runs: Sequence[RunRecord], numbers: Mapping[str, int], used: Mapping[str, Total]) -> str:
    return table(
        ("run", "status", "started", "seconds", "tokens", "round", "revision"),
        [
            (
                run.id[:8],
                state_word(run.status),
                moment(run.started_at),
                UNKNOWN if run.finished_at is None else f"{run.finished_at - run.started_at:,.1f}",
                tokens_cell(used.get(run.id, Total())),
                amount(run.round),
                amount(numbers.get(run.revision)),
            )
            for run in runs
        ],
        right=(3, 4, 5, 6),
    )
