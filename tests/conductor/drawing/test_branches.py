"""A collapsed branch hides the steps that only feed its last one, and nothing else; no access is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing.branches import Branches, branch_of, main_branches
from tests.support.runs.workflow_cases import workflow_of, workflows

READERS = workflow_of((), (0,), (1,), (2,), (0,), (4,), (5,), (3, 6), (7,), (7, 8))
"""A split, two readers of three steps each, a merge, a check of it, and an answer that reads both."""


@pytest.mark.parametrize(
    ("access", "step", "branch"),
    [
        ([()], 0, (0,)),
        ([(), (0,), (1,)], 1, (0, 1)),
        ([(), (0,), (0,)], 2, (2,)),
        ([(), (), (0,)], 2, (0, 2)),
        ([(), (0,), (0,), (1, 2)], 3, (0, 1, 2, 3)),
        ([(), (0,), (0, 1), (1, 2)], 2, (2,)),
    ],
    ids=["a step", "a chain", "what others read, too", "not an unread one", "a diamond", "a way beside it"],
)
def test_a_branch_is_a_step_and_what_only_feeds_it(access, step, branch):
    assert branch_of(workflow_of(*access), step) == branch


@pytest.mark.parametrize(
    ("workflow", "within", "expected"),
    [
        (READERS, range(10), {3, 6}),
        (READERS, {0, 1, 2, 3, 9}, {3}),
        (READERS, {1, 2, 5}, {2}),
        (READERS, (), set()),
        (workflow_of((), (), (), (0, 1, 2)), range(4), set()),
        (workflow_of(*[(at - 1,) if at else () for at in range(12)]), range(12), {5}),
        (workflow_of(*[tuple(range(at)) for at in range(8)]), range(8), set()),
    ],
    ids=["readers", "one is done", "a part of one", "none", "a fan", "a chain", "all read all"],
)
def test_the_main_branches_are_the_largest_that_leave_half_of_the_steps_in_sight(workflow, within, expected):
    assert main_branches(workflow, within) == expected


def test_what_is_collapsed_in_a_collapsed_branch_appears_with_it():
    assert Branches(READERS, frozenset({3, 7})).cards == ((0, 1, 2, 3, 4, 5, 6, 7), (8,), (9,))
    assert Branches(READERS, frozenset({3})).cards[:2] == ((0,), (1, 2, 3))


@given(workflow=workflows(max_steps=12), data=st.data())
def test_every_step_is_on_one_card_and_every_access_between_cards_is_an_edge(workflow, data):
    collapsed = data.draw(st.frozensets(st.integers(0, len(workflow) - 1)))
    branches = Branches(workflow, collapsed)
    cards = branches.cards
    assert sorted(step for steps in cards for step in steps) == list(range(len(workflow)))
    assert [steps[-1] for steps in cards] == sorted(steps[-1] for steps in cards)
    card_of = {step: at for at, steps in enumerate(cards) for step in steps}
    for steps in cards:
        for hidden in steps[:-1]:
            assert {card_of[reader] for reader in workflow.readers[hidden]} == {card_of[hidden]}
    accesses = {(card_of[read], card_of[reader]) for read, reader in workflow.graph.edges}
    edges = {(read, at) for at, step in enumerate(branches.card_workflow.steps) for read in step.access}
    assert edges == {(read, reader) for read, reader in accesses if read != reader}


@given(workflow=workflows(max_steps=12), data=st.data())
def test_main_branches_lie_within_what_is_allowed_and_never_hide_all(workflow, data):
    within = data.draw(st.frozensets(st.integers(0, len(workflow) - 1)))
    chosen = main_branches(workflow, within)
    cards = Branches(workflow, chosen).cards
    assert {steps[-1] for steps in cards if len(steps) > 1} == chosen
    assert all(within.issuperset(steps) for steps in cards if len(steps) > 1)
    assert len(cards) > 1 or len(workflow) == 1
