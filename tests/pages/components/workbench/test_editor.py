"""Edits become revisions with a note; what breaks a rule, or comes malformed from the browser, does not."""

from __future__ import annotations

import pytest
import streamlit as st

from pages.components.tab.page_part import PagePart
from pages.components.workbench import editor as editing
from pages.components.workbench.editor import NEW_INSTRUCTION, Editor
from studio.sessions.notes import AUTHOR
from studio.workbench.editing import EditEnd


@pytest.fixture
def editor(bench, tab, session):
    """Edits the session with three steps."""
    return Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "note", "access", "selected"),
    [
        (lambda e: e.worker(2, "beta"), "Step 3: alpha to beta", [(), (), (0,)], None),
        (lambda e: e.instruction(0, "Search."), "Step 1: instruction", [(), (), (0,)], None),
        (lambda e: e.access(2, gain=[1]), "Step 3: access", [(), (), (0, 1)], None),
        (lambda e: e.add(0), "Step 2 added", [(), (0,), (), (0,)], 1),
        (lambda e: e.add(None), "Step 4 added", [(), (), (0,), (2,)], 3),
        (lambda e: e.remove(0), "Step 1 removed", [(), ()], 0),
        (lambda e: e.remove(2), "Step 3 removed", [(), ()], 1),
        (lambda e: e.move(1, 0), "Step 2 moved to 1", [(), (), (1,)], 0),
    ],
)
def test_an_edit_is_one_revision_with_a_note(editor, edit, note, access, selected):
    edit(editor)
    head = editor.bench.store.revisions.head(editor.session)
    assert (head.number, head.note, head.origin) == (2, note, "human")
    assert [step.access for step in head.workflow.steps] == access
    assert editor.tab.selected == selected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "access"),
    [
        ({"op": "add_access", "from": 1, "to": 2}, [(), (), (0, 1)]),
        ({"op": "remove_access", "from": 0, "to": 2}, [(), (), ()]),
        ({"op": "remove_step", "step": 1}, [(), (0,)]),
        ({"op": "add_step", "step": 1}, [(), (), (1,), (0,)]),
        ({"op": "add_step", "step": None}, [(), (), (0,), (2,)]),
    ],
)
def test_what_the_graph_asks_for_is_done(editor, message, access):
    editor.from_graph(message)
    assert [
        step.access for step in editor.bench.store.revisions.head(editor.session).workflow.steps
    ] == access


@pytest.mark.slow
def test_a_gate_is_set_and_taken_in_one_edit_each(bench, session, editor):
    for gate, note in ((True, "Step 2: gate"), (False, "Step 2: no gate")):
        editor.from_graph({"op": "gate", "step": 1, "gate": gate})
        head = bench.store.revisions.head(session)
        assert (head.workflow.steps[1].gate, head.note) == (gate, note)


@pytest.mark.slow
def test_an_added_step_states_what_it_does_and_goes_to_its_neighbours_worker(bench, session, editor):
    editor.add(1)
    added = bench.store.revisions.head(session).workflow.steps[2]
    assert (added.instruction, added.worker) == (NEW_INSTRUCTION, "beta")


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda e: e.instruction(0, " \n"), "Step 1 has an empty instruction"),
        (lambda e: e.worker(1, "nobody"), "Step 2 names the worker 'nobody'"),
        (lambda e: e.access(1, gain=[2]), "Step 2 reads step 3, which is not before it"),
        (lambda e: e.move(2, 0), "Step 3 cannot move to place 1"),
        (lambda e: e.from_graph({"op": "add_access", "from": 1, "to": 1}), "Step 2 reads itself"),
        (lambda e: e.from_graph({"op": "remove_step", "step": 7}), "There is no step 8"),
        (lambda e: e.from_graph({"op": "gate", "step": 7, "gate": True}), "There is no step 8"),
    ],
)
def test_an_edit_that_breaks_a_rule_keeps_the_workflow_and_states_why(bench, session, editor, edit, expected):
    edit(editor)
    assert bench.store.revisions.head(session).number == 1
    notice = st.session_state["notice"]
    assert (notice.kind, notice.place) == ("error", "edit")
    assert expected in notice.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "message",
    [
        {},
        {"op": "add_access", "from": 0, "to": 9},
        {"op": "add_access", "from": "0", "to": 2},
        {"op": "add_access", "from": 0, "to": 2},
        {"op": "remove_access", "from": 1, "to": 2},
        {"op": "remove_step", "step": None},
        {"op": "gate", "step": 1, "gate": "yes"},
        {"op": "gate", "step": 1, "gate": False},
        {"op": "drop_everything"},
    ],
)
def test_a_wish_from_the_browser_that_means_nothing_changes_nothing(bench, tab, session, editor, message):
    editor.from_graph(message)
    assert bench.store.revisions.head(session).number == 1
    assert "notice" not in st.session_state


@pytest.mark.slow
def test_undo_and_redo_step_through_the_edits_and_drop_a_selection_that_vanishes(bench, tab, session, editor):
    editor.add(None)
    assert tab.selected == 3
    editing.undo(bench, tab, session)
    assert len(bench.store.revisions.head(session).workflow) == 3
    assert tab.selected is None
    editing.redo(bench, tab, session)
    assert bench.store.revisions.head(session).note == "Step 4 added"


def test_undo_of_an_unknown_session_is_stated_beside_the_button(bench, tab):
    editing.undo(bench, tab, "nowhere")
    assert st.session_state["notice"].place == "run"


def drawn_twice(editor):
    """The editors of two widgets of one drawing."""
    return editor, Editor(bench=editor.bench, tab=editor.tab, session=editor.session, head=editor.head)


@pytest.mark.slow
def test_two_widgets_of_one_drawing_edit_on_top_of_each_other(bench, session, editor):
    field, button = drawn_twice(editor)
    field.instruction(0, "Typed.")
    button.add(0)
    head = bench.store.revisions.head(session).workflow
    assert [step.instruction for step in head.steps[:2]] == ["Typed.", NEW_INSTRUCTION]


@pytest.mark.slow
@pytest.mark.parametrize("widgets", [drawn_twice, lambda editor: (editor, editor)], ids=["two", "one"])
def test_after_a_renumbering_an_edit_of_the_same_drawing_is_refused_not_misplaced(
    bench, session, editor, widgets
):
    button, field = widgets(editor)
    button.remove(0)
    assert field.instruction(1, "Typed.") is EditEnd.REFUSED
    assert "renumbered" in st.session_state["notice"].text
    assert bench.store.revisions.head(session).note == "Step 1 removed"


@pytest.mark.slow
def test_an_edit_that_met_another_persons_is_laid_aside_and_nothing_is_overwritten(
    bench, session, editor, three
):
    base = editor.head
    bench.editing.edit(session, three.with_instruction(0, "Theirs."), note="Theirs")
    assert editor.worker(0, "beta") is None
    assert bench.store.revisions.head(session).workflow == three.with_instruction(0, "Theirs.")
    (aside,) = editor.tab.edits_aside(session)
    assert (aside.edited, aside.workflow, aside.note) == (
        base,
        three.with_worker(0, "beta"),
        "Step 1: alpha to beta",
    )
    assert "notice" not in st.session_state


@pytest.mark.slow
def test_an_edit_of_an_older_drawing_goes_on_top_of_what_the_same_tab_changed_since(
    bench, tab, session, three
):
    old = Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))
    Editor(bench=bench, tab=tab, session=session, head=old.head).worker(0, "beta")
    tab.begin_page()
    old.worker(1, "alpha")
    assert bench.store.revisions.head(session).workflow == three.with_worker(0, "beta").with_worker(
        1, "alpha"
    )
    assert tab.edits_aside(session) == ()


@pytest.mark.slow
def test_what_the_same_tab_changed_otherwise_since_is_not_overwritten_either(bench, tab, session, three):
    old = Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))
    Editor(bench=bench, tab=tab, session=session, head=old.head).worker(0, "beta")
    tab.begin_page()
    old.worker(0, "slow")
    assert bench.store.revisions.head(session).workflow == three.with_worker(0, "beta")
    assert [edit.note for edit in tab.edits_aside(session)] == ["Step 1: alpha to slow"]


@pytest.mark.slow
def test_an_edit_names_its_author(bench, session, editor, monkeypatch):
    monkeypatch.setenv(AUTHOR, "Ada")
    editor.worker(0, "beta")
    assert bench.store.revisions.head(session).author == "Ada"


@pytest.mark.slow
def test_restoring_makes_a_revision_under_the_head_once(bench, tab, session, editor, three):
    first = editor.head
    editor.worker(0, "beta")
    head = bench.store.revisions.head(session)
    for _ in range(2):
        Editor(bench=bench, tab=tab, session=session, head=head).restore(first)
    restored = bench.store.revisions.head(session)
    assert (restored.workflow, restored.parent, restored.note) == (three, head.id, "Revision 1 restored")
    assert restored.number == 3


@pytest.mark.slow
def test_undo_leaves_alone_what_another_person_made_since(bench, tab, session, editor, three):
    editor.worker(0, "beta")
    base = bench.store.revisions.head(session)
    bench.editing.edit(session, three, note="Theirs")
    editing.undo(bench, tab, session, PagePart(tab, base, place="page"))
    assert bench.store.revisions.head(session).note == "Theirs"
    assert "nothing was undone" in st.session_state["notice"].text


@pytest.mark.slow
def test_undo_twice_goes_back_twice_also_where_the_page_was_not_drawn_between(bench, tab, session, editor):
    first = editor.head
    editor.worker(0, "beta")
    editor.worker(1, "alpha")
    base = bench.store.revisions.head(session)
    tab.begin_page()
    for _ in range(2):
        editing.undo(bench, tab, session, PagePart(tab, base, place="page"))
    assert bench.store.revisions.head(session) == first
