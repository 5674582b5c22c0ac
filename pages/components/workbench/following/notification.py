"""A notification of the browser when a run ends, waits or meets its budget while the page is hidden.

It has the session's title and the run's state, no text of a model. Off until a person turns it on, for all
sessions in that browser.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.routes.changes import ENDING
from pages.components.streamlit_patches.component import component
from pages.components.tab.state import plain
from storage import Session

_component = component(
    "conductor_notification",
    __file__,
    html='<button class="notify" type="button" aria-pressed="false" hidden></button>',
    css="notification.css",
    js="notification.js",
)


def notification(session: Session) -> Any:
    """Draw the switch; while it is on, watch the session once the page is hidden."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return _component(
        key="notification",
        data={
            "url": f"{f'/{base}' if base else ''}{ENDING}",
            "session": session.id,
            "title": plain(session.title, limit=90),
        },
    )
