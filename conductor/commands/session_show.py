"""`sessions show`: a session with its query, its revisions as a tree, its runs and its answer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from conductor.amounts import counted
from conductor.commands.session_choice import session_of, stored, summary_of
from conductor.commands.session_list import summary_shape
from conductor.commands.shapes import Shape
from conductor.commands.table import UNKNOWN, amount, lines_of, moment, one_line, table
from conductor.history import HistoryRow, history
from storage import Revision, RunRecord, Session, SessionStore, SessionSummary


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register it."""
    parser = commands.add_parser("show", parents=parents, help="show a session's revisions, runs and answer")
    parser.add_argument("session", metavar="ID")
    parser.set_defaults(command=_show)


def _show(options: argparse.Namespace) -> int:
    with stored(options) as store:
        session = store.session(session_of(store, options.session))
        summary = summary_of(store, session)
        if options.json:
            print(json.dumps(_shape(store, session, summary)))
        else:
            print("\n".join(_described(store, session, summary)))
    return 0


def _shape(store: SessionStore, session: Session, summary: SessionSummary) -> Shape:
    """`{"session", "answer", "plans", "revisions", "runs"}`; times in Unix seconds, what is unknown null."""
    runs = store.runs(session.id)
    return {
        "session": {**summary_shape(summary), **session.model_dump(mode="json")},
        "answer": _answer(runs),
        "plans": [plan.model_dump(mode="json") for plan in store.plans(session.id)],
        "revisions": [
            {**revision.model_dump(mode="json"), "current": revision.id == session.head}
            for revision in store.revisions(session.id)
        ],
        "runs": [run.model_dump(mode="json") for run in runs],
    }


def _answer(newest_first: Sequence[RunRecord]) -> str | None:
    """The newest run's that has one."""
    return next((run.answer for run in newest_first if run.answer is not None), None)


# -- for people ------------------------------------------------------------------------------------


def _described(store: SessionStore, session: Session, summary: SessionSummary) -> Iterator[str]:
    yield one_line(session.title)
    yield from (f"  {name:8} {value}" for name, value in _facts(session, summary))
    yield f"\nQuery\n{lines_of(session.query)}"
    revisions = store.revisions(session.id)
    if revisions:
        yield f"\n{counted(len(revisions), 'revision')}, newest first"
        yield _tree(revisions, head=session.head)
    runs = store.runs(session.id)
    if runs:
        yield f"\n{counted(len(runs), 'run')}, newest first"
        yield _runs(runs, {revision.id: revision.number for revision in revisions})
    answer = _answer(runs)
    yield "\nNo answer yet." if answer is None else f"\nAnswer\n{lines_of(answer)}"


def _facts(session: Session, summary: SessionSummary) -> Iterator[tuple[str, str]]:
    yield "id", session.id
    yield "state", summary.state
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
    yield "tokens", amount(summary.tokens)


def _tree(revisions: Sequence[Revision], *, head: str | None) -> str:
    by_id = {revision.id: revision for revision in revisions}
    rows = history({revision.id: revision.parent for revision in revisions}, head)
    return table(
        ("", "made", "by", "shape", "steps", "note"),
        [
            (
                f"{_lanes(row, at_head=row.id == head)} {revision.number}",
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


def _runs(runs: Sequence[RunRecord], numbers: dict[str, int]) -> str:
    return table(
        ("run", "status", "started", "seconds", "tokens", "round", "revision"),
        [
            (
                run.id[:8],
                run.status,
                moment(run.started_at),
                UNKNOWN if run.finished_at is None else f"{run.finished_at - run.started_at:,.1f}",
                amount(run.tokens),
                amount(run.round),
                amount(numbers.get(run.revision)),
            )
            for run in runs
        ],
        right=(3, 4, 5, 6),
    )
