"""What a run will probably take, judged by what its session's workers took before, else by its texts. Pure.

Knows outputs, workers' cards and which steps will be called; an estimate is never more than that. What a
worker without a price costs is unknown, and so is what a Conductor inside a step takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.text.formatting import dollars, duration, estimated
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.workers.endpoint.tokens import TokenCount
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow

ANSWER_TOKENS = 400
"""Tokens that an answer is assumed to have where its worker has not answered yet in the session."""

TOKENS_A_SECOND = 50.0
"""How fast a model is assumed to answer."""

FIRST_SECONDS = 1.0
"""How long a model is assumed to take before its first word."""

EXPERT_SECONDS = 0.1
"""How long a built-in expert is assumed to take."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens, US dollars and seconds from start to end; None where any call's are unknown.

    `assumed`: of some worker nothing is known, so that a part follows from the constants of this module.
    """

    calls: int
    tokens: int | None
    cost: float | None
    seconds: float | None
    assumed: bool = False

    @property
    def known(self) -> bool:
        """Whether any amount is known."""
        return any(value is not None for value in (self.tokens, self.cost, self.seconds))

    @property
    def free(self) -> bool:
        """Whether no call takes tokens."""
        return self.tokens == 0 and self.cost == 0

    @property
    def words(self) -> list[str]:
        """Its amounts for people, each marked as an estimate, without what is unknown."""
        if not self.known or (self.assumed and self.free):
            return []
        words = [] if self.free or self.tokens is None else [estimated(self.tokens, "token")]
        words += [] if self.free or self.cost is None else [_about(self.cost, dollars)]
        words += [] if self.seconds is None else [_about(self.seconds, duration)]
        return [*words, f"assuming {ANSWER_TOKENS} tokens an answer"] if self.assumed else words


def _about(amount: float, written: Callable[[float], str]) -> str:
    """An amount marked as an estimate; an upper bound ("< ...") is marked already."""
    text = written(amount)
    return text if text.startswith("<") else f"~{text}"


@dataclass(frozen=True, slots=True)
class _Step:
    """What one call takes; None is unknown."""

    tokens: float | None
    cost: float | None
    seconds: float | None
    assumed: bool = False


def estimate(
    bound: BoundWorkflow,
    runs: Collection[int],
    history: Iterable[Output],
    *,
    cards: Mapping[str, WorkerCard],
    known: Mapping[int, Output] | None = None,
) -> Estimate:
    """What calling the steps `runs` takes, judged by their workers' outputs at that position, else at any.

    Of several outputs in `history` the median counts; outputs written by a person are left out. For a worker
    without an output there, the prompt is counted and the answer assumed. `cards` are the pool's by name,
    `known` the outputs of steps that are not called.
    """
    workflow = bound.workflow
    made = [output for output in history if output.hand is None]
    steps: dict[int, _Step] = {}
    for step in sorted(runs):
        alike = _alike(workflow, step, made)
        card = cards.get(workflow.steps[step].worker)
        if card is not None and card.kind == "offline":
            seconds = _measured(alike).seconds
            steps[step] = _Step(0, 0.0, EXPERT_SECONDS if seconds is None else seconds, assumed=not alike)
        elif alike or card is None or card.nested:
            steps[step] = _measured(alike)
        else:
            steps[step] = _assumed(bound, step, card, known or {})
    seconds = _last_end(workflow, {at: step.seconds for at, step in steps.items()})
    return _summed(steps.values(), calls=len(runs), seconds=seconds)


def together(estimates: Sequence[Estimate], *, at_once: int) -> Estimate:
    """What several runs take, `at_once` of them at a time; the seconds assume runs of equal length."""
    seconds = _sum(one.seconds for one in estimates)
    if seconds is not None:
        longest = max((one.seconds or 0.0 for one in estimates), default=0.0)
        seconds = max(longest, seconds / at_once)
    return _summed(estimates, calls=sum(one.calls for one in estimates), seconds=seconds)


def _summed(parts: Collection[_Step | Estimate], *, calls: int, seconds: float | None) -> Estimate:
    tokens = _sum(part.tokens for part in parts)
    return Estimate(
        calls=calls,
        tokens=None if tokens is None else round(tokens),
        cost=_sum(part.cost for part in parts),
        seconds=seconds,
        assumed=any(part.assumed for part in parts),
    )


def _measured(alike: Sequence[Output]) -> _Step:
    return _Step(
        tokens=_median(alike, lambda output: output.usage.total),
        cost=_median(alike, lambda output: output.usage.cost),
        seconds=_median(alike, lambda output: output.seconds),
    )


def _assumed(bound: BoundWorkflow, step: int, card: WorkerCard, known: Mapping[int, Output]) -> _Step:
    """The step's prompt as it will be, with an answer of `ANSWER_TOKENS` for each step it waits for."""
    reads = bound.workflow.steps[step].access
    seen = {read: known.get(read) or _placeholder(read) for read in reads}
    request = bound.request(step, seen, address="0" * 8, defaults=card.sampling)
    prompt = TokenCount(card)
    for message in request.messages:
        prompt.add(message.content)
    answer = min(ANSWER_TOKENS, request.sampling.max_tokens or ANSWER_TOKENS)
    usage = Usage(prompt_tokens=prompt.total, completion_tokens=answer)
    return _Step(
        tokens=prompt.total + answer,
        cost=None if card.price is None else card.price.of(usage),
        seconds=FIRST_SECONDS + answer / TOKENS_A_SECOND,
        assumed=True,
    )


def _placeholder(step: int) -> Output:
    return Output(
        fingerprint="",
        text=("word " * ANSWER_TOKENS)[: ANSWER_TOKENS * LIKELY_CHARACTERS],
        worker="",
        worker_kind="model",
        seconds=0.0,
        run="",
        step=step,
    )


def _alike(workflow: Workflow, step: int, made: Sequence[Output]) -> Sequence[Output]:
    of_worker = [output for output in made if output.worker == workflow.steps[step].worker]
    return [output for output in of_worker if output.step == step] or of_worker


def _median(outputs: Sequence[Output], value: Callable[[Output], float | None]) -> float | None:
    known = [found for found in map(value, outputs) if found is not None]
    return median(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _last_end(workflow: Workflow, seconds: Mapping[int, float | None]) -> float | None:
    """When the last of these steps ends; each starts once all that it reads is there."""
    ends: list[float] = []
    for step, own in enumerate(workflow.steps):
        lasts = seconds.get(step, 0.0)
        if lasts is None:
            return None
        ends.append(max((ends[read] for read in own.access), default=0.0) + lasts)
    return max(ends)
