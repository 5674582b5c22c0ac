"""Settings below the question, in one menu: preset, limits, the budget, which workers in which order, and who
else may plan.

They belong to the open session, else to the next one. Knows the workbench and the tab.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Literal

import streamlit as st

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import PREFIX, WORKER
from conductor.baselines.planner_file.file_planner import PREFIX as PLANNER
from conductor.errors import ConductorError
from conductor.values.budget import Budget, Limit
from conductor.values.presets import MAX_ROUNDS, MODES, Mode, Settings
from conductor.workflow.model import MAX_WRITTEN_STEPS
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.page_part import shows
from pages.components.tab.state import TabState, plain
from pages.components.view_models import settings_choices
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.widgets.labels import distinct_labels
from studio.workbench import Workbench

# The row moves, and at its end the other arrow is left.
focus_fallback("worker-move-up-*", "worker-move-down-*")
focus_fallback("worker-move-down-*", "worker-move-up-*")

MENU = "settings"
"""The key of the menu, which holds whether it is open."""

# Its label changes, and it is drawn again.
focus_fallback(MENU)

_VISIBLE_ROWS = 7
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


def open_settings() -> None:
    """Have the menu open on the next run of the page."""
    st.session_state[MENU] = True


def settings_menu(
    bench: Workbench, tab: TabState, view: SessionView | None, *, head: Callable[[], None]
) -> None:
    """Draw it: it shows what is chosen, and opens to `head` and to what changes it, or plans otherwise."""
    panel = _Panel(bench, tab)
    at_once = "Runs at once · " if tab.runs_plans else ""
    label = plain(at_once + settings_choices.summary(panel.chosen, panel.names))
    # Streamlit closes a popover whose label changes, so that of an open one stays.
    if not st.session_state.get(MENU) or f"{MENU}-label" not in st.session_state:
        st.session_state[f"{MENU}-label"] = label
    label = st.session_state[f"{MENU}-label"]
    box = st.popover(label, icon=":material/tune:", type="tertiary", key=MENU, on_change="rerun")
    if box.open:
        with box, st.container(key="settings-rows", gap=None):
            for draw in (head, panel.planner, panel.preset, panel.steps, panel.workers, panel.budget):
                draw()
            st.caption(panel.belongs)
            if view is not None and view.head is not None:
                plan_as(bench, view)
            tab.show_notice("settings")


class _Panel:
    """What the menu opens to; each change is stored at once."""

    def __init__(self, bench: Workbench, tab: TabState) -> None:
        self.bench, self.tab = bench, tab
        self.chosen = settings_of(bench, tab)
        self.names = bench.pool.names
        self.place = tab.session or "next"

    @property
    def belongs(self) -> str:
        """What the settings count for."""
        return (
            "For this session, starting with the next plan or run."
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

        def chosen(mode: Mode | None) -> None:
            if mode is not None:
                self.keep(lambda settings: settings_choices.with_mode(settings, mode))

        st.segmented_control(
            "Mode", list(MODES), key=key, width="stretch", on_change=shows(self.tab, key, mode, chosen)
        )
        st.caption(settings_choices.MODE_LINES[mode] if mode is not None else "Your own limits.")
        self._economy()

    def planner(self) -> None:
        """Who plans, where a planner has learnt on the pool."""
        options = settings_choices.planners(self.chosen, self.bench.pool.planners)
        if len(options) < 2:
            return
        key = f"planner-{self.place}"

        def chosen(planner: str) -> None:
            self.keep(lambda settings: settings.model_copy(update={"planner": planner or None}))

        st.selectbox(
            "Planned by", list(options), key=key, format_func=distinct_labels(options),
            on_change=shows(self.tab, key, self.chosen.planner or "", chosen),
        )  # fmt: skip

    def steps(self) -> None:
        with st.container(horizontal=True, gap="small"):
            self._number("max_steps", "Step limit", most=MAX_WRITTEN_STEPS)
            self._number("rounds", "Round limit", most=MAX_ROUNDS)

    def _economy(self) -> None:
        """Whom the lowest price leaves."""
        cards = self.bench.pool.cards
        used = [cards[name] for name in settings_choices.used(self.chosen, self.names) if name in cards]
        if line := settings_choices.economy(self.chosen, used):
            st.caption(plain(line))

    def _number(self, name: str, label: str, *, most: int) -> None:
        key = f"{name}-{self.place}"

        def chosen(number: int) -> None:
            self.keep(lambda settings: settings.model_copy(update={name: int(number)}))

        changed = shows(self.tab, key, getattr(self.chosen, name), chosen)
        st.number_input(label, min_value=1, max_value=most, step=1, key=key, on_change=changed)

    # -- workers ---------------------------------------------------------------------------------

    def workers(self) -> None:
        used = settings_choices.used(self.chosen, self.names)
        rows = settings_choices.roster(self.chosen, self.names)
        st.markdown(
            "Workers the Conductor may use",
            help="It sees them numbered in this order. Untick a worker to exclude it.",
        )
        height: Literal["content"] | int = 290 if len(rows) > _VISIBLE_ROWS else "content"
        with st.container(height=height, border=False, gap=None, key="settings-workers"):
            for at, (name, use) in enumerate(rows):
                self._worker(at, name, use=use, used=used)
        self._economy()

    def _worker(self, at: int, name: str, *, use: bool, used: tuple[str, ...]) -> None:
        key = f"use-{self.place}-{name}"

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
                on_change=shows(self.tab, key, use, chosen),
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
        st.markdown("Budget of a run", help="Includes planning and all later rounds.")
        limits = list(_BUDGET)
        for pair in (limits[:2], limits[2:]):
            with st.container(horizontal=True, gap="small"):
                for limit in pair:
                    self._limit(limit)

    def _limit(self, limit: Limit) -> None:
        label, least, step, form = _BUDGET[limit]
        key = f"budget-{limit}-{self.place}"

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
            on_change=shows(self.tab, key, getattr(self.chosen.budget, limit), chosen),
        )


def plan_as(bench: Workbench, view: SessionView) -> None:
    """Draw the choice of a planner that learnt on the pool, or of a published method, with its worker or what
    it has learnt where it needs one.
    """
    st.markdown("Plan with another planner", help="Its workflow replaces the current one")
    session, learnt = view.session.id, list(bench.pool.fitted)
    methods = [name for name, entry in BASELINES.items() if entry.method is not None or learnt]
    own = {f"{PLANNER}{name}": name for name in bench.pool.planners}
    labels = own | {name: BASELINES[name].label for name in methods}
    with row("plan-as"):
        method = st.selectbox(
            "Method",
            list(labels),
            index=0 if own else methods.index("moa"),
            key=f"plan-as-method-{session}",
            format_func=distinct_labels(labels),
            label_visibility="collapsed",
            width=220,
        )
        entry, choice = BASELINES.get(method), ""
        if entry is not None and entry.method is None:
            choice = "fitted=" + st.selectbox(
                "Fitted from",
                learnt,
                key=f"plan-as-fitted-{session}",
                label_visibility="collapsed",
                width=180,
            )
        if entry is not None and entry.one_worker:
            choice = st.selectbox(
                "Its worker",
                bench.pool.names,
                key=f"plan-as-worker-{session}",
                label_visibility="collapsed",
                width=180,
            )
        action(
            f"Plan as {plain(own[method]) if entry is None else entry.label}",
            "schema",
            lambda: bench.planning.begin_as(session, _method_name(method, choice)),
            key="plan-as-begin",
            help="Undo restores the current workflow",
            disabled=view.locked,
            place="settings",
        )
        about = "Plans by what it learnt on this pool's questions." if entry is None else entry.about
        st.caption(about, width="content")


def _method_name(method: str, choice: str) -> str:
    if method.startswith(PLANNER):
        return method
    if method == "worker":
        return f"{WORKER}{choice}"
    return f"{PREFIX}{method}:{choice}" if choice else f"{PREFIX}{method}"
