"""Whatever a run meets, it does what a simulation does: the same calls at the same times, the same end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation
from conductor.engine.estimate import estimate
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.engine.schedule import blast_radius
from conductor.runs.events import EVENT
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState, advance, fold
from conductor.values.budget import Budget, Used
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from tests.models.run_cases import BUDGETS, NAMES, RULES, output_of, plans, pool_of, scripts, workers
from tests.models.run_simulator import Script, Sent, SimOutput, Simulation, SimWorker, TieError
from tests.support.cases.property_cases import cases
from tests.support.runs.simulated_time import in_simulated_time, now

QUERY = "Why?"


@dataclass
class Both:
    """The product and the simulation, run after run with edits between."""

    workflow: Workflow
    workers: Mapping[str, SimWorker]
    script: Script

    def __post_init__(self) -> None:
        self.sent, self.sim_sent = [0] * len(self.workflow), [0] * len(self.workflow)
        self.states: list[RunState] = []
        self.earlier: list[tuple[Workflow, Mapping[int, SimOutput]]] = []
        self.pins: dict[int, SimOutput] = {}
        self.earlier_pins: list[dict[int, SimOutput]] = []
        self.scope = RunScope()

    def edit(self, data: st.DataObject) -> None:
        """One edit of the workflow, whose steps stay where they are."""
        workflow, number = self.workflow, data.draw(st.integers(0, 999))
        at = number % len(workflow)
        kinds = ["instruction", "worker", "access", "gate", "rule", "pin", "hand", "unpin", "back"]
        match data.draw(st.sampled_from(kinds)):
            case "instruction":
                workflow = workflow.with_instruction(at, f"Step {at} version {number}.")
            case "worker":
                workflow = workflow.with_worker(at, NAMES[number % 3])
            case "access":
                workflow = workflow.with_access(at, [read for read in range(at) if number >> read & 1])
            case "gate":
                workflow = workflow.with_gate(at, not workflow.steps[at].gate)
            case "rule":
                rule, own = data.draw(RULES), workflow.steps[at].on_failure
                if rule is not None and own is not None and number % 2:
                    rule = own.model_copy(update={"output": rule.output})
                rule = None if rule is None else rule.of_worker(workflow.steps[at].worker)
                workflow = workflow.with_on_failure(at, rule)
            case "pin" if at in self.earlier[-1][1]:
                self.pins[at] = self.earlier[-1][1][at]
                workflow = workflow.with_pin(at, self.states[-1].outputs[at])
            case "hand":
                self.pins[at] = SimOutput(
                    None, f"By hand {number}.", by="hand", is_own=False, is_by_hand=True
                )
                workflow = workflow.with_pin(at, output_of(self.pins[at], at))
            case "back":
                before = number % len(self.earlier)
                workflow, self.pins = self.earlier[before][0], dict(self.earlier_pins[before])
            case _:
                self.pins.pop(at, None)
                workflow = workflow.with_pin(at, None)
        self.workflow = workflow

    def next_scope(self, data: st.DataObject) -> RunScope:
        """What the next run is to do; one that waits at its gates may go on."""
        if self.states and self.states[-1].status == "paused" and data.draw(st.booleans()):
            held = [at for at, step in enumerate(self.states[-1].steps) if step.status == "paused"]
            workflow, outputs = self.earlier[-1]
            done = {*self.scope.done, *(outputs.keys() - workflow.pins.keys())}
            update = {"passes": tuple(held), "done": tuple(sorted(done))}
            expected = self.scope.model_copy(update=update)
            assert continuation(self.states[-1], self.workflow) == expected
            return expected
        kind = data.draw(st.sampled_from(["edited", "edited", "force", "from", "to"]))
        whole = kind in ("edited", "force")
        return RunScope(kind=kind, step=None if whole else data.draw(st.integers(0, self.workflow.final)))

    def run(self, data: st.DataObject) -> None:
        self.scope, budget = self.next_scope(data), data.draw(BUDGETS)
        is_cancelled = data.draw(st.integers(0, 7)) == 0
        cancel_at = data.draw(st.integers(1, 30)) + 3 * 2**-20 if is_cancelled else None
        wire: list[Sent] = []
        pool = pool_of(self.workers, self.script, self.sent, wire)
        bound = BoundWorkflow.of(self.workflow, query=QUERY, pool=pool)

        def size(at: int, outputs: Mapping[int, SimOutput]) -> int:
            request = bound.request(at, {read: output_of(output, read) for read, output in outputs.items()})
            return -(-sum(len(char.encode()) == 1 or 4 for char in "".join(request.written)) // 4)

        simulation = Simulation(
            self.workflow, self.workers, self.script, self.scope, budget, cancel_at, self.pins,
            self.earlier[::-1], size, self.sim_sent,
        )  # fmt: skip
        try:
            simulation.played()
        except TieError:
            assume(False)
        state, used = in_simulated_time(self._live(bound, pool, budget, cancel_at))
        self.earlier.append((self.workflow, simulation.outputs))
        self.earlier_pins.append(dict(self.pins))
        self.states.append(state)
        self._compare(simulation, state, used, wire)

    async def _live(
        self, bound: BoundWorkflow, pool: Pool, budget: Budget, cancel_at: float | None
    ) -> tuple[RunState, Used]:
        """The product's run; its replay and its forecast are compared with it."""
        meter, reusable = Meter(budget, clock=now), KnownOutputs.of(*reversed(self.states))
        radius = blast_radius(None, bound, reusable, scope=self.scope)
        forecast = estimate(bound, radius.called, (), cards=pool.cards, outputs=radius.outputs)
        name = f"run {len(self.states)}"
        run = WorkflowRun(bound, pool, run=name, reusable=reusable, scope=self.scope, meter=meter)
        if cancel_at is not None:
            asyncio.get_running_loop().call_later(cancel_at, run.cancel)
        live, events = RunState(), []
        async for event in run.events():
            live = advance(live, event)
            events.append(EVENT.validate_json(EVENT.dump_json(event)))
        assert repr(fold(events)) == repr(live), "a replay gives another state"
        assert sum(event.type == "budget_exceeded" for event in events) == (live.crossing is not None)
        called = {at for at, step in enumerate(live.steps) if step.started_at is not None}
        if (
            live.crossing is None
            and cancel_at is None
            and all(step.status != "failed" for step in live.steps)
        ):
            spared = {at for at in radius.behind & radius.spared if live.steps[at].reused}
            assert radius.called - radius.spared <= called <= (radius.runs if spared else radius.called)
            assert live.status != "paused" or radius.behind.issuperset(live.held)
            assert called != radius.called or forecast.calls == len(called)
        return live, meter.used

    def _compare(self, simulation: Simulation, state: RunState, used: Used, wire: list[Sent]) -> None:
        def ordered(sent: list[Sent]) -> list[Sent]:
            return sorted(sent, key=lambda each: (each.at, each.step))

        assert ordered(wire) == ordered(simulation.requests)
        for at, step in enumerate(state.steps):
            assert (step.status, step.text) == simulation.steps.get(at, ("waiting", ""))
            assert step.reused == (at in simulation.reused)
            assert (step.started_at is not None) == (at in simulation.started)
            assert (step.kept_because is not None) == (at in self.pins and at in simulation.outputs)
            own = simulation.outputs.get(at)
            assert (step.output is None) == (own is None)
            if at in simulation.started and step.output is not None and own is not None:
                assert (step.usage.total, step.output.hand is not None) == (own.tokens, own.is_by_hand)
                assert (step.output.stand_in is not None) == (own.rule is not None)
                assert step.output.instead_of == (None if own.is_own else self.workflow.steps[at].worker)
        answer = None if state.answer_step is None else (state.answer_step, state.answer)
        assert (state.status, answer) == (simulation.outcome, simulation.answer)
        assert (state.crossing and state.crossing.limit) == simulation.crossed
        assert (used.calls, used.tokens) == (simulation.calls, simulation.tokens)
        assert used.cost == pytest.approx(simulation.cost)


@pytest.fixture(autouse=True, scope="module")
def _broken_workers_fill_no_log() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@given(data=st.data())
@cases(1_000)
def test_a_run_does_what_the_simulation_states(data: st.DataObject) -> None:
    _compare_runs(data)


@pytest.mark.thorough
@given(data=st.data())
@cases(5_000, suppress_health_check=list(HealthCheck))
def test_a_run_does_it_in_thousands_of_cases(data: st.DataObject) -> None:
    _compare_runs(data)


def _compare_runs(data: st.DataObject) -> None:
    plan = data.draw(plans())
    both = Both(plan, data.draw(workers()), data.draw(scripts(len(plan))))
    both.run(data)
    for _ in range(data.draw(st.integers(0, 3))):
        for _ in range(data.draw(st.integers(0, 2))):
            both.edit(data)
        both.run(data)
