"""Settings below the question: preset, limits, the budget, and which workers in which order.

They belong to the open session, else to the next one. Knows the workbench and the tab.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Literal

import streamlit as st

from conductor.errors import ConductorError
from conductor.values.budget import Budget, Limit
from conductor.values.presets import MAX_ROUNDS, MODES, Mode, Settings
from conductor.workflow.model import MAX_STEPS
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.page_part import committing, shows
from pages.components.tab.state import TabState, plain
from pages.components.view_models import settings_choices
from pages.components.widgets.controls import action, row
from studio.workbench import Workbench

# The row moves, and at its end the other arrow is left.
focus_fallback("worker-move-up-*", "worker-move-down-*")
focus_fallback("worker-move-down-*", "worker-move-up-*")

Chip = Literal["preset", "steps", "budget", "pool"]

_CHIPS: dict[Chip, str] = {"preset": "tune", "steps": "steps", "budget": "savings", "pool": "groups"}
"""The icon of each."""

# Its label changes, and it is drawn again.
for _chip in _CHIPS:
    focus_fallback(f"settings-{_chip}")

_ROWS_SHOWN = 7
"""More workers than this scroll."""

_BUDGET: dict[Limit, tuple[str, float | int, float | int, str]] = {
    "tokens": ("Tokens", 1, 1_000, "%d"),
    "cost": ("Cost in $", 0.0001, 0.05, "%g"),
    "seconds": ("Seconds", 1.0, 10.0, "%g"),
    "calls": ("Calls", 1, 1, "%d"),
}
"""Of each limit: its label, the least, the step of its buttons, and how it is written."""


def settings_of(bench: Workbench, tab: TabState) -> Settings:
    """What is chosen: by the open session, else for the next one."""
    try:
        return tab.settings if tab.session is None else bench.settings(tab.session)
    except ConductorError:
        # The page shows the session's error; the composer stays usable.
        return tab.settings


def move_key(worker: str, way: str) -> str:
    """The key of the button that moves a worker "up" or "down"; it goes where the worker goes."""
    return f"worker-move-{way}-{sha256(worker.encode()).hexdigest()[:12]}"


def chip_key(chip: Chip) -> str:
    """The key of a chip, which holds whether it is open."""
    return f"settings-{chip}"


def open_settings(chip: Chip) -> None:
    """Have this chip open on the next run of the page."""
    for other in _CHIPS:
        st.session_state[chip_key(other)] = other == chip


def settings_chips(bench: Workbench, tab: TabState) -> None:
    """Draw them: each shows what is chosen, and opens to change it."""
    panel = _Panel(bench, tab)
    draws = {"preset": panel.preset, "steps": panel.steps, "budget": panel.budget, "pool": panel.workers}
    for chip, icon in _CHIPS.items():
        key = chip_key(chip)
        label = plain(settings_choices.CHIPS[chip](panel.chosen, panel.names))
        # Streamlit closes a popover whose label changes, so that of an open one stays.
        if not st.session_state.get(key) or f"{key}-label" not in st.session_state:
            st.session_state[f"{key}-label"] = label
        label = st.session_state[f"{key}-label"]
        box = st.popover(label, icon=f":material/{icon}:", type="tertiary", key=key, on_change="rerun")
        if box.open:
            with box, st.container(key=f"settings-rows-{chip}", gap=None):
                draws[chip]()
                st.caption(panel.belongs)
                tab.show_notice("settings")


class _Panel:
    """What the chips open to; each change is stored at once."""

    def __init__(self, bench: Workbench, tab: TabState) -> None:
        self.bench, self.tab = bench, tab
        self.chosen = settings_of(bench, tab)
        self.names = bench.pool.names
        self.place = tab.session or "next"

    @property
    def belongs(self) -> str:
        """What the settings count for."""
        return (
            "For this session, from its next plan or run on."
            if self.tab.session
            else "For the next question."
        )

    def keep(self, change: Callable[[Settings], Settings]) -> None:
        """Change what is kept by now, which another widget of the same run may have changed as well."""
        session = self.tab.session
        settings = change(settings_of(self.bench, self.tab))
        try:
            if session is not None:
                self.bench.store.sessions.set_settings(session, settings)
            else:
                self.tab.settings = settings
        except ConductorError as error:
            self.tab.notify("error", str(error), place="settings")

    def preset(self) -> None:
        key = f"mode-{self.place}"
        mode = settings_choices.mode_of(self.chosen)
        shows(self.tab, key, mode)

        def chosen(mode: Mode | None) -> None:
            if mode is not None:
                self.keep(lambda settings: settings_choices.with_mode(settings, mode))

        st.segmented_control(
            "Mode", list(MODES), key=key, width="stretch", on_change=committing(self.tab, key, chosen)
        )
        st.caption(settings_choices.MODE_LINES[mode] if mode is not None else "Steps and rounds as chosen.")
        self._economy()

    def steps(self) -> None:
        with st.container(horizontal=True, gap="small"):
            self._number("max_steps", "Steps at most", most=MAX_STEPS)
            self._number("rounds", "Rounds at most", most=MAX_ROUNDS)

    def _economy(self) -> None:
        """Whom the lowest price leaves."""
        cards = self.bench.pool.cards
        used = [cards[name] for name in settings_choices.used(self.chosen, self.names) if name in cards]
        if line := settings_choices.economy(self.chosen, used):
            st.caption(plain(line))

    def _number(self, name: str, label: str, *, most: int) -> None:
        key = f"{name}-{self.place}"
        shows(self.tab, key, getattr(self.chosen, name))

        def chosen(number: int) -> None:
            self.keep(lambda settings: settings.model_copy(update={name: int(number)}))

        st.number_input(
            label, min_value=1, max_value=most, step=1, key=key, on_change=committing(self.tab, key, chosen)
        )

    # -- workers ---------------------------------------------------------------------------------

    def workers(self) -> None:
        used = settings_choices.used(self.chosen, self.names)
        rows = settings_choices.roster(self.chosen, self.names)
        st.markdown(
            "Workers the Conductor may use",
            help="It sees them numbered in this order. Untick a worker to exclude it.",
        )
        height: Literal["content"] | int = 290 if len(rows) > _ROWS_SHOWN else "content"
        with st.container(height=height, border=False, gap=None, key="settings-workers"):
            for at, (name, use) in enumerate(rows):
                self._worker(at, name, use=use, used=used)
        self._economy()

    def _worker(self, at: int, name: str, *, use: bool, used: tuple[str, ...]) -> None:
        key = f"use-{self.place}-{name}"
        shows(self.tab, key, use)

        def chosen(use: bool) -> None:
            self.keep(lambda settings: settings_choices.with_use(settings, self.names, name, use=use))

        def move(to: int) -> None:
            self.keep(lambda settings: settings_choices.moved(settings, self.names, name, to=to))

        card = self.bench.pool.cards.get(name)
        kind = "not in the pool" if card is None else "cannot be used" if card.unusable else card.kind
        label = plain(name, limit=40) + (f" · {kind}" if kind != "model" else "")
        only = use and len(used) == 1
        with row(f"settings-row-{at}"):
            st.checkbox(
                label,
                key=key,
                width="stretch",
                wrap=False,
                disabled=only,
                help="At least one worker is needed." if only else None,
                on_change=committing(self.tab, key, chosen),
            )
            for word, icon, by in (("Up", "arrow_upward", -1), ("Down", "arrow_downward", 1)):
                end = used[:1] if by < 0 else used[-1:]
                action(
                    f"{word}: {plain(name, limit=40)}",
                    icon,
                    move,
                    # To a place, not by one: the browser may send one press twice.
                    used.index(name) + by if use else 0,
                    key=move_key(name, word.lower()),
                    disabled=not use or (name,) == end,
                    type="tertiary",
                )

    # -- budget ----------------------------------------------------------------------------------

    def budget(self) -> None:
        st.markdown("Budget of a run", help="Includes the planning before it and all rounds that follow.")
        limits = list(_BUDGET)
        for pair in (limits[:2], limits[2:]):
            with st.container(horizontal=True, gap="small"):
                for limit in pair:
                    self._limit(limit)

    def _limit(self, limit: Limit) -> None:
        label, least, step, form = _BUDGET[limit]
        key = f"budget-{limit}-{self.place}"
        shows(self.tab, key, getattr(self.chosen.budget, limit))

        def chosen(number: float | None) -> None:
            def limited(settings: Settings) -> Settings:
                budget = Budget.model_validate(settings.budget.model_dump() | {limit: number})
                return settings.model_copy(update={"budget": budget})

            self.keep(limited)

        st.number_input(
            label,
            min_value=least,
            step=step,
            format=form,
            value=None,
            key=key,
            placeholder="no limit",
            on_change=committing(self.tab, key, chosen),
        )
