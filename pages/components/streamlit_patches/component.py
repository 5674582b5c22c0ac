"""The app's own components of Streamlit, each made of files beside its Python module.

`shared.js` comes before a component's own scripts. It makes elements, follows Streamlit's calls, and reads
whether the browser has a connection and whether the page is being drawn: Streamlit writes both only to
attributes of its outermost element, for its own tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

SHARED = Path(__file__).with_name("shared.js").read_text(encoding="utf-8")


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

    `html`, `css` and `js` are names of files beside it; `html` may be the text itself. Several scripts are
    one ES module, in the order in which they use one another, behind the text of a `library`. Several style
    sheets are one, too, behind the text `styles`. `isolated` components have a style sheet of their own.
    """

    def read(file: str) -> str:
        return Path(module).with_name(file).read_text(encoding="utf-8")

    return st.components.v2.component(
        name,
        html=read(html) if html.endswith(".html") else html or None,
        css="\n".join([styles, *map(read, css.split())]) if css else None,
        js="\n".join([SHARED, library, *map(read, js.split())]),
        isolate_styles=isolated,
    )
