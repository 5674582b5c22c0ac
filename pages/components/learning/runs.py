"""The list of trainings, and how far one is with the buttons that stop it or go on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from conductor.text.formatting import percent
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row
from studio.learning.training_run import State, TrainingRun

PLACE = "learning"
"""Where notices about trainings stand."""

STATES: Mapping[State, tuple[str, str]] = {
    "running": (":material/progress_activity:", "training"),
    "interrupted": (":material/pause_circle:", "stopped"),
    "collapsed": (":material/warning:", "collapsed"),
    "done": (":material/check_circle:", "done"),
}
"""Icon and words of each state."""


def open_run(name: str | None) -> None:
    """Have the page show that run; None: the list."""
    st.query_params.from_dict({} if name is None else {"run": name})


def run_list(runs: Sequence[TrainingRun]) -> None:
    """Draw it, the newest first."""
    with st.container(key="trainings", gap="small"):
        for run in runs:
            icon, words = STATES[run.state]
            with st.container(key=f"training-{run.name}", gap=None):
                st.button(
                    plain(run.name, limit=80), key=f"open-{run.name}", icon=icon, type="tertiary",
                    help="Open the curves", on_click=open_run, args=(run.name,),
                )  # fmt: skip
                st.caption(plain(" · ".join([words, *facts(run)])))


def facts(run: TrainingRun) -> list[str]:
    """What a run is set to, how far it is, and what came of it."""
    settings = run.settings
    lines = [
        f"seed {settings.seed}",
        f"{settings.warm_steps:,} steps of the warm start, {settings.grpo_steps:,} of GRPO",
    ]
    if run.results is not None:
        lines.append(f"{percent(run.results.sampled)} of sampled plans are right")
    return lines


def progress(shared: Services, run: TrainingRun, *, threads: int) -> None:
    """A bar while it goes on, else why it does not; nothing where it is done."""
    TabState().show_notice(PLACE)
    state = run.state
    if state != "done":
        icon, words = STATES[state]
        with st.container(key="training-progress", border=True, gap="small"):
            st.progress(run.share)
            with row():
                st.markdown(
                    f"{icon} **{words.capitalize()}** · {plain(_progress_words(run))}", width="stretch"
                )
                _buttons(shared, run, threads=threads)
            # Of a run that ends after it was read the next drawing names it, beside the button that goes on.
            if state == "interrupted" and (failure := shared.trainings.failure(run.path)) is not None:
                st.caption(plain(failure, limit=600))
    for step, alarm in run.alarms:
        text = f"Step {step}: {alarm.what}. Remedy: {alarm.cure}."
        st.warning(plain(text, limit=600), icon=":material/warning:")


def _buttons(shared: Services, run: TrainingRun, *, threads: int) -> None:
    trainings = shared.trainings
    if run.state == "interrupted":
        action(
            "Resume", "play_arrow", trainings.resume, run.path, run.settings, threads, key="training-resume",
            type="primary", help="Continues from the last checkpoint", place=PLACE,
        )  # fmt: skip
    elif trainings.runs_here(run.path):
        action(
            "Stop", "stop", trainings.stop, run.path, key="training-stop", place=PLACE,
            help="The last checkpoint stays; you can resume it",
        )  # fmt: skip


def _progress_words(run: TrainingRun) -> str:
    settings = run.settings
    if run.state == "running" and not run.losses:
        return "starting"
    if run.warm_step < settings.warm_steps:
        return f"step {run.warm_step:,} of {settings.warm_steps:,} of the warm start"
    if run.state == "running" and run.grpo_step >= settings.grpo_steps:
        return "measuring on held-out questions"
    text = f"step {run.grpo_step:,} of {settings.grpo_steps:,} of GRPO"
    owner = run.trained_by
    return text if owner is None else f"{text} · process {owner.process}"
