"""The app's own components of Streamlit, each made of files beside its Python module.

Their scripts import one another. `shared.js` makes elements, follows Streamlit's calls, and reads whether the
browser has a connection and whether the page is being drawn: Streamlit writes both only to attributes of its
outermost element, for its own tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components.streamlit_patches.modules import joined


def trigger_value(key: str, name: str) -> Any:
    """What the component with this key sent by its trigger `name`; None if it sent nothing, or if the page is
    another one by now, for which Streamlit has dropped the component's state.
    """
    state = st.session_state.get(key)
    return None if state is None else getattr(state, name)


def component(
    name: str,
    module: str,
    *,
    js: str,
    html: str = "",
    css: str = "",
    library: str = "",
    styles: str = "",
    isolated: bool = True,
) -> Any:
    """Register the component `name` of the module with the path `module`.

    `html`, `css` and `js` are names of files beside it; `html` may be the text itself. The script is sent
    with all that it imports, behind the text of a `library`. Several style sheets are one, too, behind the
    text `styles`. `isolated` components have a style sheet of their own.
    """

    def read(file: str) -> str:
        return Path(module).with_name(file).read_text(encoding="utf-8")

    mount = st.components.v2.component(
        name,
        html=read(html) if html.endswith(".html") else html or None,
        css="\n".join([styles, *map(read, css.split())]) if css else None,
        js="\n".join([library, joined(Path(module).with_name(js))]),
        isolate_styles=isolated,
    )

    def draw(*, data: Mapping[str, Any] | None = None, **options: Any) -> Any:
        # Streamlit takes its time to find out that a list is no table; of a tuple it is sure.
        plain = {
            key: tuple(value) if isinstance(value, list) else value for key, value in (data or {}).items()
        }
        return mount(data=None if data is None else plain, **options)

    return draw
