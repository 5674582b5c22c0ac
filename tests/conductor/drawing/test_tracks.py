"""Edges between two rows run across on tracks of their own, in an order in which they cross little."""

from __future__ import annotations

import pytest

from conductor.drawing.tracks import Run, tracks


@pytest.mark.parametrize(
    ("runs", "levels"),
    [
        ({}, {}),
        ({"a": Run(5, 5, "a")}, {}),
        ({"a": Run(0, 100, "a"), "b": Run(200, 300, "b")}, {"a": 0, "b": 0}),
        ({"a": Run(0, 100, "a"), "b": Run(20, 200, "b")}, {"a": 1, "b": 0}),
        ({"a": Run(200, 100, "a"), "b": Run(220, 0, "b")}, {"a": 0, "b": 1}),
        ({"a": Run(0, 100, "lane"), "b": Run(20, 100, "lane")}, {"a": 0, "b": 0}),
        ({"a": Run(0, 100, "a"), "b": Run(200, 0, "b")}, {"a": 0, "b": 1}),
        ({"a": Run(0, 200, "a"), "b": Run(200, 100, "b")}, {"a": 1, "b": 0}),
    ],
    ids=str,
)
def test_edges_that_would_lie_on_one_another_get_tracks_of_their_own(runs, levels):
    assert tracks(runs) == levels


def test_edges_that_wait_for_one_another_are_drawn_all_the_same():
    assert sorted(tracks({"a": Run(0, 100, "a"), "b": Run(100, 0, "b")}).values()) == [0, 1]
