"""Simulated models: intervals cover what is true in 95 of 100 samples, and tests alarm falsely in at most 5.

Each question has a probability of its own with which a model answers it, drawn from a beta distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from conductor.evaluation.statistics import paired_difference, rate

SAMPLES = 800
QUESTIONS = (20, 60)
REPEATS = (1, 3, 5, 10)

Right = NDArray[np.int64]
"""How many of its answers are right: by sample and question."""


def _probabilities(
    random: np.random.Generator, mean: float, alike: float, questions: int
) -> NDArray[np.float64]:
    """Probabilities of questions; `alike` is the correlation of two answers to one question."""
    spread = (1 - alike) / alike
    return random.beta(mean * spread, (1 - mean) * spread, (SAMPLES, questions))


def _shares(right: Right, repeats: int) -> Mapping[int, float]:
    return {at: int(each) / repeats for at, each in enumerate(right)}


@pytest.mark.thorough
@pytest.mark.parametrize("questions", QUESTIONS)
@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize(("mean", "alike"), [(0.5, 0.9), (0.6, 0.5), (0.75, 0.5), (0.85, 0.3), (0.75, 0.05)])
def test_intervals_of_an_accuracy_cover_it(mean: float, alike: float, repeats: int, questions: int) -> None:
    random = np.random.default_rng(7)
    covered = 0
    for right in random.binomial(repeats, _probabilities(random, mean, alike, questions)):
        estimate = rate({at: [True] * each + [False] * (repeats - each) for at, each in enumerate(right)})
        assert estimate is not None
        assert (estimate.questions, estimate.answers) == (questions, questions * repeats)
        covered += estimate.interval.low <= mean <= estimate.interval.high
    # Of 20 questions with one answer each Wilson's own interval covers .98, as right answers are whole.
    assert 0.93 <= covered / SAMPLES <= (0.985 if (questions, repeats) == (20, 1) else 0.97)


@pytest.mark.thorough
@pytest.mark.parametrize("questions", QUESTIONS)
@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize(("first", "second", "alike"), [(0.5, 0.5, 0.5), (0.7, 0.55, 0.5), (0.8, 0.8, 0.3)])
def test_intervals_of_a_difference_cover_it_and_a_difference_of_0_is_no_alarm(
    first: float, second: float, alike: float, repeats: int, questions: int
) -> None:
    random = np.random.default_rng(8)
    ones = random.binomial(repeats, _probabilities(random, first, alike, questions))
    others = random.binomial(repeats, _probabilities(random, second, alike, questions))
    covered = alarms = 0
    for one, other in zip(ones, others, strict=True):
        difference = paired_difference(_shares(one, repeats), _shares(other, repeats))
        assert difference is not None
        covered += difference.interval.low <= first - second <= difference.interval.high
        alarms += difference.significant
    assert 0.93 <= covered / SAMPLES <= 0.97
    if first == second:
        # Of 800 samples 5 % are 40, with a standard deviation of 6.
        assert alarms / SAMPLES <= 0.065
    elif questions == 60:
        assert alarms / SAMPLES > 0.3


@pytest.mark.parametrize("repeats", REPEATS)
def test_answers_that_are_always_the_same_count_once(repeats: int) -> None:
    random = Random(1)
    once = {at: [random.random() < 0.55] for at in range(20)}
    other = {at: float(random.random() < 0.4) for at in range(20)}
    repeated = {at: each * repeats for at, each in once.items()}
    one, many = rate(once), rate(repeated)
    assert one is not None
    assert many is not None
    assert (many.mean, many.interval, many.questions) == (one.mean, one.interval, 20)
    shares = {at: float(each[0]) for at, each in once.items()}
    assert paired_difference(shares, other) == paired_difference(
        {at: sum(each) / repeats for at, each in repeated.items()}, other
    )
