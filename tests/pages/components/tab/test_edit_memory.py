"""Edits that wait for a decision: each in its session, in order."""

from __future__ import annotations

from pages.components.tab.edit_memory import EditAside


def test_edits_wait_in_order_until_each_is_settled(bench, tab, session, three):
    head = bench.store.revisions.head(session)
    first, second = (EditAside(session, head, three.with_worker(0, "beta"), note) for note in ("One", "Two"))
    tab.lay_aside(first)
    tab.lay_aside(second)
    assert tab.edits_aside("another") == ()
    for settled, left in ((None, (first, second)), (first, (second,)), (first, (second,)), (second, ())):
        if settled is not None:
            tab.settle(settled)
        assert tab.edits_aside(session) == left
