"""Edits that wait for a decision: each in its tab and its session, in order."""

from __future__ import annotations

import pytest

from pages.components.tab.edit_memory import TABS, EditAside, EditsAside


@pytest.fixture
def edit(bench, session, three):
    """Makes an edit of the session that was not applied."""
    head = bench.store.revisions.head(session)
    return lambda note="Mine": EditAside(session, head, three.with_worker(0, "beta"), note)


def test_edits_wait_in_order_until_each_is_settled(edit, session):
    aside, first, second = EditsAside(), edit("One"), edit("Two")
    key = aside.lay(None, first)
    assert aside.lay(key, second) == key
    assert aside.of(key, session) == (first, second)
    for settled, left in ((first, (second,)), (first, (second,)), (second, ())):
        aside.settle(key, settled)
        assert aside.of(key, session) == left


def test_edits_are_of_one_tab_and_one_session(edit, session):
    aside = EditsAside()
    key = aside.lay(None, edit())
    assert aside.of(None, session) == aside.of("another", session) == aside.of(key, "another") == ()
    aside.settle(None, edit())
    assert len(aside.of(key, session)) == 1


@pytest.mark.slow
def test_the_tab_that_was_longest_without_an_edit_is_forgotten_first(edit, session):
    aside = EditsAside()
    keys = [aside.lay(None, edit()) for _ in range(TABS)]
    aside.lay(keys[0], edit())
    aside.lay(None, edit())
    assert aside.of(keys[1], session) == ()
    assert len(aside.of(keys[0], session)) == 2
