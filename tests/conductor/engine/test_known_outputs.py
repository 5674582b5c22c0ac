"""Which output a step takes over, and which it never does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.known_outputs import KnownOutputs, OutputArchive
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkerError
from conductor.runs.state import RunState
from conductor.values.messages import Completion, Request, Sampling
from conductor.values.output import Output
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.worker_cases import played
from tests.support.runs.workflow_cases import workflow_of

RUNS = count(1)


@dataclass
class Answering:
    """Gives the answers in turn, None: it is out of order; then numbers them."""

    name: str = "alpha"
    answers: Sequence[Completion | None] = ()
    model: str = "m"
    defaults: Sampling = Sampling()
    fallback: str | None = None
    requests: list[Request] = field(default_factory=list)

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(
            name=self.name,
            kind="simulated",
            strengths="s",
            model=self.model,
            sampling=self.defaults,
            fallback=self.fallback,
        )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        self.requests.append(request)
        turn = len(self.requests) - 1
        answer = self.answers[turn] if turn < len(self.answers) else Completion(f"{self.name} {turn + 1}")
        if answer is None:
            raise WorkerError(f"{self.name} is out of order.")
        yield answer


async def ran(workflow: Workflow, pool: Pool, *before: RunState) -> RunState:
    """The next run, after runs that are given newest first."""
    return await played(workflow, pool, outputs=KnownOutputs.of(*before), run=f"run {next(RUNS)}")


def texts(state: RunState) -> list[str]:
    return [step.text for step in state.steps]


# -- no answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nothing",
    [
        Completion(""),
        Completion(" \n\t"),
        Completion("\u00a0\u3000"),
        Completion("\u200b"),
        Completion("\ufeff"),
        Completion("\u200d\u2060 \u00ad"),
        Completion("\u2800\u3164"),
        Completion("\x1b\x07"),
        Completion("", reasoning="Let me think."),
        Completion("", reasoning="Let me", finish_reason="length"),
        Completion("", finish_reason="length"),
    ],
)
async def test_an_answer_that_is_none_is_never_taken_over(nothing: Completion) -> None:
    alpha = Answering(answers=[nothing])
    pool, workflow = Pool(workers=(alpha,)), workflow_of(())
    first = await ran(workflow, pool)
    assert first.steps[0].status == "empty"
    second = await ran(workflow, pool, first)
    assert (texts(second), len(alpha.requests)) == (["alpha 2"], 2)
    assert texts(await ran(workflow, pool, second, first)) == ["alpha 2"]
    assert len(alpha.requests) == 2


@pytest.mark.parametrize("text", [".", "\u200b0", "\u0301", "👍", "-", "\u2028x", "\ufffd"])
async def test_an_answer_of_a_single_sign_is_one(text: str) -> None:
    alpha = Answering(answers=[Completion(text)])
    pool, workflow = Pool(workers=(alpha,)), workflow_of(())
    first = await ran(workflow, pool)
    assert first.steps[0].status == "finished"
    assert (await ran(workflow, pool, first)).steps[0].reused


# -- what stood in -----------------------------------------------------------------------------------


def ruled(rule: OnFailure | None) -> Workflow:
    return workflow_of(()).with_on_failure(0, rule)


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (lambda pool, workflow: (pool, workflow), True),
        (lambda pool, workflow: (pool, workflow.with_gate(0)), True),
        (lambda pool, workflow: (with_beta(pool, model="another"), workflow), False),
        (lambda pool, workflow: (with_beta(pool, defaults=Sampling(temperature=1)), workflow), False),
        (lambda pool, workflow: (pool, workflow.with_on_failure(0, OnFailure(fallback="beta"))), False),
        (lambda pool, workflow: (pool, workflow.with_on_failure(0, OnFailure(keep=True))), False),
        (lambda pool, workflow: (pool, workflow.with_on_failure(0, None)), False),
        (lambda pool, workflow: (pool, workflow.with_instruction(0, "Another.")), False),
    ],
)
async def test_a_rule_that_keeps_it_takes_over_what_just_this_fallback_gave(
    change: Callable[[Pool, Workflow], tuple[Pool, Workflow]], is_kept: bool
) -> None:
    pool = Pool(workers=(Answering(answers=[None]), Answering("beta")))
    workflow = ruled(OnFailure(fallback="beta", keep=True))
    first = await ran(workflow, pool)
    second = await ran(*reversed(change(pool, workflow)), first)
    assert (texts(second) == ["beta 1"]) == is_kept
    assert second.steps[0].reused == is_kept


def with_beta(pool: Pool, **changes: object) -> Pool:
    alpha, beta = pool.workers
    assert isinstance(beta, Answering)
    return Pool(workers=(alpha, replace(beta, **changes)))  # type: ignore[arg-type]


async def test_another_model_under_the_fallbacks_name_gives_no_output_of_the_old_one() -> None:
    pool = Pool(workers=(Answering(answers=[None, None]), Answering("beta")))
    workflow = ruled(OnFailure(fallback="beta", keep=True))
    first = await ran(workflow, pool)
    other = Answering("beta", answers=[Completion("of another model")], model="another")
    second = await ran(workflow, Pool(workers=(pool.workers[0], other)), first)
    assert (texts(second), second.outputs[0].fingerprint != first.outputs[0].fingerprint) == (
        ["of another model"],
        True,
    )


@pytest.mark.parametrize(("now", "is_kept"), [("beta", True), ("gamma", False), (None, False)])
async def test_what_a_fallback_of_the_pool_gave_stays_as_long_as_it_is_that(
    now: str | None, is_kept: bool
) -> None:
    def pool_with(fallback: str | None, alpha: Answering) -> Pool:
        others = {name: Answering(name) for name in ("beta", "gamma")}
        own = replace(alpha, fallback=fallback)
        first = own if fallback is None else FallbackWorker(own, others[fallback])
        return Pool(workers=(first, *others.values()))

    workflow = ruled(OnFailure(keep=True))
    first = await ran(workflow, pool_with("beta", Answering(answers=[None])))
    second = await ran(workflow, pool_with(now, Answering()), first)
    assert (texts(second) == ["beta 1"]) == is_kept


async def test_an_equal_step_never_takes_what_stood_in() -> None:
    alpha, beta = Answering(answers=[None]), Answering("beta")
    pool = Pool(workers=(alpha, beta))
    first = await ran(ruled(OnFailure(fallback="beta", keep=True)), pool)
    own = await ran(workflow_of((), worker="beta"), pool, first)
    assert texts(own) == ["beta 2"], "its own call, which is not in place of another worker"


async def test_the_request_of_a_fallback_is_shown_as_it_was_sent() -> None:
    alpha = Answering(answers=[None], defaults=Sampling(temperature=0.2))
    beta = Answering("beta", defaults=Sampling(temperature=0.9))
    pool = Pool(workers=(alpha, beta))
    workflow = ruled(OnFailure(fallback="beta", keep=True))
    first = await ran(workflow, pool)
    assert first.steps[0].request == beta.requests[0]
    assert (await ran(workflow, pool, first)).steps[0].request == beta.requests[0]


# -- whose -------------------------------------------------------------------------------------------


async def test_an_archive_gives_each_output_to_one_step_and_states_that_it_is_another_ones() -> None:
    alpha = Answering()
    pool, one = Pool(workers=(alpha,)), Step(instruction="Do it.", worker="alpha")
    first = await ran(Workflow.of([one, one]), pool)
    reusable = KnownOutputs(archive=OutputArchive(first.outputs.values()))
    third = await played(Workflow.of([one, one, one]), pool, outputs=reusable, run="on")
    # Styles that name the last step separate it from the others.
    assert texts(third) == ["alpha 1", "alpha 3", "alpha 2"]
    equal = "reused from an equal step"
    assert [step.reuse for step in third.steps] == [equal, None, equal]
    assert third.steps[2].reuse_origin == f"{equal}, step 2 of run {first.run[:8]}"


async def test_a_pin_takes_no_output_from_the_step_that_it_came_from() -> None:
    pool, one = Pool(workers=(Answering(),)), Step(instruction="Do it.", worker="alpha")
    first = await ran(Workflow.of([one, one]), pool)
    copied = Workflow.of([one, one]).add_step(one.model_copy(update={"pin": first.outputs[0]}), at=1)
    second = await ran(copied, pool, first)
    assert texts(second) == ["alpha 1", "alpha 1", "alpha 2"]
    assert [step.reuse for step in second.steps] == ["reused", None, "reused"]


async def test_another_worker_of_a_pinned_step_leaves_the_requests_behind_it_as_they_were() -> None:
    pool = Pool(workers=(Answering(), Answering("beta")))
    one = Step(instruction="Do it.", worker="alpha")
    workflow = Workflow.of([one, one.model_copy(update={"access": (0,)})])
    first = await ran(workflow, pool)
    pinned = workflow.with_pin(0, first.outputs[0]).with_worker(0, "beta")
    second = await ran(pinned, pool, first)
    assert (texts(second), second.steps[1].reuse) == (texts(first), "reused")


async def test_an_output_of_an_earlier_version_is_not_taken_over_and_the_forecast_states_it() -> None:
    alpha = Answering()
    pool, workflow = Pool(workers=(alpha,)), workflow_of(())
    first = await ran(workflow, pool)
    old = first.outputs[0].model_copy(update={"fingerprint": "0" * 64})
    reusable = KnownOutputs.of(replace(first, steps=(replace(first.steps[0], output=old),)))
    radius = blast_radius(workflow, BoundWorkflow.of(workflow, query="why?", pool=pool), reusable)
    assert (radius.runs, radius.outdated) == ({0}, {0})
    assert texts(await played(workflow, pool, outputs=reusable, run="on")) == ["alpha 2"]


@pytest.mark.parametrize(
    ("edit", "reuse"),
    [
        (lambda w: w.with_instruction(0, "Other.").with_instruction(2, "Do it."), (None, "reused", "equal")),
        (lambda w: w.move_step(2, 0), ("reused", "reused", "reused")),
        (lambda w: w.remove_step(0), ("reused", "reused")),
        (lambda w: w.remove_step(0).with_instruction(1, "Do it."), ("reused", "equal")),
    ],
)
async def test_whose_output_it_was_is_known_through_edits(
    edit: Callable[[Workflow], Workflow], reuse: tuple[str | None, ...]
) -> None:
    pool, one = Pool(workers=(Answering(),)), Step(instruction="Do it.", worker="alpha")
    last = one.model_copy(update={"instruction": "End."})
    workflow = Workflow.of([one, one, one.model_copy(update={"instruction": "Judge."}), last])
    first = await ran(workflow, pool)
    second = await ran(edit(workflow), pool, first)
    words = [step.reuse and step.reuse.replace("reused from an equal step", "equal") for step in second.steps]
    assert tuple(words) == (*reuse, "reused")


# -- how much is compared ----------------------------------------------------------------------------


async def test_an_edit_of_a_long_chain_looks_at_each_output_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 60
    pool = Pool(workers=(Answering(),))
    workflow = workflow_of((), *((at,) for at in range(steps - 1)))
    state = await ran(workflow, pool)
    looks = count()
    empty = Output.empty.fget
    assert empty is not None

    def looked_at(output: Output) -> bool:
        next(looks)
        return empty(output)

    monkeypatch.setattr(Output, "empty", property(looked_at))
    bound = BoundWorkflow.of(workflow.with_instruction(0, "Another."), query="why?", pool=pool)
    radius = blast_radius(workflow, bound, KnownOutputs.of(state))
    assert len(radius.runs) == steps
    assert next(looks) < 10 * steps
