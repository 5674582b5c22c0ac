"""Forecasts a trial: the calls that it will make, and those that it reuses.

Knows workflows bound to a question and outputs that are known; knows no store. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate, together
from conductor.engine.known_outputs import KnownOutputs, OutputArchive, Takeover
from conductor.values.output import Output
from conductor.workers.protocol import WorkerCard


@dataclass(frozen=True)
class Forecast:
    """`new` calls are made at most: fewer where two different requests get the same answer. `reused` are
    calls whose output is there by then. `estimate` is what the new ones take. `held_out` further answers of
    two variants are in all these figures. `judged` answers take a call of a judge each, which is in no other
    figure.
    """

    questions: int
    variants: int
    new: int
    reused: int
    estimate: Estimate
    judged: int = 0
    held_out: int = 0


def forecast(
    questions: Sequence[Sequence[BoundWorkflow]],
    known_outputs: Sequence[Iterable[Output]],
    *,
    cards: Mapping[str, WorkerCard],
    history: Iterable[Output],
    parallel: int,
) -> Forecast:
    """The forecast of variants in their order, for each question, with the outputs `known_outputs` for it, in
    the order in which equal steps take them.

    Every step whose request is not known is a call, and its answer counts as different from every other.
    Steps of workers that compute are no calls. `history` are outputs to judge by what a call takes.
    """
    past_outputs = tuple(history)
    new = reused = 0
    estimates: list[Estimate] = []
    for bounds, outputs in zip(questions, known_outputs, strict=True):
        archive = OutputArchive(outputs)
        for variant, bound in enumerate(bounds):
            called: set[int] = set()
            answers: dict[int, Output] = {}
            takeover = Takeover(KnownOutputs(archive=archive), bound)
            for at, step in enumerate(bound.workflow.steps):
                address = bound.fingerprint(at, answers)
                call = step.worker not in cards or cards[step.worker].kind != "offline"
                before = takeover.take(at, address, answers)
                if before is not None:
                    reused += call
                elif call:
                    called.add(at)
                    new += 1
                answers[at] = before or _unknown(address, step.worker, variant, at)
            archive.extend(answers.values())
            if called:
                estimates.append(estimate(bound, called, past_outputs, cards=cards))
    spent = together(estimates, at_once=parallel)
    variants = max((len(bounds) for bounds in questions), default=0)
    return Forecast(len(questions), variants, new, reused, spent)


def _unknown(address: str, worker: str, variant: int, step: int) -> Output:
    """An answer that is not known, which differs from every other."""
    return Output(
        fingerprint=address,
        text=f"{address} {variant} {step}",
        worker=worker,
        worker_kind="model",
        seconds=0.0,
        run=f"variant {variant}",
        step=step,
    )
