"""Rollouts of a large Conductor: completions read as serving reads them, run in one or two rounds, rewarded.

Knows the recipe, the parser and the judge; knows no library that trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conductor.errors import WorkerError
from conductor.evaluation.items import Item
from conductor.learning.gauges import Gauges, gauges_of
from conductor.learning.grpo.alarm import ONE_STEP_SHARE, steps_needed
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.reward import Outcome, Reward, WorkflowJudge
from conductor.planner.conductor import PlanRequest
from conductor.planner.parsing.parse import parse
from conductor.text.formatting import quantity
from conductor.workflow.plan_report import PlanReport

DEAD = 0.5
"""The share of failed workflows in a step from which on the workers or the scorer are to blame."""


@dataclass(frozen=True)
class Rollout:
    """A completion for `request`, and what it came to."""

    item: Item
    request: PlanRequest
    report: PlanReport
    outcome: Outcome

    @property
    def next_request(self) -> PlanRequest:
        """What the second round asks: to look back at what was answered, or for a plan that is valid."""
        if self.report.workflow is None:
            return self.request.model_copy(update={"rejected": (*self.request.rejected, self.report)})
        seen = {"previous": self.report.workflow, "responses": self.outcome.responses}
        return self.request.model_copy(update={"round": self.request.round + 1, **seen})


async def rolled_out(
    recipe: GrpoRecipe,
    judge: WorkflowJudge,
    requests: Sequence[tuple[Item, PlanRequest]],
    completions: Sequence[str],
    before: Sequence[Rollout] = (),
) -> list[Rollout]:
    """The rollouts of completions, each for its item and request; `before` are the rounds that they follow.

    Raises `WorkerError` where most workflows of these failed, as where an endpoint is gone, or their scorer.
    """
    reports = [
        parse(
            text,
            workers=[card.name for card in request.workers],
            dialect=recipe.dialect,
            max_steps=request.max_steps,
            round=request.round,
            strict=recipe.strict_form,
        )
        for text, (_, request) in zip(completions, requests, strict=True)
    ]
    planned = [(at, report.workflow) for at, report in enumerate(reports) if report.workflow is not None]
    ran = await judge.run(
        [workflow for _, workflow in planned],
        [requests[at][0] for at, _ in planned],
        [requests[at][1].responses for at, _ in planned],
    )
    _check_workers(ran)
    outcomes = [Outcome("no plan")] * len(reports)
    for (at, _), outcome in zip(planned, ran, strict=True):
        outcomes[at] = outcome
    for at, report in enumerate(reports):
        if report.ok and report.return_previous:
            outcomes[at] = before[at].outcome
    return [
        Rollout(item, request, report, outcome)
        for (item, request), report, outcome in zip(requests, reports, outcomes, strict=True)
    ]


def _check_workers(ran: Sequence[Outcome]) -> None:
    failed = [outcome for outcome in ran if outcome.failed]
    if len(failed) > DEAD * len(ran):
        raise WorkerError(
            f"{len(failed)} of {quantity(len(ran), 'workflow')} of this step failed, the last one with: "
            f"{failed[-1].failure or 'no answer.'} See to that, then give the same command again: it goes on."
        )


def worth(recipe: GrpoRecipe, rollout: Rollout) -> float | None:
    """The reward of one round; None if a worker or the scorer failed."""
    if rollout.outcome.failed:
        return None
    return Reward(recipe.reward, recipe.price).of(rollout.outcome)


def worth_of_first(recipe: GrpoRecipe, first: Rollout, second: Rollout) -> float | None:
    """The reward of a first round that is followed by a second one.

    (1 - d) r1 + d r2 with the discount d, as in the research code's `conductor_recursion_engine.py`.
    """
    own, later = worth(recipe, first), worth(recipe, second)
    if own is None or later is None:
        return None
    return (1 - recipe.discount) * own + recipe.discount * later


def gauges(recipe: GrpoRecipe, rollouts: Sequence[Rollout]) -> Gauges:
    """The gauges of a batch whose questions follow each other, each with all its rollouts."""
    reward = Reward(recipe.reward, recipe.price)
    return gauges_of(
        [rollout.outcome for rollout in rollouts],
        [reward.of(rollout.outcome) for rollout in rollouts],
        [steps_needed(rollout.item) for rollout in rollouts],
        group=recipe.rollouts,
    )


def live_share(rewards: Sequence[float | None], *, group: int) -> float:
    """The share of groups whose known rewards differ: from the others nothing is learnt."""
    groups = [{*rewards[at : at + group]} - {None} for at in range(0, len(rewards), group)]
    return sum(len(each) > 1 for each in groups) / len(groups)


def evaluated(rollouts: Sequence[Rollout], recipe: GrpoRecipe) -> dict[str, float]:
    """What completions for held-out questions came to, in shares and means of those that could be judged."""
    judged = [rollout for rollout in rollouts if not rollout.outcome.failed]
    valid = [rollout.outcome.steps for rollout in judged if rollout.outcome.valid]
    count = len(judged)
    shares: dict[str, float] = {"failed": 1 - count / len(rollouts)}
    if judged:
        shares["valid"] = len(valid) / count
        shares["right"] = sum(rollout.outcome.right for rollout in judged) / count
        shares["reward"] = sum(worth(recipe, rollout) or 0.0 for rollout in judged) / count
        shares[ONE_STEP_SHARE] = one_step_share(judged)
    if valid:
        shares["steps"] = sum(valid) / len(valid)
    return shares


def one_step_share(rollouts: Sequence[Rollout]) -> float:
    """The share of plans with one step among the valid ones; 0 without a valid one."""
    steps = [rollout.outcome.steps for rollout in rollouts if rollout.outcome.valid]
    return sum(count == 1 for count in steps) / len(steps) if steps else 0.0
