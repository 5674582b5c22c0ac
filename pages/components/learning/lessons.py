"""Learn from what people made of plans: how many corrections a Conductor can learn, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from conductor.errors import ConductorError
from conductor.learning.corrections.lessons import lessons_of
from conductor.planner.corrections import LeftOut, Row, row_of
from conductor.planner.local.card import read_card
from conductor.text.formatting import percent, quantity
from conductor.workers.local_model import SHIPPED
from pages.components.learning.runs import PLACE
from pages.components.learning.use import use_button
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, watched
from studio.learning.training_run import corrected_below, trained_below
from studio.learning.trainings import trainer

_LEARNING = "learning-corrections"
"""Where the state of the tab has the folder in which corrections are learnt."""

_MOST_TRAININGS = 3
"""Corrected Conductors that are shown, the newest; the others can be chosen to learn from here."""


def lessons_region(shared: Services) -> None:
    """Draw it; what is learnt meanwhile is followed until it is done."""
    st.subheader("Learn from corrections", anchor=False)
    st.caption(
        "A Conductor learns best from the edits that people make to its plans: twenty edited plans "
        "repair a collapsed Conductor in seconds, which more training does not."
    )
    rows = [row_of(each, kind="preferences") for each in shared.workbench.store.corrections.read()]
    folders = {**SHIPPED, **{path.parent.name: path for path in trained_below(shared.trainings.folder)}}
    name = st.selectbox("Conductor", list(folders), key="lessons-model", width=320)
    try:
        lessons, left_out = lessons_of(rows, read_card(folders[name]).workers)
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    for reason, number in left_out.most_common():
        st.caption(plain(f"{number:,} skipped: {reason}."))
    usable = [row for row in rows if not isinstance(row, LeftOut)]
    under_way = _under_way(shared)
    action(
        f"Learn from {quantity(len(lessons), 'correction')}", "school", _learn, shared, str(folders[name]),
        usable, key="lessons-learn", place=PLACE, disabled=not lessons or trainer() is None or under_way,
        help=None if lessons else "Ask it questions on the workbench, and edit its plans",
    )  # fmt: skip
    _outcome(shared)


def _learn(shared: Services, model: str, rows: list[Row]) -> None:
    if not TabState().pressed_again("lessons-learn"):
        st.session_state[_LEARNING] = shared.trainings.learn(model, rows)


def _under_way(shared: Services) -> bool:
    path = st.session_state.get(_LEARNING)
    return path is not None and shared.trainings.runs_here(path)


def _outcome(shared: Services) -> None:
    """What is under way, why the last one of this tab failed, and what others have come to."""
    path: Path | None = st.session_state.get(_LEARNING)
    if _under_way(shared):
        line = ":material/progress_activity: The corrections are being learnt."
        read = partial(_under_way, shared)
        watched(read, lambda _: st.markdown(line), key="lessons-watch", seconds=1.0, was=True)
    elif path is not None and (failure := shared.trainings.failure(path)) is not None:
        st.error(plain(failure, limit=600), icon=":material/error:")
    for folder, learnt in corrected_below(shared.trainings.folder)[:_MOST_TRAININGS]:
        name = folder.parent.name
        with st.container(border=True, gap="small", key=f"learnt-{name}"):
            st.markdown(f":material/check: **{plain(name)}** · {plain(_words(learnt))}")
            use_button(folder, key=f"use-{name}")


def _words(learnt: Mapping[str, Any]) -> str:
    return (
        f"Learnt {quantity(learnt['lessons'], 'correction')} in {learnt['seconds']:.0f} s. Plans as "
        f"corrected: {percent(learnt['same'][0])} before, {percent(learnt['same'][1])} after. Valid "
        f"plans: {percent(learnt['valid'][0])} before, {percent(learnt['valid'][1])} after."
    )
