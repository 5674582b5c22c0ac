"""Estimates tokens, time and cost of a run from the runs of its session, else from its texts. Pure.

Knows outputs, workers' cards and which steps will be called; an estimate is never more than that. What a
worker without a price costs is unknown, and so is what a Conductor inside a step takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.text.formatting import dollars, duration, estimated, quantity
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.workers.endpoint.tokens import TokenCount
from conductor.workers.protocol import WorkerCard
from conductor.workflow.critical_path import last_end
from conductor.workflow.model import Step

ANSWER_TOKENS = 400
"""Tokens that an answer is assumed to have where its worker has not answered yet in the session."""

TOKENS_A_SECOND = 50.0
"""How fast a model is assumed to answer."""

FIRST_SECONDS = 1.0
"""How long a model is assumed to take before its first word."""

COMPUTED_SECONDS = 0.1
"""How long a worker that computes is assumed to take."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens, US dollars and seconds from start to end; None if any call's are unknown.

    `assumed`: of some worker nothing is known, so that a part follows from the constants of this module.
    `at_least`: `calls` may be more, by a rule for failures, a worker's fallback, a workflow inside a step or
    a further round. That an endpoint is called again is not foreseen.
    """

    calls: int
    tokens: int | None
    cost: float | None
    seconds: float | None
    assumed: bool = False
    at_least: bool = False

    @property
    def is_known(self) -> bool:
        return any(value is not None for value in (self.tokens, self.cost, self.seconds))

    @property
    def words(self) -> list[str]:
        """Its amounts for people, each marked as an estimate, without what is unknown."""
        calls = [f"at least {quantity(self.calls, 'call')}"] if self.at_least and self.calls else []
        nothing = self.tokens == 0 and self.cost == 0
        if not self.is_known or (self.assumed and nothing):
            return calls
        words = calls if not self.tokens else [*calls, estimated(self.tokens, "token")]
        words += [] if nothing or self.cost is None else [_approximation(self.cost, dollars)]
        words += [] if self.seconds is None else [_approximation(self.seconds, duration)]
        return [*words, f"assuming {ANSWER_TOKENS} tokens per answer"] if self.assumed else words


def _approximation(amount: float, written: Callable[[float], str]) -> str:
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
    outputs: Mapping[int, Output] | None = None,
    longest: bool = False,
) -> Estimate:
    """What calling the steps `runs` takes, judged by their workers' outputs at that position, else at any.

    Of several outputs in `history` the median counts; outputs written by a person are left out. For a worker
    without an output there, the prompt is counted and the answer assumed: of `ANSWER_TOKENS`, or with
    `longest` of all tokens that it may have. `cards` are the pool's by name, `outputs` those of steps
    that are not called.
    """
    workflow = bound.workflow
    # What a fallback gave in its place is what a step of that worker took.
    of_worker: dict[str | None, list[Output]] = {}
    of_step: dict[tuple[str | None, int], list[Output]] = {}
    for output in history:
        if output.hand is None:
            worker = output.instead_of or output.worker
            of_worker.setdefault(worker, []).append(output)
            of_step.setdefault((worker, output.step), []).append(output)
    steps: dict[int, _Step] = {}
    for step in sorted(runs):
        own = workflow.steps[step].worker
        alike, card = of_step.get((own, step)) or of_worker.get(own) or [], cards.get(own)
        if card is not None and card.kind == "offline" and not any(each.instead_of for each in alike):
            seconds = _measured(alike).seconds
            steps[step] = _Step(0, 0.0, COMPUTED_SECONDS if seconds is None else seconds, assumed=not alike)
        elif alike or card is None or card.nested:
            steps[step] = _measured(alike)
        else:
            steps[step] = _assumed(bound, step, cards, outputs or {}, longest=longest)
    seconds = last_end(workflow, {at: step.seconds for at, step in steps.items()})
    takes = _summed(steps.values(), calls=len(runs), seconds=seconds)
    return replace(takes, at_least=any(_may_repeat(workflow.steps[step], cards) for step in steps))


def _may_repeat(step: Step, cards: Mapping[str, WorkerCard]) -> bool:
    """Whether a call of the step may become several."""
    rule, card = step.on_failure, cards.get(step.worker)
    if rule is not None and (rule.retries or rule.fallback is not None):
        return True
    return card is not None and (card.nested or card.fallback is not None)


def together(estimates: Sequence[Estimate], *, at_once: int) -> Estimate:
    """What several runs take, `at_once` of them at a time; the seconds assume runs of equal length."""
    seconds = _sum(one.seconds for one in estimates)
    if seconds is not None:
        longest = max((one.seconds or 0.0 for one in estimates), default=0.0)
        seconds = max(longest, seconds / at_once)
    whole = _summed(estimates, calls=sum(one.calls for one in estimates), seconds=seconds)
    return replace(whole, at_least=any(one.at_least for one in estimates))


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


def _assumed(
    bound: BoundWorkflow,
    step: int,
    cards: Mapping[str, WorkerCard],
    outputs: Mapping[int, Output],
    *,
    longest: bool,
) -> _Step:
    """The step's prompt as it will be, with an assumed answer for each step it waits for."""
    own = bound.workflow.steps[step]
    card = cards[own.worker]
    answer = _answer_tokens(bound, step, cards, longest=longest)
    unknown = [read for read in own.access if read not in outputs]
    lengths = [_answer_tokens(bound, read, cards, longest=longest) for read in unknown]
    if answer is None or None in lengths:
        return _Step(None, None, None, assumed=True)
    inputs = {read: outputs[read] for read in own.access if read in outputs}
    inputs |= {read: _placeholder(read, length or 0) for read, length in zip(unknown, lengths, strict=True)}
    request = bound.request(step, inputs)
    prompt = TokenCount(card)
    for message in request.messages:
        prompt.add(message.content)
    usage = Usage(prompt_tokens=prompt.total, completion_tokens=answer)
    return _Step(
        tokens=prompt.total + answer,
        cost=None if card.price is None else card.price.of(usage),
        # A simulated worker's pace is whatever its table has, at once if that has none.
        seconds=None if card.kind == "simulated" else FIRST_SECONDS + answer / TOKENS_A_SECOND,
        assumed=True,
    )


def _answer_tokens(
    bound: BoundWorkflow, step: int, cards: Mapping[str, WorkerCard], *, longest: bool
) -> int | None:
    """Tokens of a step's answer: at most or as assumed; None without a known limit."""
    own = bound.workflow.steps[step]
    card = cards.get(own.worker)
    limit = own.sampling.max_tokens or (None if card is None else card.sampling.max_tokens)
    if longest and (card is None or card.kind in ("model", "embedded")):
        return limit
    return min(ANSWER_TOKENS, limit or ANSWER_TOKENS)


def _placeholder(step: int, tokens: int) -> Output:
    return Output(
        fingerprint="",
        text=("word " * tokens)[: tokens * LIKELY_CHARACTERS],
        worker="",
        worker_kind="model",
        seconds=0.0,
        run="",
        step=step,
    )


def _median(outputs: Sequence[Output], value: Callable[[Output], float | None]) -> float | None:
    amounts = [amount for amount in map(value, outputs) if amount is not None]
    return median(amounts) if amounts else None


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
