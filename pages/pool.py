"""The pool page: who is in the pool, how each is, and the file that says so, edited in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.pool import DEFAULT_PATH, OFFLINE_LABEL, Pool, configured_path, offline_pool
from conductor.workers.pool_document import Place, PoolDocument
from conductor.workers.secret import SECRETS_FILE
from conductor.workers.subject import Subject, subjects
from pages.components.first_value import drawn_to_the_end
from pages.components.focus import keep_focus
from pages.components.guard import errors_shown
from pages.components.pool_form import open_form, pool_form
from pages.components.pool_notice import pool_notice
from pages.components.pool_saving import PLACE, save, saved_notice
from pages.components.pool_table import Actions, Row, key_word, pool_table, remove_key
from pages.components.pool_text import text_editor, trouble
from pages.components.services import Services, services
from pages.components.state import TabState, plain
from pages.components.tokens_view import tokens_view

POLL_SECONDS = 0.4

# Whose focus goes to whom when a button goes or can no longer be pressed.
_HEIRS = {
    "pool-save": ("pool-undo", "pool-add"),
    "pool-text-save": ("pool-undo", "pool-add"),
    "pool-undo": ("pool-add",),
    "pool-test-all": ("pool-stop",),
    "pool-stop": ("pool-test-all",),
    "token-table": ("token-create",),
}

_STYLES = Path(__file__).parent / "components" / "pool.css"
_PER_PAGE = 20


def page() -> None:
    """Draw the page for this tab."""
    st.html(_STYLES)
    with errors_shown("pool"):
        tab = TabState()
        tab.drawn()
        shared = services()
        with st.container(horizontal=True, vertical_alignment="center", key="page-head"):
            st.title("Pool", anchor=False)
        path = configured_path()
        document = PoolDocument.opened(path or DEFAULT_PATH)
        saved_notice(tab)
        if document.before is None:
            _without_file(shared, tab, document, named=path is not None)
        else:
            _with_file(shared, tab, document)
        tokens_view(shared.workbench.store, tab, _names(shared))
        pool_form()


def _names(shared: Services) -> Sequence[str]:
    return shared.configured().workers.names if shared.configured.usable else ()


def _with_file(shared: Services, tab: TabState, document: PoolDocument) -> None:
    try:
        pool = document.pool()
    except PoolError as error:
        trouble(document, error)
        if shared.configured.usable:
            st.caption("Until that is mended, the pool stays as it was.")
        text_editor(document)
        _keep_focus([])
        return
    pool_notice(link=False)
    places: tuple[Place, ...] = tuple(range(len(pool.workers)))
    if pool.conductor is not None:
        places = ("conductor", *places)
    rows = [Row(subject, place) for subject, place in zip(subjects(pool), places, strict=True)]
    count = len(pool.workers)
    label = f" · {pool.label}" if pool.label else ""
    st.caption(plain(f"{document.path} · {count:,} worker{'s' if count > 1 else ''}{label}"))
    _members(shared, tab, document, rows, pool=pool)
    _keys([row.subject for row in rows])
    with st.expander("The file as text", icon=":material/notes:", key="pool-file"):
        text_editor(document)


def _without_file(shared: Services, tab: TabState, document: PoolDocument, *, named: bool) -> None:
    where = plain(str(document.path))
    if named:
        st.error(f"There is no pool file at {where}; add a worker, and it is made.", icon=":material/error:")
        _members(shared, tab, document, [], pool=None)
        return
    st.info(
        f"**This pool is {OFFLINE_LABEL}.** Four built-in experts compute or look up, and write nothing of "
        "their own. To ask language models, add a worker: any endpoint that speaks OpenAI's chat "
        f"completions, hosted or on this machine. It is kept in {where}; pool.example.toml shows many.",
        icon=":material/cloud_off:",
    )
    rows = [Row(subject, None) for subject in subjects(offline_pool())]
    _members(shared, tab, document, rows, pool=None)


def _members(
    shared: Services, tab: TabState, document: PoolDocument, rows: Sequence[Row], *, pool: Pool | None
) -> None:
    """The buttons and the table, drawn again and again while somebody is examined."""
    polled = shared.checkup.busy
    checkup = shared.checkup

    def examine(chosen: Sequence[Subject]) -> None:
        checkup.begin(chosen)
        tab.ask_redraw()

    def stop() -> None:
        checkup.stop()
        tab.ask_redraw()

    def change(place: Place | None) -> None:
        open_form(document, place)
        tab.ask_redraw()

    def remove(place: Place) -> None:
        _remove(tab, document, place)
        tab.ask_redraw()

    @st.fragment(key="pool-members", run_every=POLL_SECONDS if polled else None)
    def members() -> None:
        tab.redraw_if_asked()
        with st.container(horizontal=True, key="pool-actions"):
            st.button(
                "Add a worker",
                key="pool-add",
                icon=":material/add:",
                type="primary",
                on_click=partial(change, None),
            )
            if pool is not None and pool.conductor is None:
                st.button(
                    "Add a Conductor",
                    key="pool-add-conductor",
                    icon=":material/account_tree:",
                    help="Until there is one, the built-in planner writes the workflows, by rule",
                    on_click=partial(change, "conductor"),
                )
            if checkup.busy:
                st.button("Stop testing", key="pool-stop", icon=":material/stop_circle:", on_click=stop)
            elif rows:
                st.button(
                    "Test all",
                    key="pool-test-all",
                    icon=":material/network_check:",
                    help="A short answer of each, several at a time",
                    on_click=partial(examine, [row.subject for row in rows]),
                )
        shown = _shown(rows)
        if shown:
            pool_table(shown, checkup, Actions(examine, change, remove))
        _keep_focus(shown)
        if polled and not checkup.busy:
            st.rerun()

    members()


def _shown(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of the page of the list that is shown, as far as there still is one."""
    pages = -(-len(rows) // _PER_PAGE)
    if pages <= 1:
        return rows
    st.session_state["pool-page"] = min(st.session_state.get("pool-page", 1), pages)
    at = st.pagination(pages, key="pool-page")
    return rows[(at - 1) * _PER_PAGE : at * _PER_PAGE]


def _keep_focus(shown: Sequence[Row]) -> None:
    gone = {remove_key(row): ("pool-undo",) for row in shown}
    with st.container(key="machinery"):
        keep_focus({**_HEIRS, **gone})


def _remove(tab: TabState, document: PoolDocument, place: Place) -> None:
    entry = (document.conductor if place == "conductor" else document.workers[place]) or {}
    name = entry.get("name", "The Conductor")
    try:
        save(document.without(place), said=f"{name} was removed.")
    except PoolError as error:
        tab.notify("error", f"{name} was not removed: {error}", place=PLACE)


def _keys(found: Sequence[Subject]) -> None:
    """How a key is set; open where one is missing."""
    words = {
        subject.endpoint.api_key_env: key_word(subject)
        for subject in found
        if subject.endpoint is not None and subject.endpoint.api_key_env is not None
    }
    missing = [variable for variable, word in words.items() if word != "set"]
    if not words:
        return
    with st.expander("Keys", icon=":material/key:", expanded=bool(missing), key="pool-keys"):
        named = missing or list(words)
        st.markdown(
            "Keys do not stand in the pool file and are shown nowhere. Each is read from the environment, "
            f"else from `{SECRETS_FILE}`, when it is needed."
        )
        ways = st.columns(2)
        with ways[0]:
            st.caption("In the environment, before the app is started")
            st.code("\n".join(f'export {variable}="..."' for variable in named), language=None)
        with ways[1]:
            st.caption(f"In {SECRETS_FILE}, which holds from the next call on")
            st.code("\n".join(f'{variable} = "..."' for variable in named), language=None)


page()
drawn_to_the_end()
