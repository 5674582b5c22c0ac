"""`compare RUN RUN`, `compare ID`, `compare ID --revision 1 3`: how workflows and their outputs differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Argument, Option

from conductor.errors import StorageError
from conductor.runs.state import RunState
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import Workflow
from storage import RunRecord, SessionStore
from studio.cli.opening import LAST, run_of, session_ids, session_of, stored
from studio.cli.options import App, Stored
from studio.cli.output.plan_diff import print_diff, print_text_diff, what_changes
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import print_lines, print_remark
from studio.session_file import newest_run

app = App()


@dataclass(frozen=True)
class _Side:
    """What is compared; a revision that never ran has no `run` and no `state`."""

    session: str
    revision: int
    workflow: Workflow
    run: RunRecord | None
    state: RunState | None

    @classmethod
    def of_run(cls, store: SessionStore, id: str) -> _Side:
        record = store.runs.find(id)
        revision, state = store.revisions.find(record.revision), store.runs.state(id)
        return cls(record.session, revision.number, state.workflow or revision.workflow, record, state)

    @classmethod
    def of_revision(cls, store: SessionStore, session: str, number: int) -> _Side:
        revisions = store.revisions.of_session(session)
        revision = next((each for each in revisions if each.number == number), None)
        if revision is None:
            raise StorageError(
                f"The session {session[:8]} has no revision {number}; it has {len(revisions)}, from 1."
            )
        runs = store.runs.of_session(session)
        run = next((each for each in runs if each.revision == revision.id), None)
        if run is not None:
            return cls.of_run(store, run.id)
        return cls(session, number, revision.workflow, None, None)

    @property
    def words(self) -> str:
        revision = f"revision {self.revision} of {self.session[:8]}"
        if self.run is None or self.state is None:
            return f"{revision}, not run"
        label = f" ({self.run.pool_label})" if self.run.pool_label else ""
        return f"{revision}, run {self.run.id[:8]}, {self.run.status}{label}"

    def output(self, step: int | None) -> str | None:
        output = None if self.state is None or step is None else self.state.steps[step].output
        return None if output is None else output.text

    @property
    def answer(self) -> str | None:
        return None if self.state is None else self.state.answer

    @property
    def shape(self) -> Shape:
        return {
            "session": self.session,
            "revision": self.revision,
            "run": None if self.run is None else self.run.id,
            "status": None if self.run is None else self.run.status,
            "label": None if self.run is None else self.run.pool_label,
            "answer": self.answer,
            "seconds": None if self.state is None else self.state.seconds,
        }


@app.command()
def compare(
    ctx: typer.Context,
    one: Annotated[
        str, Argument(metavar="ID", autocompletion=session_ids, help="A run, or a session: its newest run.")
    ],
    other: Annotated[
        str | None, Argument(metavar="[ID]", help="The other; default: the session's run before the newest.")
    ] = None,
    revision: Annotated[
        tuple[int, int] | None, Option(metavar="A B", help="These revisions, and their newest runs.")
    ] = None,
    *,
    options: Stored,
) -> int:
    """Compare two runs, or two revisions of a session.

    Prints what differs in their workflows, their steps' outputs and their answers.
    Words that went and came are red and green; without colours they stand in [-…-] and {+…+}.
    """
    if other is not None and revision is not None:
        ctx.fail("--revision compares revisions of one session; name one ID")
    with stored(options) as store:
        if revision is not None:
            session = session_of(store, one)
            old, new = (_Side.of_revision(store, session, number) for number in revision)
        elif other is not None:
            old, new = (_Side.of_run(store, _run(store, id)) for id in (one, other))
        else:
            old, new = (_Side.of_run(store, id) for id in _newest_two(store, session_of(store, one)))
    diff = plan_diff(old.workflow, new.workflow)
    if options.json:
        return options.show(_shape(old, new, diff))
    print_lines(f"{old.words}\n{new.words}\n")
    print_diff(diff)
    if diff.empty:
        print_lines("The workflows are the same.")
    if old.state is None or new.state is None:
        return 0
    for before, after in diff.rows:
        if before is not None and after is not None and after != new.workflow.final:
            _print_texts(f"Step {after + 1}", old.output(before), new.output(after))
    _print_texts("Answer", old.answer, new.answer)
    if old.answer is not None and old.answer == new.answer:
        print_remark("the answers are the same.")
    return 0


def _run(store: SessionStore, prefix: str) -> str:
    if prefix == LAST or store.sessions.named(prefix):
        return newest_run(store, session_of(store, prefix))
    return run_of(store, prefix)


def _newest_two(store: SessionStore, session: str) -> tuple[str, str]:
    match store.runs.of_session(session):
        case (new, old, *_):
            return old.id, new.id
    raise StorageError(f"The session {session[:8]} has no two runs; name another run, or --revision A B.")


def _print_texts(title: str, old: str | None, new: str | None) -> None:
    if old == new or (old is None and new is None):
        return
    print_lines(f"\n{title}")
    print_text_diff(old or "", new or "")


def _shape(old: _Side, new: _Side, diff: PlanDiff) -> Shape:
    """`{"old", "new", "same_answer", "steps"}`; steps from 0, null on the side that does not have one."""
    steps = []
    for before, after in diff.rows:
        one, other = old.output(before), new.output(after)
        same = before is not None and after is not None and diff.of_new[after].same
        steps.append({
            "old": before, "new": after, "what": None if same else what_changes(diff, before, after),
            "same_output": None if one is None or other is None else one == other,
            "old_output": one, "new_output": other,
        })  # fmt: skip
    answers = (old.answer, new.answer)
    same_answer = None if None in answers else old.answer == new.answer
    return {"old": old.shape, "new": new.shape, "same_answer": same_answer, "steps": steps}
