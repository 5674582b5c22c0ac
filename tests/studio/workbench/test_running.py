"""What the next run calls is known before it, in words and exactly: whatever was edited, stopped or lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

from conductor.engine.estimate import Estimate
from conductor.engine.schedule import BlastRadius
from conductor.errors import WorkerError, WorkflowError
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import EDITED, FORCE, RunScope
from conductor.runs.state import RunState
from conductor.values.messages import Completion, Request
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from storage import SessionStore
from studio.workbench import Outlook, Workbench
from tests.support.cases.property_cases import cases
from tests.support.runs.waiting import until
from tests.support.runs.worker_cases import Named
from tests.support.runs.workflow_cases import PINNED, WORKERS, edits, workflow_of, workflows

UNKNOWN = Estimate(calls=0, tokens=None, cost=None, seconds=None)


@pytest.mark.parametrize(
    ("steps", "estimated", "expected"),
    [
        ("reused reused", UNKNOWN, "Nothing to run: every step's output is known."),
        ("runs", UNKNOWN, "The step will run."),
        ("runs spared", UNKNOWN, "All 2 steps will run; fewer if an output stays the same."),
        ("runs " * 1_000, UNKNOWN, "All 1,000 steps will run."),
        ("reused runs pinned", UNKNOWN, "1 of 3 steps will run, 1 reused, 1 pinned."),
        (
            "reused runs spared",
            UNKNOWN,
            "2 of 3 steps will run, 1 reused; fewer if an output stays the same.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=1834, cost=0.0041, seconds=6.04),
            "1 of 2 steps will run, 1 reused, ~1,800 tokens, ~$0.0041, ~6.0 s.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=12, cost=None, seconds=None),
            "1 of 2 steps will run, 1 reused, ~12 tokens.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=None, cost=0.00001, seconds=0.0004),
            "1 of 2 steps will run, 1 reused, <$0.0001, <1 ms.",
        ),
    ],
)
def test_what_a_rerun_will_do_is_one_sentence(steps: str, estimated: Estimate, expected: str) -> None:
    def at(*kinds: str) -> frozenset[int]:
        return frozenset(place for place, kind in enumerate(steps.split()) if kind in kinds)

    radius = BlastRadius(
        runs=at("runs", "spared"),
        outputs=dict.fromkeys(at("reused", "pinned"), PINNED),
        spared=at("spared"),
        edited=frozenset(),
        kept_steps=at("pinned"),
    )
    outlook = Outlook(
        scope=EDITED, steps=len(steps.split()), radius=radius, estimate=estimated, changed_pins=frozenset()
    )
    assert outlook.sentence == expected


@pytest.mark.parametrize(
    ("pins", "changed", "expected"),
    [
        ((0,), (0,), "1 of 3 steps will run, 1 reused, 1 pinned (inputs changed)."),
        ((0, 1), (1,), "1 of 3 steps will run, 2 pinned (1 with inputs changed)."),
    ],
)
def test_what_a_rerun_will_do_names_pinned_steps_whose_inputs_changed(
    pins: tuple[int, ...], changed: tuple[int, ...], expected: str
) -> None:
    radius = BlastRadius(
        runs=frozenset({2}),
        outputs=dict.fromkeys((0, 1), PINNED),
        spared=frozenset(),
        edited=frozenset(),
        kept_steps=frozenset(pins),
    )
    unknown = Estimate(calls=1, tokens=None, cost=None, seconds=None)
    outlook = Outlook(scope=EDITED, steps=3, radius=radius, estimate=unknown, changed_pins=frozenset(changed))
    assert outlook.sentence == expected


@dataclass
class Script:
    """How the workers answer the calls of one run, counted from 0: with a new text each (`fresh`) or by its
    instruction; those in `failing` fail, and from `hangs` on none ends. `calls` counts them.
    """

    fresh: bool = True
    failing: frozenset[int] = frozenset()
    hangs: int | None = None
    calls: int = 0
    answers: int = 0

    def begin(self, *, fresh: bool, failing: frozenset[int], hangs: int | None) -> None:
        self.fresh, self.failing, self.hangs, self.calls = fresh, failing, hangs, 0


@dataclass
class Scripted(Named):
    """Answers by the script, which all workers share."""

    name: str
    script: Script = field(default_factory=Script)

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        script = self.script
        number, script.calls, script.answers = script.calls, script.calls + 1, script.answers + 1
        if script.hangs is not None and number >= script.hangs:
            await asyncio.sleep(3600)
        if number in script.failing:
            raise WorkerError("It fails.")
        yield Completion(text=f"answer {script.answers}" if script.fresh else f"to {request.instruction}")


@contextmanager
def opened(folder: str, script: Script) -> Iterator[Workbench]:
    pool = Pool(workers=tuple(Scripted(name, script) for name in WORKERS))
    store = SessionStore.open(f"sqlite:///{Path(folder) / 'store.db'}")
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    try:
        yield bench
    finally:
        bench.close()


def state_of(bench: Workbench, session: str) -> RunState:
    last = bench.store.runs.latest(session)
    assert last is not None
    return bench.state(last)


def called(state: RunState) -> set[int]:
    return {at for at, step in enumerate(state.steps) if step.started_at is not None}


def changed(workflow: Workflow, data: st.DataObject) -> Workflow:
    """The workflow after some edits, with other gates, pins and rules for failures."""
    for edit in data.draw(edits(min_size=0, max_size=2)):
        try:
            workflow = workflow if edit.kind == "on_failure" else edit.applied(workflow)
        except WorkflowError:
            continue
    for step in data.draw(st.sets(st.integers(0, workflow.final), max_size=2)):
        workflow = workflow.with_gate(step, not workflow.steps[step].gate)
    for step in sorted(workflow.pins):
        if data.draw(st.booleans()):
            workflow = workflow.with_pin(step, None)
    if data.draw(st.booleans()):
        step = data.draw(st.integers(0, workflow.final))
        rule = OnFailure(
            retries=data.draw(st.integers(0, 2)),
            pause=0,
            fallback=data.draw(st.sampled_from([None, *WORKERS])),
            output=data.draw(st.sampled_from([None, "", "nothing"])),
        )
        workflow = workflow.with_on_failure(step, rule.of_worker(workflow.steps[step].worker))
    return workflow


def scope_of(bench: Workbench, session: str, workflow: Workflow, data: st.DataObject) -> RunScope:
    """What a person chooses: the button, a rerun that passes no gate, or an entry of the menu."""
    kind = data.draw(st.sampled_from(["next", "next", "next", "held", "force", "from", "to", "only"]))
    if kind in ("next", "held"):
        return bench.running.next_scope(session, proceed=False if kind == "held" else None)
    step = None if kind == "force" else data.draw(st.integers(0, workflow.final))
    return RunScope(kind=kind, step=step)


@pytest.mark.slow
@cases(40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(workflow=workflows(max_steps=5), data=st.data())
def test_what_is_forecast_is_called(workflow: Workflow, data: st.DataObject) -> None:
    script, session = Script(), ""
    with TemporaryDirectory() as folder:
        for _ in range(data.draw(st.integers(1, 3))):
            # Each turn of the loop is a process: the next one finds what this one stored.
            with opened(folder, script) as bench:
                session = session or bench.ask("Which?").id
                for _ in range(data.draw(st.integers(1, 3))):
                    workflow = changed(workflow, data)
                    if (head := bench.store.revisions.head(session)) is None or head.workflow != workflow:
                        bench.editing.edit(session, workflow, note="Edited")
                    if not run_once(bench, session, workflow, script, data):
                        break


def run_once(bench: Workbench, session: str, workflow: Workflow, script: Script, data: st.DataObject) -> bool:
    """Compare the forecast of a run with what it calls; False where the process is to end while it runs."""
    scope = scope_of(bench, session, workflow, data)
    fresh = data.draw(st.booleans())
    failing = frozenset(data.draw(st.sets(st.integers(0, 4), max_size=2)))
    hangs = data.draw(st.one_of(st.none(), st.none(), st.integers(0, 3)))
    try:
        outlook = bench.running.outlook(session, scope)
        script.begin(fresh=fresh, failing=failing, hangs=hangs)
        live = bench.running.start(session, scope)
    except WorkflowError:
        return True  # a step that is pinned, or whose inputs are unknown, cannot be run alone
    radius = outlook.radius
    if hangs is not None:
        until(lambda: live.done.is_set() or script.calls > hangs)
        if not live.done.is_set() and data.draw(st.booleans()):
            return False
        bench.running.stop_work(session)
    bench.activities.wait(session)
    state = state_of(bench, session)
    started, failed = called(state), {at for at, step in enumerate(state.steps) if step.status == "failed"}
    blocked = {at for at, step in enumerate(state.steps) if step.status == "blocked"}
    note(f"{scope} of {workflow}: {state.status}, {[step.status for step in state.steps]}, {radius}")
    assert started <= radius.runs
    assert outlook.estimate.at_least or script.calls <= len(started)
    # Of a stopped run the other steps are only waiting, also where its answer was known already.
    if state.status == "cancelled" or any(step.status == "cancelled" for step in state.steps):
        return True
    assert script.calls >= len(started)
    assert set(state.held).issubset(radius.behind)
    if fresh:
        assert started == radius.called - blocked
        assert bool(radius.behind - blocked) == (state.status == "paused") or failed
        assert failed or outlook.estimate.calls == script.calls or outlook.estimate.at_least
        assert failed or script.calls >= outlook.estimate.calls
    elif not blocked:
        assert radius.called - radius.spared <= started
    return True


@pytest.mark.slow
@pytest.mark.parametrize("scope", [FORCE, RunScope(kind="from", step=1), RunScope(kind="only", step=1)])
def test_a_rerun_after_a_stop_calls_what_the_stopped_run_was_to_call(scope: RunScope, tmp_path: Path) -> None:
    script, steps = Script(), workflow_of((), (0,), (1,), (2,))
    with opened(str(tmp_path), script) as bench:
        session = bench.ask("Which?").id
        bench.editing.edit(session, steps, note="Written")
        bench.running.start(session)
        bench.activities.wait(session)
        script.begin(fresh=True, failing=frozenset(), hangs=0 if scope.kind == "only" else 1)
        bench.running.start(session, scope)
        until(lambda: script.calls > (script.hangs or 0))
        bench.running.stop(session)
        bench.activities.wait(session)
    with opened(str(tmp_path), script) as bench:
        outlook = bench.running.outlook(session)
        left = {"force": {1, 2, 3}, "from": {2, 3}, "only": {1, 2, 3}}[scope.kind]
        assert outlook.radius.runs == left
        script.begin(fresh=True, failing=frozenset(), hangs=None)
        bench.running.start(session)
        bench.activities.wait(session)
        assert called(state_of(bench, session)) == left
        assert bench.running.outlook(session).calls == "no step"


@pytest.mark.slow
def test_a_gate_parts_what_is_called_now_from_what_continue_calls(tmp_path: Path) -> None:
    script, steps = Script(), workflow_of((), (0,), (1,), (2,), (3,)).with_gate(3)
    with opened(str(tmp_path), script) as bench:
        session = bench.ask("Which?").id
        bench.editing.edit(session, steps.ungated, note="Written")
        bench.running.start(session)
        bench.activities.wait(session)
        bench.editing.edit(session, steps, note="Gate")
        outlook = bench.running.outlook(session, FORCE)
        assert outlook.calls == "3 steps now, 2 after the gate"
        assert outlook.sentence.startswith("3 of 5 steps will run now, 2 after the gate, ")
        bench.running.start(session, FORCE)
        bench.activities.wait(session)
        assert bench.running.outlook(session).calls == "2 steps"
        assert bench.running.outlook(session, bench.running.next_scope(session, proceed=False)).calls == (
            "no step now, 2 after the gate"
        )
        script.begin(fresh=True, failing=frozenset(), hangs=None)
        bench.running.start(session)
        bench.activities.wait(session)
        assert (script.calls, state_of(bench, session).status) == (2, "finished")


@pytest.mark.slow
def test_a_stopped_run_whose_answer_is_known_has_finished_and_is_continued(tmp_path: Path) -> None:
    script, steps = Script(), workflow_of((), (0,), ())
    with opened(str(tmp_path), script) as bench:
        session = bench.ask("Which?").id
        bench.editing.edit(session, steps, note="Written")
        script.begin(fresh=True, failing=frozenset({0}), hangs=None)
        bench.running.start(session)
        bench.activities.wait(session)
        script.begin(fresh=True, failing=frozenset(), hangs=0)
        bench.running.start(session)
        until(lambda: script.calls > 0)
        bench.running.stop(session)
        bench.activities.wait(session)
        state = state_of(bench, session)
        assert state.status == "finished"
        assert [step.status for step in state.steps] == ["cancelled", "waiting", "finished"]
        script.begin(fresh=True, failing=frozenset(), hangs=None)
        assert bench.running.outlook(session).radius.runs == {0, 1}
        bench.running.start(session)
        bench.activities.wait(session)
        assert called(state_of(bench, session)) == {0, 1}
