"""Draws a page again when another person or another tab has changed what it shows.

The browser asks the server, about every second and only while the page is looked at; the script runs only
where something has changed. Knows marks, nothing of sessions.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.components.routes.changes import PATH
from pages.components.streamlit_patches.script_state import with_script_state
from pages.components.tab.state import TabState
from studio.workbench import Marks

ASK_MILLISECONDS = 1_000

_HERE = Path(__file__)

_component = st.components.v2.component(
    "conductor_changes",
    html='<div class="changed-elsewhere" role="status" hidden></div>',
    css=_HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=with_script_state(_HERE.with_suffix(".js").read_text(encoding="utf-8")),
    isolate_styles=False,
)


def changes(tab: TabState, marks: Marks) -> None:
    """Watch whether `marks`, which were taken before the page was drawn, still hold.

    A person who is typing is not interrupted: the page shows that there is news, and waits.
    """
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    _component(
        key="changes",
        data={
            "url": f"{f'/{base}' if base else ''}{PATH}",
            "of": tab.session,
            "session": marks.session,
            "recent": marks.recent,
            "every": ASK_MILLISECONDS,
        },
        height=1,
        on_changed_change=tab.ask_redraw,
    )
