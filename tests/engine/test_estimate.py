"""What a rerun will take is judged by what was seen, and unknown where nothing was."""

from __future__ import annotations

import pytest
from workflow_cases import workflow_of

from conductor.engine.estimate import Estimate, estimate
from conductor.messages import Usage
from conductor.output import HandEdit, Output

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def made(
    step: int, *, tokens: int | None, seconds: float = 1.0, cost: float | None = None, worker: str = "alpha"
) -> Output:
    usage = Usage(prompt_tokens=0 if tokens is not None else None, completion_tokens=tokens, cost=cost)
    return Output(
        fingerprint=f"{step}-{tokens}-{seconds}",
        text="said",
        worker=worker,
        worker_kind="model",
        usage=usage,
        seconds=seconds,
        run="r",
        step=step,
    )


HISTORY = (
    made(0, tokens=10, seconds=1, cost=0.1),
    made(1, tokens=20, seconds=2, cost=0.2),
    made(1, tokens=40, seconds=4, cost=0.4),
    made(2, tokens=70, seconds=7, cost=0.7),
)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((), Estimate(calls=0, tokens=0, cost=0.0, seconds=0.0)),
        ((0,), Estimate(calls=1, tokens=10, cost=0.1, seconds=1)),
        ((1,), Estimate(calls=1, tokens=30, cost=pytest.approx(0.3), seconds=3)),  # type: ignore[arg-type]
        ((0, 1, 2), Estimate(calls=3, tokens=110, cost=pytest.approx(1.1), seconds=8)),  # type: ignore[arg-type]
    ],
)
def test_a_step_takes_what_its_worker_took_at_its_place(runs: tuple[int, ...], told: Estimate) -> None:
    assert estimate(DIAMOND, runs, HISTORY) == told


def test_a_step_that_never_ran_takes_what_its_worker_took_elsewhere() -> None:
    assert estimate(DIAMOND, (3,), HISTORY).tokens == 30
    assert estimate(DIAMOND, (3,), HISTORY).seconds == 3


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ((), Estimate(calls=1, tokens=None, cost=None, seconds=None)),
        ((made(0, tokens=9, worker="beta"),), Estimate(calls=1, tokens=None, cost=None, seconds=None)),
        ((made(0, tokens=None, seconds=2),), Estimate(calls=1, tokens=None, cost=None, seconds=2)),
        (
            (made(0, tokens=9).by_hand("mine", edit=HandEdit(at=1)),),
            Estimate(calls=1, tokens=None, cost=None, seconds=None),
        ),
    ],
    ids=["nothing seen", "another worker", "tokens unknown", "by hand"],
)
def test_what_was_never_seen_is_unknown(history: tuple[Output, ...], told: Estimate) -> None:
    assert estimate(DIAMOND, (0,), history) == told
    assert told.known == (told.seconds is not None)


def test_one_unknown_call_makes_the_sum_unknown() -> None:
    told = estimate(DIAMOND.with_worker(2, "beta"), (1, 2), HISTORY)
    assert (told.tokens, told.cost, told.seconds) == (None, None, None)
