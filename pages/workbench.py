"""The main page: ask, see the plan, edit it, run it, read the answer."""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.errors import StorageError
from conductor.text.formatting import named, quantity
from conductor.workers.health.probe import unconfirmed_in
from pages.components.graph import load_library
from pages.components.keyboard.focus import focus_fallback
from pages.components.panes import STYLES, pane_handle
from pages.components.pool.offers import first_models
from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.page_part import PagePart
from pages.components.tab.services import access, services, workbench
from pages.components.tab.state import TabState, plain
from pages.components.tab.tab_storage import tab_storage
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.widgets.key_questions import key_questions
from pages.components.workbench.audience.watched import watched
from pages.components.workbench.bar.bar import bar
from pages.components.workbench.canvas import graph
from pages.components.workbench.conflicts import conflicts, show_news
from pages.components.workbench.drawer.panels import panels
from pages.components.workbench.editor import Editor
from pages.components.workbench.find import find, find_anywhere
from pages.components.workbench.following.live_refresh import CurrentView, watch
from pages.components.workbench.planning.other_plans import other_plans
from pages.components.workbench.planning.plan import attempts, no_plan
from pages.components.workbench.planning.proposed_change import undrawn_change
from pages.components.workbench.question.composer import composer
from pages.components.workbench.question.conversation import conversation_view
from pages.components.workbench.reading import reading_pane
from pages.components.workbench.sidebar import sidebar
from pages.components.workbench.step.nested import inner_view
from pages.components.workbench.welcome.gallery import gallery
from pages.components.workbench.welcome.stage import Stage, stage
from studio.gallery import workers_for
from studio.workbench import Workbench, marks

focus_fallback("welcome", "stop", "run", "query")


def page() -> None:
    with page_notices(), services().configured.looked_at_once():
        tab = TabState()
        tab.begin_page()
        bench = workbench() if tab.view_only is None else services().viewed
        if not pool_notice(link=not tab.watched):
            return
        pairs = () if tab.watched or access().editing_refusal else unconfirmed_in(bench.pool)
        key_questions(pairs, place="page")
        # Taken before anything is read: what changes from now on is news.
        seen = marks(bench, tab.session)
        current = _current(bench, tab)
        start = Stage(bench, tab) if current is None and not tab.watched else None
        with st.container(key="machinery"):
            load_library()
            if start is not None:
                start.watch(seen)
                start.begin()
                find_anywhere(tab)
            elif current is None:
                watch(tab, seen)
            else:
                current.watch(seen)
                if not tab.presents:
                    current.fragment("find", partial(find, bench, tab))
        view = None if current is None else current.of_page
        if tab.watched:
            watched(bench, tab, current)
            return
        sidebar(bench, tab, view)
        if start is not None:
            _welcome(bench, tab, start)
        if current is None or view is None:
            return
        show_news(bench, tab, view)
        if view.head is None and not view.busy:
            _unplanned(bench, tab, current)
            return
        # Its places are the same while a plan is written, so that nothing of it is drawn afresh at the end.
        with st.container(key="storage"):
            if view.head is not None:
                tab_storage(bench, tab, view.head)
        _session(bench, tab, current)
        if view.head is not None:
            PagePart(tab, view.head, place="page").mark()


def _current(bench: Workbench, tab: TabState) -> CurrentView | None:
    """The session of this tab, read once for this run of the page."""
    try:
        return None if tab.session is None else CurrentView(bench, tab, tab.session)
    except StorageError as error:
        # The rest of the page still offers a way on: another session, a new query.
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _welcome(bench: Workbench, tab: TabState, current: Stage) -> None:
    """No session is open: a recorded run that plays, what can be asked, and what to begin with."""
    with st.container(key="welcome", gap="small"):
        with st.container(key="welcome-head", gap="small"):
            st.title("Conductor Studio", anchor=False)
            st.markdown(
                "A Conductor splits your question into steps and gives each to a model; you see the plan, "
                "change it, and rerun only what changed."
            )
        stage(bench, tab, current)
        with st.container(key="welcome-composer"):
            composer(bench, tab, None)
        gallery(bench, tab)
        first_models(bench, tab)


def _unplanned(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """A session without a workflow: why there is no plan."""
    view = current.of_page
    st.html(STYLES)
    with st.container(key="workbench", gap=None):
        bar(bench, tab, current)
        _news(bench, tab, view)
        with st.container(key="plan-pane"):
            conversation_view(view.session)
            no_plan(bench, tab, view)
            plans = bench.store.plans.of_session(view.session.id)
            attempts(plans, of=view.latest_plan, elsewhere=view.no_plan)
            current.fragment("other-plans-part", partial(other_plans, bench, tab))
        _composer(bench, tab, current)


def _session(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """A session with a workflow, or with a plan that is being written: the bar, and below it the panes; each
    pane scrolls by itself.
    """
    view = current.of_page
    st.html(STYLES)
    with st.container(key="workbench", gap=None):
        bar(bench, tab, current)
        _news(bench, tab, view)
        with st.container(key="graph-pane", gap=None):
            current.fragment("canvas", partial(_canvas, bench, tab), follows="always")
        pane_handle("read", label="Reading pane size")
        reading_pane(bench, tab, current)
        _composer(bench, tab, current)
        # It has its room before there is anything in it, so that the graph does not move when there is.
        with st.container(key="drawer", gap=None):
            pane_handle("drawer", label="Drawer size")
            if view.head is not None:
                current.fragment("panels", partial(panels, bench, tab), follows="drawer")


def _canvas(bench: Workbench, tab: TabState, now: SessionView) -> None:
    graph(bench, tab, now)
    inner_view(bench, tab, now)


def _news(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """What has to be seen before anything else: what failed, what cannot be run, an edit that met another."""
    with st.container(key="news", gap="small"):
        if failure := bench.activities.failure(view.session.id):
            st.error(plain(failure), icon=":material/error:")
        tab.show_notice("run")
        if tab.selected is None:
            tab.show_notice("edit")
        if view.problem and view.replay is None and not _missing_workers(bench, tab, view):
            # Once there is a run to be read, what keeps another one from starting is less than an error.
            (st.error if view.state is None else st.warning)(plain(view.problem), icon=":material/error:")
        conflicts(bench, tab, view)
        undrawn_change(bench, tab, view)


def _missing_workers(bench: Workbench, tab: TabState, view: SessionView) -> bool:
    """Draw what gives their steps to the pool's workers; False if the pool has all of them."""
    if view.head is None or view.busy:
        return False
    missing = view.head.workflow.missing_workers(bench.pool.cards)
    if not missing:
        return False
    editor = Editor.of(bench, tab, view.head, place="page")
    names, proposed = bench.pool.names, workers_for(missing, bench.pool)
    keys = {name: f"instead-{view.session.id}-{name}" for name in missing}
    st.info(
        f"Made with workers that your pool does not have: {plain(named(missing))}. "
        "Give their steps to yours to run it.",
        icon=":material/history:",
    )
    with row("missing-workers-ways"):
        action(
            "Use my workers",
            "swap_horiz",
            _give_steps,
            editor,
            proposed,
            key="missing-workers-use",
            type="primary",
            help=plain(", ".join(f"{worker} for {name}" for name, worker in proposed.items())),
        )
        with (
            st.popover("Choose", icon=":material/tune:", key="missing-workers", width="content"),
            st.container(key="missing-workers-rows", gap="small"),
        ):
            for name, worker in proposed.items():
                role = ", a fallback" if name in view.head.workflow.fallbacks else ""
                label = f"In place of {plain(name)}{role}"
                st.selectbox(label, names, index=names.index(worker), key=keys[name])
            action(
                f"Change {quantity(len(missing), 'worker')}",
                "check",
                lambda: _give_steps(editor, {name: str(st.session_state[key]) for name, key in keys.items()}),
                key="missing-workers-change",
            )
    return True


def _give_steps(editor: Editor, chosen: dict[str, str]) -> None:
    note = ", ".join(f"{name} to {worker}" for name, worker in chosen.items())
    editor.commit(lambda: editor.workflow.with_workers(chosen), f"Workers: {note}")


def _composer(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """Where the next question is written: below the graph, with a plan and without."""
    with st.container(key="composer"):
        current.fragment("ask", partial(composer, bench, tab))


page()
drawn_to_the_end()
