"""The marks of workers: seen on both themes, distinguished by everyone, the same for the same name."""

from __future__ import annotations

import tomllib
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from conductor.drawing.marks import COLOURS, MARKS, marks

THEME = tomllib.loads(Path(".streamlit/config.toml").read_text(encoding="utf-8"))["theme"]
GROUNDS = [
    part[name]
    for theme in ("light", "dark")
    for part in (THEME[theme], THEME[theme]["sidebar"])
    for name in ("backgroundColor", "secondaryBackgroundColor")
]
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What is left of linear RGB: Machado, Oliveira and Fernandes (2009), severity 1."""


def linear(hue):
    values = np.array([int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light):
    ratio = XYZ @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("colour", COLOURS)
def test_a_mark_is_seen_on_every_ground_of_both_themes(colour):
    own = (XYZ @ linear(MARKS[colour].hue))[1]
    for ground in GROUNDS:
        darker, lighter = sorted((own, (XYZ @ linear(ground))[1]))
        assert (lighter + 0.05) / (darker + 0.05) >= 3, ground


@pytest.mark.parametrize(("sight", "least"), [(sight, 30 if sight == "usual" else 5) for sight in SIGHTS])
def test_colours_differ_for_every_eye(sight, least):
    seen = [lab(np.array(SIGHTS[sight]) @ linear(mark.hue)) for mark in MARKS.values()]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > least


def test_no_two_marks_have_one_shape():
    assert len({mark.points for mark in MARKS.values()}) == len(COLOURS)


def test_a_worker_has_the_same_mark_in_every_pool_in_which_its_colour_is_free():
    alone = marks({"reader": None})["reader"]
    assert marks({"reader": None, "writer": None})["reader"] == alone


def test_workers_of_one_pool_differ_while_colours_last():
    names = [f"worker-{number}" for number in range(11)]
    assert len({mark.colour for mark in marks(dict.fromkeys(names[:8])).values()}) == 8
    assert max(Counter(mark.colour for mark in marks(dict.fromkeys(names)).values()).values()) == 2


def test_a_colour_that_was_chosen_is_taken_by_no_other_worker():
    own = marks({"reader": None})["reader"].colour
    both = marks({"reader": None, "writer": own})
    assert both["writer"].colour == own
    assert both["reader"].colour == COLOURS[(COLOURS.index(own) + 1) % len(COLOURS)]


def test_the_html_of_a_mark_has_its_hue_and_its_corners():
    mark = MARKS["teal"]
    assert f"background: {mark.hue};" in mark.html
    assert mark.html.count("%") == 2 * len(mark.points.split())
