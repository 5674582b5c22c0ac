"""What the browser sends of an older drawing is no edit; what a person changed there is one."""

from __future__ import annotations

import pytest
import streamlit as st

from pages.components.tab.drawing import Mark, Shown
from pages.components.workbench.editing.editor import Editor
from pages.components.workbench.editing.step_fields import StepField, positions, take_over


class Browser:
    """The field "f" of a part of the page, and the mark that its messages carry."""

    def __init__(self, tab, head):
        self.shown = Shown(tab, head, place="here")
        self.made = []
        self._sends = self.shown.committing(
            "f", lambda *change: self.made.append(change), read=lambda sent: sent
        )

    def draw(self, value, *, reached=True, labels=()):
        """Draw the field; `reached`: the browser has drawn that, too."""
        self.shown.given("f", value, labels=labels)
        st.session_state.setdefault("f", value)
        mark = st.session_state.get(self.shown._key)
        self.shown.mark()
        st.session_state[self.shown._key] = str(self.shown._newest) if reached else mark
        return self

    def send(self, value):
        """What was committed by a message with that value."""
        self.made.clear()
        st.session_state["f"] = value
        self._sends()
        return self.made


@pytest.fixture
def editor(bench, tab, session):
    """Edits the session with three steps."""
    return Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))


@pytest.fixture
def browser(bench, tab, session):
    return Browser(tab, bench.store.revisions.head(session)).draw("old")


def test_what_a_person_changed_is_committed_with_what_it_was(browser):
    assert browser.send("mine") == [("old", "mine")]
    assert browser.send("old") == [("mine", "old")]
    assert browser.send("old") == []


def test_a_value_of_an_older_drawing_is_no_edit_however_late_it_comes(browser):
    browser.draw("theirs", reached=False)
    assert browser.send("old") == []
    browser.draw("theirs", reached=False)
    assert browser.send("old") == []


def test_a_change_made_in_an_older_drawing_is_told_apart_from_what_was_drawn_since(browser):
    browser.draw("theirs", reached=False)
    assert browser.send("mine") == [("old", "mine")]
    assert browser.send("mine") == []


def test_what_was_drawn_may_be_changed_back(browser):
    browser.draw("theirs")
    assert browser.send("old") == [("theirs", "old")]


def test_a_field_whose_labels_changed_is_given_its_value_once_more(browser):
    browser.draw("old", labels=["1. Find"])
    assert browser.shown.given("f", "old", labels=["1. Seek"])
    assert not browser.shown.given("f", "old", labels=["1. Seek"])


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ([0, 2], [0, 2]),
        ([2, "1. Find it as it was named before"], [0, 2]),
        (["12. Twelfth", "The round before"], [-1, 11]),
        ([], []),
        ([0, "Find it"], None),
    ],
)
def test_a_list_of_steps_is_read_by_their_numbers(sent, read):
    assert positions(sent) == read


@pytest.mark.parametrize("text", [None, "", "revision", "revision x", 7])
def test_what_is_no_mark_is_none(text):
    assert Mark.read(text) is None


@pytest.mark.parametrize(
    ("left", "notes"),
    [
        ("Find it.", ["Theirs"]),
        ("Mine.", ["Theirs", "Step 1: instruction"]),
        ("Theirs.", ["Theirs"]),
    ],
)
def test_after_a_restart_only_what_a_person_changed_is_committed(editor, monkeypatch, left, notes):
    monkeypatch.setattr(st, "rerun", lambda: None)
    bench, session, drawn = editor.bench, editor.session, editor.head
    editor.head = bench.editing.edit(session, drawn.workflow.with_instruction(0, "Theirs."), note="Theirs")
    field = StepField(
        "f",
        shows=lambda workflow: workflow.steps[0].instruction,
        read=lambda sent: sent,
        commit=lambda _, text: (editor.stand_on(drawn.id), editor.instruction(0, text)),
    )
    st.session_state["f"] = left
    take_over(editor, [field], Mark(drawn.id, 1))
    kept = [revision.note for revision in bench.store.revisions.of_session(session)[1:]]
    assert [*kept, *(edit.note for edit in editor.tab.edits_aside(session))] == notes


def test_an_edit_is_made_of_the_revision_that_the_browser_showed(bench, tab, session, three):
    drawn = bench.store.revisions.head(session)
    head = bench.editing.edit(session, three.with_access(2, [0, 1]), note="Theirs")
    editor = Editor.of(bench, tab, head, place="here")
    st.session_state["shown-here-" + session] = str(Mark(drawn.id, 1))
    editor.access(2, lose=[0])
    (aside,) = tab.edits_aside(session)
    assert (aside.edited, aside.workflow) == (drawn, three.with_access(2, []))
    assert bench.store.revisions.head(session) == head


def test_a_revision_of_another_session_is_never_edited(bench, tab, session, three):
    other = bench.store.revisions.import_workflow("Another?", three, pool_label=None).id
    editor = Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))
    editor.from_graph({"op": "remove_step", "step": 0, "revision": bench.store.revisions.head(other).id})
    assert (
        len(bench.store.revisions.head(session).workflow),
        len(bench.store.revisions.head(other).workflow),
    ) == (2, 3)
