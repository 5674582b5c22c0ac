"""The app: imported once by the server, then executed for each browser session.

`streamlit run app.py` or `uvicorn app:app`. Knows the pages and how the server starts, no work.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from streamlit import runtime

from conductor.api.connections import allow_many_connections
from conductor.collector import settle
from pages.components.api_route import API
from pages.components.changes_route import CHANGES
from pages.components.departure import Departure
from pages.components.frame_route import frames
from pages.components.whole_callbacks import carry_out_whole
from pages.components.whole_messages import send_whole

TITLE = "Conductor Studio"
ROOT = Path(__file__).resolve().parent
ICON = ROOT / "static" / "icon.svg"
# The pages beside the workbench, by their names in files and addresses: titles and icons. No text under it:
# Streamlit would show that on the page.
OTHERS = {
    "compare": ("Compare", ":material/compare_arrows:"),
    "sessions": ("Sessions", ":material/history:"),
    "pool": ("Pool", ":material/groups:"),
}


def navigation() -> Any:
    """The pages, by name."""
    return st.navigation(
        [
            st.Page("pages/workbench.py", title="Workbench", icon=":material/account_tree:", default=True),
            *(st.Page(f"pages/{name}.py", title=title, icon=icon) for name, (title, icon) in OTHERS.items()),
        ]
    )


def main() -> None:
    """One run of the script for one browser session."""
    st.set_page_config(page_title=TITLE, page_icon=str(ICON), layout="wide")
    st.logo(str(ICON), size="large")
    st.html(ROOT / "pages" / "components" / "page.css")
    navigation().run()


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the workbench before the first visitor, close it after the last."""
    import pandas  # noqa: F401, PLC0415 - Streamlit imports it lazily, on the first visitor's time
    import pyarrow  # noqa: F401, PLC0415 - the same

    from pages.components import graph, services  # noqa: F401, PLC0415 - registers its components once

    settle()
    carry_out_whole()
    send_whole()
    allow_many_connections()
    try:
        yield None
    finally:
        services.close()


if runtime.exists():
    main()
else:
    # Before the first session: switches off the automatic pages, which would flash and bypass this file.
    # Streamlit warns that nobody is looking yet, which is the point.
    context = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    context.disabled = True
    navigation()
    context.disabled = False
    own = frames(list(OTHERS), title=TITLE, icon=ICON)
    app = st.App(
        __file__, lifespan=lifespan, routes=[*own, *CHANGES, API], middleware=[Middleware(Departure)]
    )
