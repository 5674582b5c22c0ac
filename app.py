"""The app: imported once by the server, then executed for each browser session.

`streamlit run app.py` or `uvicorn app:app`. Knows the pages and how the server starts, no work.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from conductor.loading import load_lightly
from conductor.own_settings import take

if not st.runtime.exists():
    take()
    load_lightly()

from conductor.errors import ConductorError, ServeError
from conductor.loading import hide
from conductor.workers.endpoint.transport.http_connections import load_transport
from pages.components.keyboard.focus import keep_focus
from pages.components.keyboard.shortcuts import shortcuts, shortcuts_buttons
from pages.components.routes.api import api_route, response_runs, resuming_server, routes_beside
from pages.components.routes.changes import changes
from pages.components.streamlit_patches.connection import connection
from pages.components.streamlit_patches.index_page import index_pages
from pages.components.streamlit_patches.messages import (
    copy_cursors_by_value,
    finish_callbacks,
    keep_unsent_messages,
)
from pages.components.streamlit_patches.page_message import handle_in_chosen_page
from pages.components.streamlit_patches.startup import (
    believe_no_proxy,
    close_malformed,
    import_early,
    in_session,
    leave_secrets,
    without_session,
)
from pages.components.streamlit_patches.websocket import DisconnectGuard, allow_hosts
from pages.components.tab import services
from pages.components.tab.account import log_out
from pages.components.tab.state import TabState
from studio.access.exposure import PATH, reaches_beyond
from studio.access.login import Login
from studio.access.openid.logins import ISSUER
from studio.access.origin_check import OwnOrigin
from studio.access.password import SETTING
from studio.api.serving.server import allow_many_connections
from studio.api.serving.stop_signals import at_stop_signal
from studio.gc_tuning import settle
from studio.workbench.resuming import resumes_by_itself

TITLE = "Conductor Studio"
ROOT = Path(__file__).resolve().parent
ICON = ROOT / "pages" / "static" / "icon.svg"
STYLES = ROOT / "pages" / "components" / "page.css"
# The pages beside the workbench, by their names in files and addresses: titles and icons. No text under it:
# Streamlit would show that on the page.
WORKBENCH = "Workbench"
OTHERS = {
    "compare": ("Compare", ":material/compare_arrows:"),
    "sessions": ("Sessions", ":material/history:"),
    "usage": ("Usage", ":material/bar_chart:"),
    "evaluation": ("Evaluation", ":material/leaderboard:"),
    "learning": ("Learning", ":material/model_training:"),
    "pool": ("Pool", ":material/groups:"),
}


def navigation(tab: TabState | None = None) -> Any:
    """The pages, by name; those that `tab` may open, with links where it shows any."""
    workbench = st.Page("pages/workbench.py", title=WORKBENCH, icon=":material/account_tree:", default=True)
    others = [st.Page(f"pages/{name}.py", title=title, icon=icon) for name, (title, icon) in OTHERS.items()]
    if tab is not None and tab.watched:
        return st.navigation([workbench, *([] if tab.view_only is not None else others)], position="hidden")
    return st.navigation([workbench, *others])


def main() -> None:
    """One run of the script for one browser session."""
    st.set_page_config(page_title=TITLE, page_icon=str(ICON), layout="wide")
    st.logo(str(ICON), size="large")
    # For an address without a document of ours, where Streamlit answers with its own.
    st.html(STYLES)
    connection()
    keyboard = st.container(key="keyboard")
    with keyboard:
        shortcuts()
    tab = TabState()
    page = navigation(tab)
    page.run()
    # By now all regions of the page are imported.
    with keyboard:
        keep_focus()
    if not tab.watched:
        if page.title != WORKBENCH:
            from pages.components.workbench.find import find_anywhere  # noqa: PLC0415 - after the first page

            find_anywhere(tab)
        shortcuts_buttons()
        log_out()


def middleware() -> list[Middleware]:
    """What stands before everything that the server answers. Raises `ConductorError` for wrong settings."""
    access = services.access()
    if access.logins is None:
        # A second check behind `OwnOrigin`.
        allow_hosts(access.hosts)
    below = st.get_option("server.baseUrlPath")
    if f"/{below.strip('/')}/".startswith(f"{PATH}/"):
        raise ServeError(
            f"The app cannot be below {PATH}, which needs no login; set another server.baseUrlPath."
        )
    return [
        Middleware(OwnOrigin, hosts=access.hosts),
        Middleware(Login, logins=access.logins, links=services.view_links(), hosts=access.hosts, below=below),
        Middleware(DisconnectGuard),
    ]


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the workbench before the first visitor, close it after the last."""
    from pages.components import graph  # noqa: F401, PLC0415 - registers its components once

    # The server answers meanwhile.
    threading.Thread(target=import_rest, name="imports").start()
    finish_callbacks()
    keep_unsent_messages()
    copy_cursors_by_value()
    handle_in_chosen_page()
    allow_many_connections()
    warn()
    resuming = resuming_server()
    try:
        resuming.begin()
        with at_stop_signal(response_runs().stop):
            yield None
        await resuming.stop()
        await response_runs().settle()
    finally:
        services.close()


def import_rest() -> None:
    """Import what the first page and the first call would wait for, then have the collector work again."""
    try:
        import_early()
        load_transport()
    finally:
        settle()


def warn() -> None:
    """Log what differs from what the settings let expect."""
    log = logging.getLogger("conductor")
    try:
        services.machine_token().create()
    except ConductorError as error:
        log.warning("%s", error)
    if services.access().logins is None and reaches_beyond(st.get_option("server.address")):
        log.warning(
            "The app has no password, so it answers only this machine. Set %s or %s to let others in.",
            SETTING,
            ISSUER,
        )


if in_session():
    main()
else:
    hide()
    leave_secrets()
    believe_no_proxy()
    close_malformed()
    # Before the first session: switches off the automatic pages, which would flash and bypass this file.
    with without_session():
        navigation()
    own = index_pages(list(OTHERS), title=TITLE, icon=ICON, styles=STYLES.read_text(encoding="utf-8"))
    try:
        resumes_by_itself()
        below = str(st.get_option("server.baseUrlPath") or "")
        routes = [*own, *changes(below), *routes_beside(), api_route()]
        app = st.App(__file__, lifespan=lifespan, routes=routes, middleware=middleware())
    except ConductorError as error:
        sys.exit(f"conductor: {error}")
