"""A field shows what the workflow says, and its old value coming back is no edit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab import synced_field
from pages.components.tab.synced_field import ECHO_SECONDS, committing, mirrored, shows


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so, for this module only: a server's thread lives by the clock."""
    now = [100.0]
    monkeypatch.setattr(synced_field, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def kept(tab):
    """What was committed of the field "f", and how to send a value from the browser."""
    values = []
    changed = committing(tab, "f", values.append)

    def sent(value):
        st.session_state["f"] = value
        changed()
        return values

    return sent


def test_a_field_that_says_what_it_should_is_left_alone(tab, kept):
    assert not mirrored(tab, "f", "new")
    st.session_state["f"] = "new"
    assert not mirrored(tab, "f", "new")
    assert kept("other") == ["other"]


def test_the_old_value_that_comes_back_at_once_is_no_edit(tab, kept, clock):
    st.session_state["f"] = "old"
    assert mirrored(tab, "f", "new")
    assert st.session_state["f"] == "new"
    clock[0] += ECHO_SECONDS / 2
    assert kept("old") == []
    assert mirrored(tab, "f", "new")


@pytest.mark.parametrize(("value", "later"), [("third", 0.0), ("old", ECHO_SECONDS * 2)])
def test_another_value_and_the_old_one_later_are_choices(tab, kept, clock, value, later):
    st.session_state["f"] = "old"
    mirrored(tab, "f", "new")
    clock[0] += later
    assert kept(value) == [value]


def test_the_old_value_is_no_edit_before_a_page_that_tells_the_new_one_was_drawn_to_its_end(tab, kept, clock):
    shows(tab, "f", "old")
    st.session_state["f"] = "old"
    drawn_to_the_end()
    shows(tab, "f", "new")
    clock[0] += ECHO_SECONDS * 2
    assert kept("old") == []
    shows(tab, "f", "new")
    drawn_to_the_end()
    clock[0] += ECHO_SECONDS * 2
    assert kept("old") == ["old"]


def test_a_new_field_that_is_emptied_at_once_was_emptied_by_somebody(tab, kept):
    shows(tab, "f", "value")
    assert kept(None) == [None]


def test_a_text_that_was_refused_stays_to_be_mended(tab):
    st.session_state["f"] = ""
    tab.note_text("f", "", kept=False)
    assert not mirrored(tab, "f", "the workflow's")
