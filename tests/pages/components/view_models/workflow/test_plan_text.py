"""The difference of two workflows in words and marks."""

from __future__ import annotations

from typing import get_args

import pytest

from conductor.values.messages import Sampling
from conductor.workflow.diff import plan_diff
from conductor.workflow.merge import Clash, Kind
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.plan_text import (
    card_change,
    card_text,
    change_lines,
    clash_sentence,
    edge_changes,
    headline,
    row_name,
    row_text,
    sentences,
)
from tests.support.runs.workflow_cases import PINNED

OLD = Workflow.of(
    [
        Step(instruction="Find every number in the question.", worker="alpha"),
        Step(instruction="Solve the equation for x.", worker="alpha", access=(0,)),
        Step(instruction="Check it by another way.", worker="beta", access=(1,)),
        Step(instruction="Tell the result in one sentence.", worker="beta", access=(1, 2)),
    ]
)
ADDED = Step(instruction="Draw a picture of two trains.", worker="beta")


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (OLD, "The plans are the same."),
        (OLD.with_worker(0, "beta"), "1 step changed; 3 steps the same."),
        (
            OLD.add_step(ADDED).remove_step(2),
            "1 step changed, 1 step added, 1 step removed; 2 steps the same.",
        ),
        (OLD.with_access(2, []).move_step(2, 0).with_access(0, []), "1 step changed; 3 steps the same."),
        (Workflow.of([ADDED]), "The plans share no step: 4 steps and 1."),
    ],
)
def test_a_headline_counts_what_differs(new, expected):
    assert headline(plan_diff(OLD, new)) == expected


def test_a_step_that_only_moved_is_counted_as_moved():
    alone = Workflow.of(step.model_copy(update={"access": ()}) for step in OLD.steps)
    diff = plan_diff(alone, alone.move_step(3, 0))
    assert headline(diff) == "1 step moved; 3 steps the same."
    assert card_change(diff, 3, "left") == card_change(diff, 0, "right") == "moved"
    assert row_name(diff, (3, 0)) == "4 → 1. Tell the result in one"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (OLD.with_worker(1, "beta"), ["Worker: alpha → beta."]),
        (OLD.with_instruction(1, "Solve the equation for y."), []),
        (
            OLD.with_access(1, []).with_sampling(1, Sampling(temperature=0.2, max_tokens=50)),
            [
                "No longer reads “1. Find every number”.",
                "Parameters: as the worker has them → temperature 0.2, at most 50 tokens.",
            ],
        ),
        (
            OLD.with_pin(1, PINNED).with_sight_of_previous(1, True),
            ["Pinned.", "Sees the previous round."],
        ),
    ],
)
def test_what_changed_of_a_step_is_reported_in_sentences(new, words):
    diff = plan_diff(OLD, new)
    assert sentences(diff, diff.of_old[1]) == words


def test_a_step_that_was_removed_is_named_so_where_it_was_read():
    diff = plan_diff(OLD, OLD.remove_step(2).with_access(2, [0]))
    assert sentences(diff, diff.of_old[3]) == [
        "No longer reads “2. Solve the equation for x”; “3. Check it by another way” (removed).",
        "Now reads “1. Find every number”.",
    ]


def test_cards_and_edges_are_marked_on_their_own_side():
    new = OLD.with_worker(0, "beta").with_access(2, [0]).add_step(ADDED)
    diff = plan_diff(OLD, new)
    assert [card_change(diff, step, "left") for step in range(4)] == ["edited", "", "edited", ""]
    assert [card_change(diff, step, "right") for step in range(5)] == ["edited", "", "edited", "", "added"]
    assert card_text(diff, 2, "right") == ("access",)
    assert edge_changes(diff, "left") == {(1, 2): "removed"}
    assert edge_changes(diff, "right") == {(0, 2): "added"}


def test_rows_state_what_happened_to_their_step():
    diff = plan_diff(OLD, OLD.remove_step(2).add_step(ADDED))
    assert [row_text(diff, row) for row in diff.rows] == [(), (), ("removed",), ("access",), ("added",)]
    assert row_name(diff, (2, None)) == "3. Check it by another way"


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_clash_is_a_sentence_that_names_its_step(three, kind):
    of_all = kind in ("order", "final", "steps")
    expected = clash_sentence(Clash(kind, None if of_all else 1), three)
    assert expected.endswith(".")
    assert ("“2. Look again”" in expected) != of_all


def test_changes_are_lines_without_what_stayed_and_without_the_words_of_instructions(three):
    new = Step(instruction="Weigh both against each other.", worker="beta", access=(1,))
    edited = three.add_step(new, 2).with_worker(0, "beta").with_instruction(1, "Look once again.")
    assert change_lines(plan_diff(three, edited)) == [
        "1. Find it: Worker: alpha → beta.",
        "3. Weigh both against each other: added",
    ]
