"""What a run will probably take, judged by what its session's workers took before. Pure.

Knows outputs and which steps will be called; an estimate is never more than that, and what was never seen is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from conductor.output import Output
from conductor.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens, US dollars and seconds from start to end; None where any call's are unknown."""

    calls: int
    tokens: int | None
    cost: float | None
    seconds: float | None

    @property
    def known(self) -> bool:
        """Whether there is anything to say."""
        return any(value is not None for value in (self.tokens, self.cost, self.seconds))


def estimate(workflow: Workflow, runs: Collection[int], history: Iterable[Output]) -> Estimate:
    """What calling the steps `runs` takes, each as its worker took at that place, else at any.

    Of several outputs in `history` the median counts; what a person wrote tells nothing of a worker.
    """
    made = [output for output in history if output.hand is None]
    alike = {step: _alike(workflow, step, made) for step in runs}
    tokens = _sum(_median(outputs, lambda output: output.usage.total) for outputs in alike.values())
    cost = _sum(_median(outputs, lambda output: output.usage.cost) for outputs in alike.values())
    return Estimate(
        calls=len(runs),
        tokens=None if tokens is None else round(tokens),
        cost=cost,
        seconds=_last_end(
            workflow,
            {step: _median(outputs, lambda output: output.seconds) for step, outputs in alike.items()},
        ),
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


def _last_end(workflow: Workflow, seconds: dict[int, float | None]) -> float | None:
    """When the last of these steps ends; each starts once all that it reads is there."""
    ends: list[float] = []
    for step, own in enumerate(workflow.steps):
        lasts = seconds.get(step, 0.0)
        if lasts is None:
            return None
        ends.append(max((ends[read] for read in own.access), default=0.0) + lasts)
    return max(ends)
