"""What a player may ask for: a wish comes from the browser and is believed only as far as it makes sense."""

from __future__ import annotations

import math

import pytest

from conductor.runs.replay import Replay
from pages.components.view_models.replay import moment_text, read_replay, unit_of

WISH = {"position": 1.5, "playing": True, "speed": 2, "mark": "1"}


def ask(wish):
    return read_replay(wish, run="r", revision="v", seconds=5.0, now=100.0)


def test_a_wish_is_carried_out_from_now_on():
    replay = Replay(run="r", revision="v", seconds=5.0, position=1.5, speed=2.0, playing_since=100.0)
    assert ask(WISH) == replay
    assert ask(WISH | {"playing": False}) == Replay(
        run="r", revision="v", seconds=5.0, position=1.5, speed=2.0, playing_since=None
    )


@pytest.mark.parametrize(
    "wish",
    [
        None,
        "play",
        [],
        {},
        {"mark": "1"},
        WISH | {"position": 5.0},
        WISH | {"position": 6},
        WISH | {"position": "1"},
        WISH | {"position": True},
        WISH | {"position": math.nan},
        WISH | {"position": math.inf},
        WISH | {"speed": 3},
        WISH | {"speed": 0},
        WISH | {"speed": -1},
        WISH | {"speed": None},
        WISH | {"speed": 0.1},
    ],
    ids=repr,
)
def test_what_makes_no_sense_leads_to_the_end(wish):
    assert ask(wish) is None


def test_a_position_before_the_run_is_its_beginning():
    assert ask(WISH | {"position": -3}).position == 0


@pytest.mark.parametrize("playing", [1, "yes", None], ids=repr)
def test_only_true_plays(playing):
    assert not ask(WISH | {"playing": playing}).playing


@pytest.mark.parametrize(
    ("position", "seconds", "words"),
    [
        (1.2, 5.0, "1.2 of 5.0 s"),
        (0.0, 599.9, "0.0 of 599.9 s"),
        (90.0, 600.0, "1.5 of 10.0 min"),
        (0.412, 0.833, "0.41 of 0.83 s"),
        (0.0123, 0.048, "12 of 48 ms"),
        (0.0012, 0.0048, "1.2 of 4.8 ms"),
        (0.0, 0.0, "0.0 of 0.0 ms"),
    ],
)
def test_a_moment_is_stated_in_the_unit_of_its_run(position, seconds, words):
    assert moment_text(position, seconds) == words
    assert unit_of(seconds).name == words.split()[-1]
