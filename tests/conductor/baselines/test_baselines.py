"""Each baseline writes its method's workflow: the number of calls, what each call sees, its prompt's layout.

The references: togethercomputer/MoA `advanced-moa.py` and `utils.py`; self-consistency; Smoothie.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

import conductor
from conductor.baselines.methods import BASELINES
from conductor.baselines.named import planner_named
from conductor.baselines.options import OURS
from conductor.errors import PlanError
from conductor.orchestration.rounds import offered
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import plan
from conductor.runs.events import PlanningFailed, WorkflowPlanned
from conductor.runs.state import RunState
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow

NAMES = ("alpha", "beta", "gamma")
QUERY = "What is 6 times 7?"


def answer_of(request: Request) -> str:
    return f"answer to {sum(len(message.content) for message in request.messages)} characters"


def pool_of(names: Sequence[str] = NAMES) -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name, answer=answer_of) for name in names))


def planned(name: str, *, pool: Pool | None = None, max_steps: int = 5) -> Workflow:
    request = PlanRequest(query=QUERY, workers=offered(pool or pool_of(), Settings()), max_steps=max_steps)

    async def last() -> object:
        async for event in plan(request, conductor=planner_named(name), run="r"):
            end = event
        return end

    end = asyncio.run(last())
    if isinstance(end, PlanningFailed):
        raise PlanError(end.message)
    assert isinstance(end, WorkflowPlanned)
    assert end.report.workflow is not None
    return end.report.workflow


def run_and_requests(name: str, pool: Pool) -> tuple[RunState, list[Request]]:
    """The run of the baseline's workflow and all requests that workers got."""
    run = conductor.ask(QUERY, pool=pool, settings=Settings(planner=name))
    return run, [request for worker in pool.workers for request in getattr(worker, "requests", ())]


@pytest.mark.parametrize(
    ("name", "workers", "access"),
    [
        ("worker:beta", "b", [()]),
        ("baseline:reflect:alpha", "aaaaa", [(), (0,), (1,), (2,), (3,)]),
        ("baseline:reflect:gamma,turns=2", "gg", [(), (0,)]),
        ("baseline:vote", "abgv", [(), (), (), (0, 1, 2)]),
        ("baseline:vote:workers=gamma+alpha", "gav", [(), (), (0, 1)]),
        ("baseline:self-consistency:beta,n=3", "bbbv", [(), (), (), (0, 1, 2)]),
        ("baseline:smoothie", "abgs", [(), (), (), (0, 1, 2)]),
        ("baseline:moa:layers=2", "abga", [(), (), (), (0, 1, 2)]),
        ("baseline:moa:aggregator=gamma", "abgabgg", [(), (), (), *[(0, 1, 2)] * 3, (3, 4, 5)]),
    ],
)
def test_a_baseline_writes_the_workflow_of_its_method(
    name: str, workers: str, access: list[tuple[int, ...]]
) -> None:
    workflow = planned(name)
    assert "".join(step.worker[0] for step in workflow.steps) == workers
    assert [step.access for step in workflow.steps] == access


def test_mixture_of_agents_makes_the_references_calls() -> None:
    """Three layers of six proposers: 13 calls; the first layer sees the question only, each later call a
    system message with the whole layer before it as a numbered list, and the question.
    """
    names = [f"w{number}" for number in range(6)]
    run, requests = run_and_requests("baseline:moa:layers=3", pool_of(names))
    assert run.status == "finished"
    sent = Counter(tuple((message.role, message.content) for message in each.messages) for each in requests)
    texts = [run.outputs[at].text for at in range(12)]

    def reading(layer: list[str]) -> tuple[tuple[str, str], ...]:
        numbered = "".join(f"\n{number}. {text}" for number, text in enumerate(layer, start=1))
        return (
            ("system", f"{OURS['moa']['aggregate']}\n\nResponses from models:{numbered}"),
            ("user", QUERY),
        )

    assert sent == {(("user", QUERY),): 6, reading(texts[:6]): 6, reading(texts[6:]): 1}
    assert not any(name in content for messages in sent for _, content in messages for name in names)


def test_the_sampling_of_a_proposer_is_set_and_the_aggregators_is_its_own() -> None:
    steps = planned("baseline:moa:layers=2,temperature=0.7,max_tokens=512").steps
    assert {(step.sampling.temperature, step.sampling.max_tokens) for step in steps[:-1]} == {(0.7, 512)}
    assert steps[-1].sampling.unset


def test_one_layer_of_proposals_is_paid_once_for_all_baselines() -> None:
    """Calls made are the distinct fingerprints: what worker, vote, Smoothie and the first layer of
    Mixture-of-Agents have in common is called once.
    """
    pool = pool_of()
    before: list[RunState] = []
    for name in (
        "worker:alpha",
        "baseline:vote",
        "baseline:smoothie",
        "baseline:moa:layers=2",
        "worker:gamma",
    ):
        before.append(conductor.run(planned(name, pool=pool), QUERY, pool=pool, after=before))
    requests = [request for worker in pool.workers for request in getattr(worker, "requests", ())]
    calls = Counter(tuple(message.content for message in request.messages) for request in requests)
    assert len(requests) == 4  # three proposals and one aggregation
    assert calls[(QUERY,)] == 3
    fingerprints = {output.fingerprint for run in before for output in run.outputs.values()}
    computed = {run.outputs[3].fingerprint for run in before[1:3]}
    assert len(fingerprints - computed) == len(requests)


def test_the_samples_of_one_worker_are_calls_of_their_own() -> None:
    pool = pool_of(["alpha"])
    run, requests = run_and_requests("baseline:self-consistency:alpha,n=4", pool)
    assert run.status == "finished"
    assert [[m.content for m in request.messages] for request in requests] == [[QUERY]] * 4
    assert len({run.outputs[at].fingerprint for at in range(4)}) == 1, "they are sent the same"
    again = conductor.run(
        planned("baseline:self-consistency:alpha,n=4", pool=pool), QUERY, pool=pool, after=run
    )
    assert [again.outputs[at] for at in range(4)] == [run.outputs[at] for at in range(4)]
    assert not any(step.of_equal_step for step in again.steps)


def test_self_reflection_reads_its_own_last_answer_only() -> None:
    pool = pool_of(["alpha"])
    run, requests = run_and_requests("baseline:reflect:alpha", pool)
    assert len(requests) == 5
    assert [len(request.seen) for request in requests] == [0, 1, 1, 1, 1]
    assert [request.seen[0].response for request in requests[1:]] == [run.outputs[at].text for at in range(4)]


def test_samples_are_drawn_at_a_temperature() -> None:
    for name, temperature in (
        ("baseline:self-consistency:alpha", 0.7),
        ("baseline:self-consistency:alpha,temperature=0.2", 0.2),
    ):
        steps = planned(name).steps[:-1]
        assert {step.sampling.temperature for step in steps} == {temperature}
        assert len(steps) == 5


@pytest.mark.slow
def test_a_random_plan_is_the_same_for_the_same_question_and_seed() -> None:
    assert planned("baseline:random") == planned("baseline:random")
    plans = {planned(f"baseline:random:seed={seed}").model_dump_json() for seed in range(8)}
    assert len(plans) > 4
    assert all(len(planned(f"baseline:random:seed={seed}", max_steps=3)) <= 3 for seed in range(8))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("baseline:nothing", "There is no planner 'baseline:nothing'"),
        ("baseline:reflect", "needs a worker's name"),
        ("baseline:reflect:delta", "No worker named 'delta'"),
        ("baseline:vote:turns=3", "takes no 'turns'"),
        ("baseline:vote:alpha", "takes no 'worker'"),
        ("baseline:moa:layers=1", "layers is wrong"),
        ("baseline:smoothie:embeddings=yes", "There is no endpoint for embeddings"),
        ("baseline:moa:layers=two", "layers is wrong"),
        ("baseline:moa:aggregator=delta", "No worker named 'delta'"),
        ("baseline:moa:layers=600", "at most 1,000 steps"),
    ],
)
def test_a_wrong_name_or_option_is_refused_with_its_reason(name: str, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        planned(name)


def test_a_later_round_keeps_the_answer() -> None:
    pool = pool_of()
    run = conductor.ask(QUERY, pool=pool, settings=Settings(planner="baseline:vote", rounds=3))
    assert (run.round, run.status) == (1, "finished")


@pytest.mark.slow
def test_a_masrouter_draws_the_same_group_for_the_same_question_and_keeps_to_what_is_given() -> None:
    assert planned("baseline:masrouter") == planned("baseline:masrouter")
    plans = {planned(f"baseline:masrouter:seed={seed}").model_dump_json() for seed in range(8)}
    assert len(plans) == 8
    for seed in range(8):
        workflow = planned(f"baseline:masrouter:mode=debate,agents=2,workers=gamma+alpha,seed={seed}")
        assert [step.access for step in workflow.steps] == [(), (), (1,), (0,), (2, 3)]
        assert set(workflow.workers()) <= {"gamma", "alpha"}
    run, requests = run_and_requests(
        "baseline:masrouter:mode=reflection,agents=2,workers=beta,temperature=0.3", pool_of()
    )
    assert run.status == "finished"
    assert {request.sampling.temperature for request in requests} == {0.3}


def test_the_rule_planner_is_a_baseline_too() -> None:
    assert planned("baseline:rules") == planned("rules")


def test_every_baseline_states_what_it_is() -> None:
    for entry in BASELINES.values():
        assert entry.title
        assert entry.about.endswith(".")
