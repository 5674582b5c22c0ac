"""Shows the code that asks this workflow, or the Conductor, and a box to try it through the API."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import NamedTuple, cast

import streamlit as st

from conductor.text.formatting import duration
from pages.components.streamlit_patches.initial_values import show_first
from pages.components.tab.account import api_url, is_local, own_api_url
from pages.components.tab.services import access, machine_token
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, choice, row, watched
from pages.components.widgets.rendered_text import rendered_text
from pages.components.workbench.bar.code_snippets import KEY, snippets
from studio.access.auth import own_key
from studio.api.playground_client import Attempt
from studio.workbench import Workbench

POLL_SECONDS = 0.25


_WHAT = {"workflow": "This workflow", "conductor": "A new plan for each question"}


class _UnderWay(NamedTuple):
    """An attempt with its future, whose end is the attempt's."""

    attempt: Attempt
    future: Future[None]

    @property
    def live(self) -> bool:
        return not self.future.done()


def use_from_code(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw it for a session that has a workflow."""
    if view.head is None:
        return
    with st.container(key="code-panel"):
        what = choice("What to ask", _WHAT, key="code-what", default="workflow")
        model = f"workflow:{view.head.id}" if what == "workflow" else "conductor"
        st.caption(_meaning(model))
        st.code(model, language=None)
        query = _query(bench, tab, view, model)
        _snippets(model, query)
        _access()


def _meaning(model: str) -> str:
    if model == "conductor":
        does = "has the Conductor plan a workflow for each question and runs that"
    else:
        does = "runs the workflow as it is now, edits included, on any question"
    return f"Use it from code: as the model name of any OpenAI client, this {does}."


def _query(bench: Workbench, tab: TabState, view: SessionView, model: str) -> str:
    """The question that snippets ask, which can be tried here; until a person has written one, the
    session's.
    """
    key, attempt_key = f"code-query-{view.session.id}", f"code-attempt-{view.session.id}"
    # Streamlit forgets a field while another view is shown.
    show_first(key, st.session_state.get(f"{key}-kept", view.session.query))
    query = st.text_area("Question", key=key, height=80)
    st.session_state[f"{key}-kept"] = query
    under_way = cast("_UnderWay | None", st.session_state.get(attempt_key))
    url = own_api_url()

    def begin() -> None:
        if not tab.pressed_again("code-try"):
            attempt = Attempt(url, key=own_key(bench.asker.person), model=model, query=st.session_state[key])
            st.session_state[attempt_key] = _UnderWay(attempt, bench.background.spawn(attempt.make()))

    with row("code-buttons"):
        if under_way is not None and under_way.live:
            action("Stop", "stop", under_way.future.cancel, key="code-stop")
        else:
            tip = "Send the question through the API, as a program does"
            action("Try it", "play_arrow", begin, key="code-try", help=tip, disabled=not query.strip())
    if under_way is not None:
        draw = partial(_outcome, tab, under_way)
        watched(lambda: under_way.live, lambda _: draw(), key="code-live", seconds=POLL_SECONDS)
    return query


def _outcome(tab: TabState, under_way: _UnderWay) -> None:
    attempt = under_way.attempt
    with st.container(border=True, key="code-outcome", gap="small"):
        if attempt.text:
            notes = [attempt.label] if attempt.label else []
            live = under_way.live
            rendered_text(attempt.text, key="code-answer", label="Answer of the API", notes=notes, live=live)
        if attempt.failure:
            st.error(plain(attempt.failure, limit=1000), icon=":material/error:")
        with row():
            st.caption(plain(_standing(under_way)))
            if attempt.session is not None:
                st.space("stretch")
                action("Open its session", "account_tree", tab.open, attempt.session, key="code-open")


def _standing(under_way: _UnderWay) -> str:
    attempt = under_way.attempt
    if under_way.live:
        return attempt.progress or f"{attempt.model} was called; waiting for its first token"
    if under_way.future.cancelled():
        return f"{attempt.model} · stopped"
    took = "-" if attempt.seconds is None else duration(attempt.seconds)
    return f"{attempt.model} · {took}"


def _snippets(model: str, query: str) -> None:
    token = machine_token().path if is_local() else None
    offered = snippets(url=api_url(), model=model, query=query, token=token)
    for tab, snippet in zip(st.tabs(list(offered)), offered.values(), strict=True):
        with tab:
            # Without the highlighter's colours: some are too faint to be read.
            st.code(snippet, language=None, wrap_lines=True)


def _access() -> None:
    if access().api_open:
        keys = "The API was opened with --api-open: programs on this machine need no key."
    elif is_local():
        token = machine_token().path
        keys = f"Programs on this machine read their key from {token}; others need one in {KEY}."
    else:
        keys = f"Programs need a token as their key, in the environment variable {KEY}."
    with row():
        st.caption(plain(keys))
        st.page_link("pages/pool.py", label="API tokens", icon=":material/key:")
