"""Rows of the access grid: access as the Conductor wrote it, what it means now, what a browser may wish."""

from __future__ import annotations

import pytest

from conductor.errors import WorkflowError
from conductor.planner.parsing.parse import parse
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect
from pages.components.view_models.workflow.access_rows import (
    BEFORE,
    DIALECTS,
    TOOLS,
    AccessRow,
    Wish,
    access_rows,
    granted,
    note_of,
    wishes_of,
)

WORKERS = ["alpha", "beta"]


def plan(entries: str, *, dialect: Dialect = "any"):
    steps = entries.count("[") - 1
    text = (
        f"model_id = {[at % 2 for at in range(steps)]}\n"
        f"subtasks = {[f'task {at + 1}' for at in range(steps)]}\naccess_list = {entries}"
    )
    report = parse(text, workers=WORKERS, dialect=dialect)
    assert report.workflow is not None
    return report


def rows_of(report, workflow=None):
    rows = access_rows(workflow or report.workflow, planned=report.workflow, report=report)
    return [(row.written, row.means, row.edited) for row in rows]


@pytest.mark.parametrize(
    ("dialect", "entries", "expected"),
    [
        (
            "any",
            '[[], [0], ["all"]]',
            [("[]", "nothing"), ("[0]", "step 1"), ('["all"]', "steps 1, 2")],
        ),
        ("position", "[[], [0], [0, 1]]", [("[]", "nothing"), ("[0]", "step 1"), ("[0, 1]", "steps 1, 2")]),
        ("worker", "[[], [0], [1]]", [("[]", "nothing"), ("[0]", "step 1"), ("[1]", "step 2")]),
        ("binary", '[[], [], ["all"]]', [("[]", "nothing"), ("[]", "nothing"), ('["all"]', "steps 1, 2")]),
    ],
)
def test_each_row_has_the_entry_as_it_was_written_and_what_it_means(dialect, entries, expected):
    assert rows_of(plan(entries, dialect=dialect)) == [(*row, False) for row in expected]
    assert dialect in DIALECTS


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        ((), "nothing"),
        ((1,), "step 2"),
        ((0, 1), "steps 1, 2"),
        ((0, 1, 2), "steps 1 to 3"),
        ((0, 2, 3, 4, 6), "steps 1, 3 to 5, 7"),
    ],
)
def test_steps_in_a_row_are_reported_as_from_and_to(reads, words):
    assert (
        AccessRow("", reads, sees_previous=False, sees_files=True, written=None, edited=False).means == words
    )


def test_an_edited_entry_states_it_and_what_it_means_now():
    report = plan('[[], [0], ["all"]]')
    edited = report.workflow.with_access(2, (1,))
    assert rows_of(report, edited)[2] == ('["all"]', "step 2", True)
    assert rows_of(report, edited.with_access(2, (0, 1)))[2] == ('["all"]', "steps 1, 2", False)
    sees = report.workflow.with_sight_of_previous(1, True)
    assert rows_of(report, sees)[1] == ("[0]", "the previous round and step 1", True)


def test_entries_follow_their_steps_where_steps_are_added_moved_and_removed():
    report = plan("[[], [0], [1]]")
    added = report.workflow.add_step(Step(instruction="new", worker="beta"), at=0)
    assert rows_of(report, added) == [
        (None, "nothing", False),
        ("[]", "nothing", False),
        ("[0]", "step 2", False),
        ("[1]", "step 3", False),
    ]
    removed = report.workflow.remove_step(0)
    assert rows_of(report, removed) == [("[0]", "nothing", True), ("[1]", "step 1", False)]
    moved = plan("[[], [], [0]]").workflow.move_step(1, 0)
    assert rows_of(plan("[[], [], [0]]"), moved)[2] == ("[0]", "step 2", False)


def test_a_step_with_another_instruction_keeps_its_entry_where_no_steps_came_or_went():
    report = plan("[[], [0]]")
    assert rows_of(report, report.workflow.with_instruction(1, "Other."))[1] == ("[0]", "step 1", False)


def test_without_a_plan_there_is_no_entry():
    workflow = Workflow.of([Step(instruction="a", worker="alpha")])
    (row,) = access_rows(workflow)
    assert (row.written, row.edited, row.name) == (None, False, "1. a")
    report = plan("[[], [0]]")
    assert [row.written for row in access_rows(report.workflow, planned=None, report=report)] == [None, None]


def test_a_long_entry_is_cut():
    steps = 40
    entries = str([[*range(at)] for at in range(steps)])
    text = f"model_id = {[0] * steps}\nsubtasks = {['a'] * steps}\naccess_list = {entries}"
    report = parse(text, workers=WORKERS, dialect="any", max_steps=steps)
    rows = access_rows(report.workflow, planned=report.workflow, report=report)
    assert rows[-1].written.endswith("…")
    assert len(rows[-1].written) <= 61


@pytest.mark.parametrize(
    ("message", "wishes"),
    [
        ({"wishes": [{"reader": 2, "read": 1, "sees": True}], "at": 5}, (Wish(2, 1, True),)),
        ({"wishes": [{"reader": 0, "read": -1, "sees": False}], "at": 5}, (Wish(0, BEFORE, False),)),
        ({"wishes": [{"reader": 0, "read": -1, "sees": False}]}, ()),
        ({"wishes": [{"reader": "2", "read": 1, "sees": True}, None, {}], "at": 5}, ()),
        ({"wishes": "all"}, ()),
        (None, ()),
    ],
)
def test_what_comes_from_the_browser_is_read_with_care(message, wishes):
    assert wishes_of(message) == wishes


def test_wishes_give_and_take_access_and_the_round_before():
    workflow = Workflow.of([Step(instruction=str(at), worker="alpha") for at in range(3)])
    after = granted(workflow, [Wish(2, 0, True), Wish(2, 1, True), Wish(1, BEFORE, True), Wish(2, 0, False)])
    assert [step.access for step in after.steps] == [(), (), (1,)]
    assert [step.sees_previous for step in after.steps] == [False, True, False]
    assert note_of([Wish(2, 0, True), Wish(2, 1, True)]) == "Step 3: access"
    assert note_of([Wish(2, 0, True), Wish(0, BEFORE, True)]) == "Steps 1, 3: access"


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(1, 1, True), "Step 2 reads itself"),
        (Wish(0, 2, True), "Step 1 reads step 3, which is not before it"),
        (Wish(1, -4, True), "positions start at 0"),
        (Wish(3, 0, True), "There is no step 4"),
        (Wish(-1, 0, True), "There is no step 0"),
    ],
)
def test_an_impossible_wish_is_refused_with_its_reason(wish, expected):
    workflow = Workflow.of([Step(instruction=str(at), worker="alpha") for at in range(3)])
    with pytest.raises(WorkflowError, match=expected):
        granted(workflow, [wish])


@pytest.mark.parametrize(("sees", "tools"), [(True, None), (False, ())])
def test_a_step_may_call_all_tools_of_its_worker_or_none(sees, tools):
    workflow = plan("[[], [0]]").workflow.with_tools(1, ["web"])
    wishes = wishes_of({"wishes": [{"reader": 1, "read": TOOLS, "sees": sees}], "at": 1})
    assert [step.tools for step in granted(workflow, wishes).steps] == [None, tools]
