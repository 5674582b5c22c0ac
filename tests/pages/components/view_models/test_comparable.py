"""What can be compared, by its address, and what is compared where nothing was chosen."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError
from conductor.workflow.diff import three_way
from conductor.workflow.model import Step, Workflow
from pages.components.compare.three_way import heads, summary, table
from pages.components.view_models.comparable import (
    choices,
    find_side,
    last_two,
    three_sides,
)
from pages.components.widgets.controls import compare_query


def ran(bench, session):
    """A finished run of the session's current workflow."""
    live = bench.running.start(session)
    bench.activities.wait(session)
    return live.run


def edited(bench, session, **edit):
    """The session's workflow with its first step changed."""
    head = bench.store.revisions.head(session)
    workflow = head.workflow.with_instruction(0, edit.get("instruction", "Find it quickly."))
    return bench.editing.edit(session, workflow, note="Quicker", head=head)


@pytest.mark.slow
def test_a_run_and_a_revision_are_found_by_address_and_by_bare_id(bench, session):
    run = ran(bench, session)
    head = bench.store.revisions.head(session)
    assert find_side(bench, f"run:{run}") == find_side(bench, run)
    assert find_side(bench, f"revision:{head.id}") == find_side(bench, head.id)
    side = find_side(bench, run)
    assert (side.name, side.address, side.session.id) == ("Run 1", f"run:{run}", session)
    assert side.state.answer is not None
    assert find_side(bench, head.id).state is None


@pytest.mark.slow
def test_a_plan_that_was_not_chosen_is_found_by_its_address(bench):
    session = bench.ask("What is 2 + 3?").id
    plan = bench.planning.plan(session)
    side = find_side(bench, f"plan:{plan.id}")
    assert side.workflow == plan.report.workflow
    assert side.name == f"Plan of {plan.planner}"


@pytest.mark.slow
def test_each_plan_of_a_conductors_text_has_an_address_of_its_own(bench):
    session = bench.ask("What is 2 + 3?").id
    plan = bench.planning.plan(session)
    side = find_side(bench, f"plan:{plan.id}:0")
    assert (side.workflow, side.address) == (plan.report.workflow, f"plan:{plan.id}:0")
    for number in ("1", "-1", "x", "9" * 5000):
        with pytest.raises(StorageError, match="choose"):
            find_side(bench, f"plan:{plan.id}:{number}")


@pytest.mark.slow
def test_what_the_rules_plan_for_a_question_has_an_address(bench, session):
    side = find_side(bench, f"rules:{session}")
    assert (side.name, side.state, side.revision) == ("Rule-based plan", None, None)
    assert side.workflow.workers() <= bench.pool.names


@pytest.mark.parametrize("address", ["", "nothing", "run:nothing", "revision:", "picture:1", "<b>" * 1000])
def test_an_address_of_nothing_is_refused_with_what_to_do(bench, session, address):
    with pytest.raises(StorageError, match="choose") as refused:
        find_side(bench, address)
    assert len(str(refused.value)) < 4000


@pytest.mark.slow
def test_a_session_offers_its_runs_and_its_revisions_newest_first(bench, session):
    ran(bench, session)
    edited(bench, session)
    ran(bench, session)
    names = [name.split(" · ")[:2] for name in choices(bench.store, session).values()]
    assert names == [
        ["Run 2", "of revision 2"],
        ["Run 1", "of revision 1"],
        ["Revision 2", "edited"],
        ["Revision 1", "edited"],
        ["Rule-based plan", "no model was called"],
    ]


@pytest.mark.slow
def test_a_session_is_compared_as_it_is_now_with_as_it_was_before(bench, session):
    assert last_two(bench.store, session) is None
    first = bench.store.revisions.head(session)
    second = edited(bench, session)
    assert last_two(bench.store, session) == (f"revision:{first.id}", f"revision:{second.id}")
    one = ran(bench, session)
    assert last_two(bench.store, session) == (f"revision:{first.id}", f"revision:{second.id}")
    third = edited(bench, session, instruction="Find it slowly.")
    assert last_two(bench.store, session) == (f"run:{one}", f"revision:{third.id}")
    two = ran(bench, session)
    assert last_two(bench.store, session) == (f"run:{one}", f"run:{two}")


def test_the_address_of_a_comparison_names_both_sides():
    assert compare_query("run:1", "revision:a b") == {"left": "run:1", "right": "revision:a b"}


def compared(bench, session):
    """The three-way table: each row's name, and of its cells mark, notes and the foot's first line."""
    sides = three_sides(bench, session)
    comparison = three_way(sides.first.workflow, sides.edited.workflow, sides.run and sides.run.workflow)
    rows = [
        (row.name, *((cell.mark, cell.notes, cell.foot.split("\n")[0]) for cell in row.cells))
        for row in table(sides, comparison)
    ]
    return heads(sides), summary(sides, comparison), rows


@pytest.mark.slow
def test_three_columns_show_what_was_planned_what_was_edited_and_what_was_run(bench, three):
    session = bench.ask("Which one?").id
    planned = bench.store.revisions.add(session, three, origin="conductor", note="Planned")
    ran(bench, session)
    step = Step(instruction="Sketch two trains from above", worker="beta")
    more = planned.workflow.with_worker(1, "alpha").add_step(step, at=0)
    bench.editing.edit(session, more.remove_step(1), note="Other", head=planned)
    names, words, rows = compared(bench, session)
    assert names == ["Planned: Revision 1", "Edited: Revision 2", "Run: Run 1, finished"]
    assert words == [
        "From plan to edit: 2 steps changed, 1 step added, 1 step removed.",
        "From edit to run: 2 steps changed, 1 step added, 1 step removed.",
    ]
    assert rows == [
        ("", ("", (), "alpha"), ("removed", ("removed",), ""), ("added", ("only in this run",), "alpha")),
        ("1", ("missing", (), "-"), ("added", ("added",), "beta"), ("removed", ("not in this run",), "")),
        ("2", ("", (), "beta"), ("changed", ("worker",), "Worker: beta → alpha."),
         ("changed", ("worker",), "Worker: alpha → beta.")),
        ("3", ("", (), "alpha"), ("changed", ("access",), "No longer reads “1. Find it” (removed)."),
         ("changed", ("access",), "Now reads “1. Find it”.")),
    ]  # fmt: skip


def test_a_session_that_was_not_run_states_it(bench, session):
    names, words, rows = compared(bench, session)
    assert names[0] == "Written: Revision 1"
    assert names[2] == "Run: not yet"
    assert words[1] == "Not run yet."
    assert all(row[3] == ("missing", (), "-") for row in rows)


def test_a_very_long_instruction_is_cut_in_a_cell_and_states_how_much(bench):
    session = bench.ask("Which one?").id
    workflow = Workflow.of([Step(instruction="x" * 100_000, worker="alpha")])
    bench.editing.edit(session, workflow, note="Long")
    sides = three_sides(bench, session)
    cell = table(sides, three_way(workflow, workflow, None))[0].cells[0]
    assert [len(stretch.text) for stretch in cell.text] == [2000, len(" [… 98,000 characters more]")]


def test_a_session_without_a_workflow_has_no_three_ways(bench):
    with pytest.raises(StorageError, match="no workflow yet"):
        three_sides(bench, bench.ask("Which one?").id)
