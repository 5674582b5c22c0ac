"""Planning and running in rounds does what a few lines state: its calls, their times, its limits, its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field

from hypothesis import assume, given
from hypothesis import strategies as st

from conductor.engine.meter import Meter
from conductor.errors import PlanError
from conductor.orchestration.rounds import orchestrate
from conductor.planner.conductor import PlanRequest
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.scope import RunScope
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Usage
from conductor.values.presets import Settings
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect
from tests.models.run_cases import NAMES, pool_of, scripts, workers
from tests.models.run_simulator import Queue, Script, Sent, SimOutput, Simulation, SimWorker, TieError
from tests.support.cases.property_cases import cases
from tests.support.runs.conductor_cases import BROKEN, KEEP, plan_text
from tests.support.runs.simulated_time import in_simulated_time, now

PLANNING = Usage(prompt_tokens=40, completion_tokens=7, cost=2.0)
Turn = Workflow | str
"""What a Conductor writes: a plan, "broken" or "keep"; or it "fails"."""
PlanCall = tuple[float, int, int, tuple[str, ...]]
"""When a Conductor was called, for which round, after how many invalid plans, with which responses."""


@dataclass
class Planner:
    """Plays the turns, each for `pauses` seconds; `plan_calls` is what it was sent."""

    turns: list[Turn]
    pauses: list[float]
    plan_calls: list[PlanCall] = field(default_factory=list)
    card: WorkerCard = WorkerCard(name="conductor", kind="model", strengths="plans", model="scripted")
    dialect: Dialect = "any"

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        turn, pause = self.turns[len(self.plan_calls)], self.pauses[len(self.plan_calls)]
        responses = tuple(each.response for each in request.responses)
        self.plan_calls.append((now(), request.round, len(request.rejected), responses))
        await asyncio.sleep(pause)
        if turn == "fails":
            raise PlanError("Out of order.")
        text = {"broken": BROKEN, "keep": KEEP}.get(turn) if isinstance(turn, str) else _text(turn)
        yield Delta(text or "")
        yield Completion(text or "", usage=PLANNING)


def _text(plan: Workflow) -> str:
    return plan_text(
        *((NAMES.index(step.worker), step.instruction, str(list(step.access))) for step in plan.steps)
    )


@dataclass
class Rounds:
    """The expected course. `ends` are the outcomes of the runs; `used` are the calls and tokens of all."""

    turns: Iterator[Turn]
    pauses: Iterator[float]
    settings: Settings
    workers: Mapping[str, SimWorker]
    script: Script
    plan_calls: list[PlanCall] = field(default_factory=list)
    requests: list[Sent] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    answer: str | None = None
    now: float = 0.0
    calls: int = 0
    tokens: int = 0

    def played(self) -> Rounds:
        earlier: list[tuple[Workflow, Mapping[int, SimOutput]]] = []
        sent, queues = [0] * len(self.script.tries), dict[str, Queue]()
        responses: tuple[str, ...] = ()
        for round in range(1, self.settings.rounds + 1):
            plan = self._planned(round, responses)
            if plan is None:
                return self
            run = Simulation(
                plan, self.workers, self.script, RunScope(), self.settings.budget, None, {}, earlier[::-1],
                lambda *_: 0, sent, queues, now=self.now, calls=self.calls, tokens=self.tokens,
            ).played()  # fmt: skip
            self.requests += run.requests
            self.now, self.calls, self.tokens = run.now, run.calls, run.tokens
            self.ends.append(run.outcome)
            earlier.append((plan, run.outputs))
            if run.outcome != "finished":
                return self
            self.answer = run.answer[1] if run.answer else self.answer
            if run.crossed is not None:
                return self
            responses = tuple(output.text for _, output in sorted(run.outputs.items()) if not output.is_empty)
        return self

    def _planned(self, round: int, responses: tuple[str, ...]) -> Workflow | None:
        budget = self.settings.budget
        for rejected in range(self.settings.attempts):
            if budget.calls is not None and self.calls >= budget.calls:
                return None
            self.calls += 1
            self.plan_calls.append((self.now, round, rejected, responses))
            self.now += next(self.pauses)
            turn = next(self.turns)
            if (budget.seconds is not None and self.now >= budget.seconds) or turn == "fails":
                return None
            self.tokens += 47
            if turn == "keep" and round > 1:
                return None
            if isinstance(turn, Workflow):
                return turn
        return None


@st.composite
def planned(draw: st.DrawFn) -> Workflow:
    """What a Conductor may write: up to three steps, often the same as in another round."""
    return Workflow.of(
        Step(
            instruction=f"Step {at} version {draw(st.integers(0, 1))}.",
            worker=draw(st.sampled_from(NAMES)),
            access=tuple(sorted(draw(st.sets(st.integers(0, at - 1))))) if at else (),
        )
        for at in range(draw(st.integers(1, 3)))
    )


LIMITS = {"calls": st.integers(1, 12), "seconds": st.integers(1, 60).map(lambda seconds: seconds + 2**-20)}


def _compare_rounds(data: st.DataObject) -> None:
    turns = data.draw(
        st.lists(planned() | st.sampled_from(["broken", "keep", "fails"]), min_size=9, max_size=9)
    )
    salt = data.draw(st.integers(0, 2**10))
    pauses = [1 + (salt * 977 + 31 * at) % 2**12 / 2**9 for at in range(9)]
    limits = data.draw(st.fixed_dictionaries({}, optional=LIMITS))
    settings = Settings(
        rounds=data.draw(st.integers(1, 3)), attempts=data.draw(st.integers(1, 3)), budget=Budget(**limits)
    )
    own, script = data.draw(workers()), data.draw(scripts(3))
    expected = Rounds(iter(turns), iter(pauses), settings, own, script)
    try:
        expected.played()
    except TieError:
        assume(False)
    wire: list[Sent] = []
    planner, pool = Planner(turns, pauses), pool_of(own, script, [0] * 3, wire)

    async def live() -> tuple[RequestState, int, int]:
        meter, state = Meter(settings.budget, clock=now), RequestState()
        request = RunRequest("Why?", settings=settings)
        async for event in orchestrate(request, conductor=planner, pool=pool, meter=meter):
            state = state.advance(event)
        return state, meter.calls, meter.used.tokens

    state, calls, tokens = in_simulated_time(live())
    assert planner.plan_calls == expected.plan_calls
    assert sorted(wire, key=lambda each: (each.at, each.step)) == sorted(
        expected.requests, key=lambda each: (each.at, each.step)
    )
    assert [run.status for run in state.runs] == expected.ends
    assert len(state.attempts) >= len(expected.plan_calls)
    assert state.answer == expected.answer
    assert (calls, tokens) == (expected.calls, expected.tokens)


@given(data=st.data())
@cases(400)
def test_rounds_go_as_expected(data: st.DataObject) -> None:
    _compare_rounds(data)
