"""A workflow that is changed in words: asked for, taken whole or in part, left, stored, and exported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.errors import EditConflict, PlanError, QueryError, StorageError, WorkflowError
from conductor.planner.corrections import LeftOut, revised_row_of
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.sessions.notes import AUTHOR
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text
from tests.support.stores.session_files import exported, imported

pytestmark = pytest.mark.slow

POOL = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
FIRST = Workflow.of(
    [Step(instruction="Find it.", worker="alpha"), Step(instruction="Say it.", worker="beta", access=(0,))]
)
CHANGED = plan_text((0, "Find it.", "[]"), (1, "Find it, too.", "[]"), (0, "Say it.", '["all"]'))
WISH = "use two readers and another writer"

Opened = Callable[..., Workbench]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens a workbench of Ada's whose Conductor answers so."""
    monkeypatch.setenv(AUTHOR, "Ada")
    benches: list[Workbench] = []

    def open_(*texts: str) -> Workbench:
        url = f"sqlite:///{tmp_path / f'{len(benches)}.db'}"
        conductor = ScriptedConductor(texts) if texts else OfflineConductor()
        benches.append(Workbench.over(SessionStore.open(url), pool=POOL, conductor=conductor))
        return benches[-1]

    yield open_
    for bench in benches:
        bench.close()


def session_of(bench: Workbench) -> str:
    session = bench.ask("Which?").id
    bench.editing.edit(session, FIRST, note="Written")
    return session


def test_nothing_changes_until_the_answer_is_taken(opened: Opened) -> None:
    bench = opened(CHANGED)
    session = session_of(bench)
    proposal = bench.changing.ask(session, f"  {WISH} ")
    assert bench.required_head(session).workflow == FIRST
    assert proposal.diff is not None
    assert (proposal.record.wish, proposal.record.author, proposal.open) == (WISH, "Ada", True)
    assert bench.changing.newest(session) == proposal
    request = bench.conductor.requests[0]  # type: ignore[attr-defined]
    assert (request.query, request.change.workflow, request.change.wish) == ("Which?", FIRST, WISH)
    # It is no alternative, and no plan of the session's.
    assert bench.store.plans.alternatives(session) == ()
    assert bench.store.plans.of_session(session) == ()
    # Of a simulated planner nothing is counted.
    assert bench.used_today.total().tokens is None

    revision = bench.changing.take(proposal.record.id)
    assert revision.workflow == proposal.diff.new == bench.required_head(session).workflow
    assert (revision.origin, revision.plan, revision.note) == (
        "conductor",
        proposal.record.plan,
        f"Took “{WISH}”",
    )
    assert bench.changing.newest(session) is None
    assert bench.store.changes.find(proposal.record.id).chosen == revision.id
    with pytest.raises(PlanError, match="decided already"):
        bench.changing.take(proposal.record.id)
    with pytest.raises(StorageError, match="decided already"):
        bench.changing.leave(proposal.record.id)


def test_a_part_of_the_answer_is_an_edit_of_the_person(opened: Opened) -> None:
    bench = opened(CHANGED)
    session = session_of(bench)
    proposal = bench.changing.ask(session, WISH)
    assert proposal.diff is not None
    added = next(row for row in proposal.changed_rows if proposal.diff.rows[row][0] is None)
    revision = bench.changing.take(proposal.record.id, [added])
    assert [step.worker for step in revision.workflow.steps] == ["alpha", "beta", "beta"]
    assert (revision.origin, revision.plan, revision.author) == ("human", None, "Ada")
    assert bench.store.changes.find(proposal.record.id).decision == "part"


def test_rows_that_make_no_workflow_are_refused_and_the_answer_stays_open(opened: Opened) -> None:
    bench = opened(CHANGED)
    session = session_of(bench)
    proposal = bench.changing.ask(session, WISH)
    with pytest.raises(WorkflowError, match="There is no row 10"):
        bench.changing.take(proposal.record.id, [9])
    assert bench.changing.newest(session) == proposal
    assert bench.required_head(session).workflow == FIRST


def test_an_answer_to_a_workflow_that_was_edited_since_is_not_taken(opened: Opened) -> None:
    bench = opened(CHANGED)
    session = session_of(bench)
    proposal = bench.changing.ask(session, WISH)
    edited = bench.editing.edit(session, FIRST.with_instruction(0, "Find all."), note="Edited")
    with pytest.raises(EditConflict, match="changed in the meantime"):
        bench.changing.take(proposal.record.id)
    assert bench.required_head(session) == edited
    assert bench.store.changes.find(proposal.record.id).decision is None


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ((BROKEN,), "9"),
        ((), "cannot change a plan from words"),
    ],
)
def test_an_answer_without_a_workflow_is_stored_with_the_reason(
    opened: Opened, texts: tuple[str, ...], problem: str
) -> None:
    bench = opened(*texts)
    session = session_of(bench)
    proposal = bench.changing.ask(session, WISH)
    assert proposal.diff is None
    assert not proposal.open
    assert problem in (proposal.problem or "")
    with pytest.raises(PlanError, match="no changed workflow to take"):
        bench.changing.take(proposal.record.id)
    assert bench.required_head(session).workflow == FIRST
    assert bench.changing.newest(session) == proposal
    bench.changing.leave(proposal.record.id)
    assert bench.changing.newest(session) is None


def test_a_wish_is_refused_where_it_is_empty_or_there_is_nothing_to_change(opened: Opened) -> None:
    bench = opened(CHANGED)
    with pytest.raises(QueryError, match="The change is empty"):
        bench.changing.begin(session_of(bench), "  ")
    with pytest.raises(WorkflowError):
        bench.changing.begin(bench.ask("Why?").id, WISH)


def test_the_plan_that_was_chosen_and_the_one_that_was_not_are_a_row_to_learn_from(opened: Opened) -> None:
    bench = opened(CHANGED)
    texts = {}
    for decision in ("taken", "left"):
        session = session_of(bench)
        proposal = bench.changing.ask(session, f"{decision}: {WISH}")
        if decision == "taken":
            bench.changing.take(proposal.record.id)
        else:
            bench.changing.leave(proposal.record.id)
    # One that is undecided is in no row.
    bench.changing.ask(session_of(bench), "undecided")
    for revised in bench.store.changes.read_revised():
        row = revised_row_of(revised)
        assert not isinstance(row, LeftOut)
        assert revised.wish in json.dumps(row["prompt"])
        texts[revised.decision] = [row[name][0]["content"] for name in ("chosen", "rejected")]
        assert row["metadata"]["wish"] == revised.wish
    assert texts["taken"] == texts["left"][::-1]
    assert "too" in texts["taken"][0]
    assert "too" not in texts["taken"][1]


def test_what_was_asked_for_is_in_the_sessions_file_and_goes_with_the_session(opened: Opened) -> None:
    bench = opened(CHANGED)
    session = session_of(bench)
    proposal = bench.changing.ask(session, WISH)
    bench.changing.take(proposal.record.id)
    bench.changing.ask(session, "again")
    copy = imported(bench.store, exported(bench.store, session))
    first, second = bench.store.changes.of_session(copy.id)
    assert (first.wish, first.decision, first.chosen) == (WISH, "taken", copy.head)
    assert bench.store.plans.alternatives(copy.id) == ()
    assert bench.changing.newest(copy.id) == bench.changing.find(second.id)
    bench.store.sessions.delete(copy.id)
    assert bench.store.housekeeping.remove_session(copy.id)
    assert bench.store.changes.of_session(session)[0].id == proposal.record.id
