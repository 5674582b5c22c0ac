"""The invariant of `tests/conductor/test_rerun_invariant.py` through every door that leads to the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from conductor.engine.experiments import EdgeTest, Swap
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import RunRequest
from conductor.runs.state import RunState, fold
from conductor.values.presets import Settings
from conductor.workflow.model import Step, Workflow
from storage import SessionStore, left_out_rows
from storage.database.schema import EVENTS, OUTPUTS
from storage.records import RequestSession
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench
from tests.support.cases.property_cases import cases
from tests.support.runs.rerun_cases import (
    Change,
    Plan,
    Wire,
    changes,
    check_cards,
    check_own,
    most_called,
    plans,
    remembered_pool,
)
from tests.support.runs.waiting import until
from tests.support.stores.session_files import exported, imported

pytestmark = pytest.mark.slow

SAMPLE = Step(instruction="Solve it.", worker="samples")
JOIN = Step(instruction="Join.", worker="words", access=(0, 1, 2))
THREE = Workflow.of([SAMPLE, SAMPLE, SAMPLE, JOIN])
SAMPLES = ["sample 1", "sample 2", "sample 3"]


@contextmanager
def opened(url: str, wire: Wire) -> Iterator[Workbench]:
    bench = Workbench.over(SessionStore.open(url), pool=remembered_pool(wire), conductor=OfflineConductor())
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def bench(url: str, wire: Wire) -> Iterator[Workbench]:
    with opened(url, wire) as bench:
        yield bench


def planned(bench: Workbench, workflow: Workflow) -> str:
    session = bench.ask("About 17.").id
    bench.editing.edit(session, workflow, note="By hand")
    return session


def ran(bench: Workbench, session: str, wire: Wire) -> RunState:
    """The session's next run to its end, past all gates; it calls what was forecast, its cards are true."""
    while True:
        radius, calls = bench.running.outlook(session).radius, len(wire.calls)
        bench.running.start(session)
        bench.activities.wait(session)
        (run, *_) = bench.store.runs.of_session(session)
        state = bench.state(run)
        assert fold(bench.store.runs.events(run.id)).outputs == state.outputs, "live and replay are one"
        check_cards(state, wire)
        called = {at for at, step in enumerate(state.steps) if step.started_at is not None}
        assert radius.called - radius.spared <= called <= most_called(radius, state)
        assert len(wire.calls) - calls == len(called)
        if state.status != "paused":
            return state


def texts(state: RunState) -> list[str]:
    return [step.text for step in state.steps]


def outputs_of(state: RunState) -> Mapping[int, str]:
    return {at: output.text for at, output in state.outputs.items()}


@cases(25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plan=plans(), chain=st.lists(changes(3), min_size=1, max_size=3))
def test_in_the_app_a_card_shows_what_its_step_was_sent_and_gave(
    plan: Plan, chain: list[list[Change]]
) -> None:
    wire, versions = Wire(), [plan]
    with TemporaryDirectory() as folder, opened(f"sqlite:///{Path(folder) / 'store.db'}", wire) as bench:
        session = planned(bench, plan.workflow)
        last = ran(bench, session, wire)
        for edits in chain:
            before, ids = last, versions[-1].ids
            for edit in edits:
                versions.append(edit.applied(versions, before.outputs if edit is edits[0] else {}))
                head = bench.required_head(session)
                if head.workflow != versions[-1].workflow:
                    bench.editing.edit(session, versions[-1].workflow, note="Edited", head=head)
            last = ran(bench, session, wire)
            check_own(before, ids, last, versions[-1].ids)
        calls = len(wire.calls)
        assert outputs_of(ran(bench, session, wire)) == outputs_of(last)
        assert len(wire.calls) == calls, "nothing was edited"


@pytest.mark.parametrize("door", ["again", "fork", "fork of the dead", "import", "another process"])
def test_nothing_edited_calls_nothing_and_changes_nothing(
    url: str, bench: Workbench, wire: Wire, door: str
) -> None:
    session = planned(bench, THREE)
    first = ran(bench, session, wire)
    if door.startswith("fork"):
        origin, session = session, bench.store.sessions.fork(session, bench.required_head(session).id).id
        if door == "fork of the dead":
            bench.store.sessions.delete(origin)
            bench.store.housekeeping.clean_up(older_than=0)
    elif door == "import":
        session = imported(bench.store, exported(bench.store, session)).id
    if door == "another process":
        with opened(url, wire) as other:
            again = ran(other, session, wire)
    else:
        again = ran(bench, session, wire)
    assert (texts(again), len(wire.calls)) == (texts(first), 4)


def test_a_fork_goes_on_from_the_newest_runs_of_its_origin(bench: Workbench, wire: Wire) -> None:
    session = planned(bench, THREE)
    ran(bench, session, wire)
    bench.running.start(session, bench.running.next_scope(session).model_copy(update={"kind": "force"}))
    bench.activities.wait(session)
    fork = bench.store.sessions.fork(session, bench.required_head(session).id).id
    assert texts(ran(bench, fork, wire))[:3] == ["sample 4", "sample 5", "sample 6"]


def test_continue_sends_what_stood_at_the_gate(bench: Workbench, wire: Wire) -> None:
    session = planned(bench, THREE.with_gate(3))
    state = ran(bench, session, wire)
    assert texts(state)[:3] == SAMPLES
    assert state.steps[3].request is not None
    assert [seen.response for seen in state.steps[3].request.seen] == SAMPLES
    assert len(wire.calls) == 4


def test_a_killed_run_goes_on_with_what_each_step_gave(
    url: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = THREE.with_gate(3)
    with opened(url, wire) as bench:
        session = planned(bench, workflow)
        with monkeypatch.context() as patched:
            for kind in ("FileLock", "ServerLock"):
                patched.setattr(f"storage.database.owner_lock.{kind}.hold", lambda _: None)
            bench.running.start(session)
            until(lambda: len(bench.store.runs.outputs(session)) == 3)
    with opened(url, wire) as bench:
        assert texts(ran(bench, session, wire))[:3] == SAMPLES
    assert len(wire.calls) == 4


def test_a_sample_is_removed_and_another_added(bench: Workbench, wire: Wire) -> None:
    session = planned(bench, THREE)
    ran(bench, session, wire)
    head = bench.required_head(session)
    less = head.workflow.remove_step(1)
    bench.editing.edit(session, less, note="Removed", head=head)
    assert texts(ran(bench, session, wire))[:2] == ["sample 1", "sample 3"]
    bench.store.revisions.undo(session)
    assert texts(ran(bench, session, wire))[:3] == SAMPLES
    head, calls = bench.required_head(session), len(wire.calls)
    more = head.workflow.add_step(head.workflow.steps[0], at=1)
    bench.editing.edit(session, more, note="Duplicated", head=head)
    assert texts(ran(bench, session, wire))[:4] == ["sample 1", "sample 4", "sample 2", "sample 3"]
    assert len(wire.calls) == calls + 2, "the new sample, and who reads them by other numbers"


def test_an_output_of_an_equal_step_is_taken_once_and_marked(bench: Workbench, wire: Wire) -> None:
    session = planned(bench, Workflow.of([SAMPLE, SAMPLE.model_copy(update={"instruction": "Other."})]))
    ran(bench, session, wire)
    head = bench.required_head(session)
    # The first step is another one now, and both of the others are what it was.
    edited = head.workflow.with_instruction(0, "New.").add_step(SAMPLE, at=1).add_step(SAMPLE, at=2)
    bench.editing.edit(session, edited, note="Edited", head=head)
    radius = bench.running.outlook(session).radius
    state = ran(bench, session, wire)
    assert [step.reuse for step in state.steps].count("reused from an equal step") <= 1
    assert sum(text == "sample 1" for text in texts(state)) == 1
    assert radius.equal_steps == {at for at, step in enumerate(state.steps) if step.of_equal_step}


def test_trials_show_what_was_sent(bench: Workbench, wire: Wire) -> None:
    session = planned(bench, THREE)
    ran(bench, session, wire)
    for experiment in (
        EdgeTest(edges=((0, 3), (1, 3))),
        EdgeTest(edges=((0, 3),), repeats=2),
        Swap(step=1, workers=("samples", "words"), repeats=2),
    ):
        live = bench.experiments.begin(session, experiment)
        assert live.work is not None
        live.work.result(60)
        for state in bench.experiments.states(live.record.id).values():
            check_cards(state, wire)
            # A swap runs its step alone.
            others = ["", ""] if experiment.kind == "swap" else ["sample 1", "sample 3"]
            assert [texts(state)[at] for at in (0, 2)] == others


def test_plans_of_an_evaluation_share_the_first_sample_with_the_first(bench: Workbench, wire: Wire) -> None:
    two = Workflow.of([SAMPLE, SAMPLE, JOIN.model_copy(update={"access": (0, 1)})])
    four = Workflow.of([SAMPLE, SAMPLE, SAMPLE, SAMPLE])
    variants = [
        FixedPlan(name=f"plan:{n}", source=str(n), workflow=each) for n, each in enumerate((THREE, two, four))
    ]
    data = DataSet("one", (Item(id="q", input="About 17.", target=("yes",)),))
    spec = EvaluationSpec(data="", digest="", planners=("conductor",))
    record = Evaluations(bench).add(data, [each.name for each in variants], spec, given_plans=variants)
    assert Evaluations(bench).run(record.id).failure is None
    samples = []
    for cell in scored_cells(bench.store, record.id):
        (run,) = bench.store.runs.of_session(cell.session)
        check_cards(bench.state(run), wire)
        samples.append([text for text in texts(bench.state(run)) if "sample" in text])
    assert sorted(samples, key=len) == [SAMPLES[:2], SAMPLES, [*SAMPLES, "sample 4"]]
    assert wire.calls.count("Solve it.") == 4


def test_a_session_that_the_api_began_is_rerun_as_any_other(bench: Workbench, wire: Wire) -> None:
    request = RunRequest("About 17.", Settings(), workflow=THREE)
    session, written = bench.runner.begin_session(request, RequestSession(), listen=lambda _: None)
    written.result(60)
    bench.activities.wait(session)
    assert texts(ran(bench, session, wire))[:3] == SAMPLES
    assert len(wire.calls) == 4


@pytest.mark.parametrize(
    ("damaged", "left"),
    [({EVENTS}, SAMPLES), ({OUTPUTS}, SAMPLES), ({EVENTS, OUTPUTS}, ["sample 1", "sample 4", "sample 3"])],
    ids=["the event", "the output", "both"],
)
def test_what_is_damaged_costs_its_own_step_and_no_more(
    bench: Workbench, wire: Wire, url: str, damaged: set[sqlalchemy.Table], left: list[str]
) -> None:
    session = planned(bench, THREE)
    ran(bench, session, wire)
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        torn = sqlalchemy.type_coerce('{"type":"step_finished","torn', sqlalchemy.Text)
        for table in damaged:
            column = table.c[table.name.removesuffix("s")]
            of_second = column.contains('"step":1') & column.contains("sample 2")
            if table is EVENTS:
                of_second &= column.contains("step_finished")
            connection.execute(table.update().where(of_second).values({column: torn}))
    engine.dispose()
    with opened(url, wire) as other, left_out_rows() as named:
        before = other.state(other.store.runs.of_session(session)[0])
        assert before.steps[1].status == ("interrupted" if EVENTS in damaged else "finished")
        other.running.outlook(session)
        assert named
        other.running.start(session)
        other.activities.wait(session)
        state = other.state(other.store.runs.of_session(session)[0])
    assert texts(state)[:3] == left
