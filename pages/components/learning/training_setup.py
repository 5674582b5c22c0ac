"""A new training: what decides it, and what it takes."""

from __future__ import annotations

import os

import streamlit as st

from conductor.extras import install_command
from conductor.learning.demonstration.settings import DemoSettings
from pages.components.learning.runs import PLACE, open_run
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action
from studio.learning.trainings import trainer

THREADS = min(2, os.cpu_count() or 1)

_DEFAULT = DemoSettings()


def new_training(shared: Services) -> None:
    """Draw the form; *Train* begins, and opens the run."""
    st.subheader("New training", anchor=False)
    st.caption(
        "First comes a warm start: the Conductor copies the plans of a weak teacher, which are "
        "often wrong. Then GRPO samples plans, runs them on the workers and makes those with right answers "
        "more likely. With the default settings, training takes ten to twenty minutes and downloads "
        "nothing."
    )
    with (
        st.expander("Settings", icon=":material/tune:", key="training-settings"),
        st.container(horizontal=True, gap="small", key="training-how"),
    ):
        seed = st.number_input("Seed", min_value=0, value=0, key="train-seed", width=105)
        warm = st.number_input(
            "Warm start, steps", min_value=20, max_value=100_000, value=_DEFAULT.warm_steps,
            key="train-warm", width=150, step=100,
        )  # fmt: skip
        grpo = st.number_input(
            "GRPO, steps", min_value=0, max_value=100_000, value=_DEFAULT.grpo_steps, key="train-grpo",
            width=150, step=25,
        )  # fmt: skip
        shy = st.number_input(
            "Unsplit questions, share", min_value=0.0, max_value=1.0, value=_DEFAULT.shy, step=0.05,
            key="train-shy", width=170,
            help="How often the teacher gives a whole question to one worker; near 1 the plans collapse",
        )  # fmt: skip
        threads = st.number_input(
            "Cores", min_value=1, max_value=64, value=THREADS, key="train-threads", width=105,
            help="Threads for training; leave some for the app",
        )  # fmt: skip
        stop = st.checkbox("Stop if the plans collapse", key="train-stop")
    if trainer() is None:
        st.info(
            "Training needs torch, which is not installed here. Install it with `make learn`, or with "
            f"`{install_command('learn')}` (1.5 GB) in the app's environment, then reload this page.",
            icon=":material/download:",
        )
    settings = DemoSettings(
        seed=int(seed), warm_steps=int(warm), grpo_steps=int(grpo), shy=float(shy), stop_on_collapse=stop
    )
    TabState().show_notice(PLACE)
    action(
        "Train", "play_arrow", _begin, shared, settings, int(threads), key="train", type="primary",
        disabled=trainer() is None, place=PLACE, help=plain(f"In {shared.trainings.folder}"),
    )  # fmt: skip


def _begin(shared: Services, settings: DemoSettings, threads: int) -> None:
    if TabState().pressed_again("train"):
        return
    open_run(shared.trainings.begin(settings, threads).name)
