"""A workflow as planned, as edited and as run, step by step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conductor.workflow.diff import three_way
from conductor.workflow.model import Step, Workflow
from tests.workflow_cases import workflows


def named(*instructions: str) -> Workflow:
    """A step for each instruction, none of which reads another."""
    return Workflow.of(Step(instruction=text, worker="alpha") for text in instructions)


FIND, SOLVE, CHECK, TELL = (
    "Find every number in the question.",
    "Solve the equation for x.",
    "Check it by another way.",
    "Tell the result in one sentence.",
)


def test_what_was_never_edited_and_run_as_it_is_stands_in_one_line_each() -> None:
    plan = named(FIND, SOLVE)
    known = three_way(plan, plan, plan)
    assert known.rows == ((0, 0, 0), (1, 1, 1))
    assert known.planned.empty
    assert known.run is not None
    assert known.run.empty


def test_without_a_run_its_column_is_empty() -> None:
    known = three_way(named(FIND), named(FIND, SOLVE), None)
    assert known.rows == ((0, 0, None), (None, 1, None))
    assert known.run is None


def test_a_removed_step_stands_where_it_was_and_an_edit_after_the_run_is_told() -> None:
    known = three_way(named(FIND, SOLVE, TELL), named(FIND, TELL, CHECK), named(FIND, TELL))
    assert known.rows == ((0, 0, 0), (1, None, None), (2, 1, 1), (None, 2, None))


def test_a_step_that_was_run_as_planned_and_removed_since_is_one_line() -> None:
    known = three_way(named(FIND, SOLVE, TELL), named(FIND, TELL), named(FIND, SOLVE, TELL))
    assert known.rows == ((0, 0, 0), (1, None, 1), (2, 1, 2))


def test_a_step_of_the_run_alone_stands_behind_the_one_before_it() -> None:
    known = three_way(named(FIND, TELL), named(FIND, TELL), named(CHECK, FIND, SOLVE, TELL))
    assert known.rows == ((None, None, 0), (0, 0, 1), (None, None, 2), (1, 1, 3))


@given(workflows(), workflows(), st.one_of(st.none(), workflows()))
def test_every_step_of_every_state_is_in_one_line(
    planned: Workflow, edited: Workflow, run: Workflow | None
) -> None:
    rows = three_way(planned, edited, run).rows
    for column, workflow in enumerate((planned, edited, run)):
        found = [row[column] for row in rows if row[column] is not None]
        assert sorted(at for at in found if at is not None) == list(range(len(workflow) if workflow else 0))
    assert [row[1] for row in rows if row[1] is not None] == list(range(len(edited)))
