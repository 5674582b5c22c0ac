"""Graphs side by side show as much of a step on one side as on the other, at any width."""

from __future__ import annotations

import pytest

from conductor.drawing.layout import KINDS, layouts
from conductor.workflow.model import Step, Workflow
from pages.components.compare.graphs import pictures_alike

WIDTHS = range(320, 1400, 20)


def plan(access):
    return Workflow.of(Step(instruction="Work.", worker="w", access=reads) for reads in access)


def chain(steps):
    return plan([(step - 1,) if step else () for step in range(steps)])


def fan(steps):
    return plan([()] * (steps - 1) + [tuple(range(steps - 1))])


def choose(pictures, widths, width):
    """What the browser shows."""
    return next(
        (picture for picture, least in zip(pictures, widths, strict=True) if least <= width), pictures[-1]
    )


def alone(workflow, width):
    pictures = layouts(workflow)
    return choose(pictures, [picture.least_width for picture in pictures], width)


PAIRS = [
    pytest.param(fan(4), fan(5), id="one more step in a row"),
    pytest.param(fan(5), fan(14), id="some and many in a row"),
    pytest.param(chain(2), chain(14), id="whole cards and brief ones"),
    pytest.param(chain(2), chain(30), id="whole cards and flat ones"),
    pytest.param(fan(3), chain(10), id="broad and high"),
    pytest.param(chain(1), chain(1), id="a single step"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_both_sides_show_the_poorer_cards_of_the_two(left, right):
    for width in WIDTHS:
        kinds = {choose(*side, width).kind for side in pictures_alike(left, right)}
        poorer = max((alone(left, width).kind, alone(right, width).kind), key=KINDS.index)
        assert kinds == {poorer}, f"at {width} pixels"


@pytest.mark.slow
def test_sides_that_are_alike_anyway_are_shown_as_each_is_alone():
    for width in WIDTHS:
        for side in pictures_alike(fan(5), fan(5)):
            assert choose(*side, width) == alone(fan(5), width)
