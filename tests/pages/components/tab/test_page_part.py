"""What the browser sends of an older drawing is no edit; what a person changed there is one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab import page_part
from pages.components.tab.page_part import ECHO_SECONDS, Mark, PagePart, shows
from pages.components.workbench.editor import Editor
from pages.components.workbench.step.step_fields import StepField, positions, take_over


class Browser:
    """The field "f" of a part of the page, and the mark that its messages carry."""

    def __init__(self, tab, head):
        self.view = PagePart(tab, head, place="here")
        self.changes = []
        self._sends = self.view.committing(
            "f", lambda *change: self.changes.append(change), read=lambda sent: sent
        )

    def draw(self, value, *, reached=True, labels=()):
        """Draw the field; `reached`: the browser has drawn that, too."""
        self.view.set_value("f", value, labels=labels)
        st.session_state.setdefault("f", value)
        mark = st.session_state.get(self.view._key)
        self.view.mark()
        st.session_state[self.view._key] = str(self.view._newest) if reached else mark
        return self

    def send(self, value):
        """What was committed by a message with that value."""
        self.changes.clear()
        st.session_state["f"] = value
        self._sends()
        return self.changes


@pytest.fixture
def editor(bench, tab, session):
    """Edits the session with three steps."""
    return Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))


@pytest.fixture
def browser(bench, tab, session):
    return Browser(tab, bench.store.revisions.head(session)).draw("old")


@pytest.mark.slow
def test_what_a_person_changed_is_committed_with_what_it_was(browser):
    assert browser.send("mine") == [("old", "mine")]
    assert browser.send("old") == [("mine", "old")]
    assert browser.send("old") == []


@pytest.mark.slow
def test_a_value_of_an_older_drawing_is_no_edit_however_late_it_comes(browser):
    browser.draw("theirs", reached=False)
    assert browser.send("old") == []
    browser.draw("theirs", reached=False)
    assert browser.send("old") == []


def test_a_change_made_in_an_older_drawing_is_named_apart_from_what_was_drawn_since(browser):
    browser.draw("theirs", reached=False)
    assert browser.send("mine") == [("old", "mine")]
    assert browser.send("mine") == []


@pytest.mark.slow
def test_what_was_drawn_may_be_changed_back(browser):
    browser.draw("theirs")
    assert browser.send("old") == [("theirs", "old")]


@pytest.mark.slow
def test_a_field_whose_labels_changed_is_given_its_value_once_more(browser):
    browser.draw("old", labels=["1. Find"])
    assert browser.view.set_value("f", "old", labels=["1. Seek"])
    assert not browser.view.set_value("f", "old", labels=["1. Seek"])


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ([0, 2], [0, 2]),
        ([2, "1. Find it as it was named before"], [0, 2]),
        (["12. Twelfth", "The previous round"], [-1, 11]),
        ([], []),
        ([0, "Find it"], None),
    ],
)
def test_a_list_of_steps_is_read_by_their_numbers(sent, read):
    assert positions(sent) == read


@pytest.mark.parametrize("text", [None, "", "revision", "revision x", 7])
def test_what_is_no_mark_is_none(text):
    assert Mark.read(text) is None


@pytest.mark.slow
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
    bench, session, head = editor.bench, editor.session, editor.head
    editor.head = bench.editing.edit(session, head.workflow.with_instruction(0, "Theirs."), note="Theirs")
    field = StepField(
        "f",
        shows=lambda workflow: workflow.steps[0].instruction,
        read=lambda sent: sent,
        commit=lambda _, text: (editor.stand_on(head.id), editor.instruction(0, text)),
    )
    st.session_state["f"] = left
    take_over(editor, [field], Mark(head.id, 1))
    edits = [revision.note for revision in bench.store.revisions.of_session(session)[1:]]
    assert [*edits, *(edit.note for edit in editor.tab.edits_aside(session))] == notes


@pytest.mark.slow
def test_an_edit_is_made_of_the_revision_that_the_browser_showed(bench, tab, session, three):
    base = bench.store.revisions.head(session)
    head = bench.editing.edit(session, three.with_access(2, [0, 1]), note="Theirs")
    editor = Editor.of(bench, tab, head, place="here")
    st.session_state["shown-here-" + session] = str(Mark(base.id, 1))
    editor.access(2, lose=[0])
    (aside,) = tab.edits_aside(session)
    assert (aside.edited, aside.workflow) == (base, three.with_access(2, []))
    assert bench.store.revisions.head(session) == head


@pytest.mark.slow
def test_a_revision_of_another_session_is_never_edited(bench, tab, session, three):
    other = bench.store.revisions.import_workflow("Another?", three, pool_label=None).id
    editor = Editor(bench=bench, tab=tab, session=session, head=bench.store.revisions.head(session))
    editor.from_graph({"op": "remove_step", "step": 0, "revision": bench.store.revisions.head(other).id})
    assert (
        len(bench.store.revisions.head(session).workflow),
        len(bench.store.revisions.head(other).workflow),
    ) == (2, 3)


# -- fields that mirror the workflow ------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test sets it, for this module only."""
    now = [100.0]
    monkeypatch.setattr(page_part, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


class Field:
    """The field "f", and what was committed of it."""

    def __init__(self, tab):
        self.tab, self.values = tab, []

    def shows(self, value):
        self._changed = shows(self.tab, "f", value, self.values.append)
        return st.session_state.get("f")

    def sends(self, value):
        """What was committed after the browser sent `value`."""
        st.session_state["f"] = value
        self._changed()
        return self.values


@pytest.fixture
def field(tab):
    return Field(tab)


def test_what_a_field_was_drawn_with_is_no_choice(field):
    field.shows("new")
    assert field.sends("new") == []
    assert field.sends("other") == ["other"]
    assert field.sends("new") == ["other", "new"]


def test_the_old_value_that_comes_back_at_once_is_no_edit(field, clock):
    st.session_state["f"] = "old"
    assert field.shows("new") == "new"
    drawn_to_the_end()
    clock[0] += ECHO_SECONDS / 2
    assert field.sends("old") == []
    assert field.shows("new") == "new"


@pytest.mark.parametrize(("value", "later"), [("third", 0.0), ("old", ECHO_SECONDS * 2)])
def test_another_value_and_the_old_one_later_are_choices(field, clock, value, later):
    st.session_state["f"] = "old"
    field.shows("new")
    drawn_to_the_end()
    clock[0] += later
    assert field.sends(value) == [value]


def test_the_old_value_is_no_edit_before_a_page_that_shows_the_new_one_was_drawn_to_its_end(field, clock):
    field.shows("old")
    drawn_to_the_end()
    field.shows("new")
    clock[0] += ECHO_SECONDS * 2
    assert field.sends("old") == []
    field.shows("new")
    drawn_to_the_end()
    clock[0] += ECHO_SECONDS * 2
    assert field.sends("old") == ["old"]


def test_a_new_field_that_is_emptied_at_once_was_emptied_by_a_person(field):
    field.shows("value")
    assert field.sends(None) == [None]
