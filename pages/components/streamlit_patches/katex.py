"""Streamlit's own KaTeX, for components that draw mathematics only where there is some.

Streamlit has KaTeX as a script of its frontend, under a name that is in no documentation and changes with its
content.
Its style sheet is part of every page. Knows files, no texts.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from streamlit import file_util


@cache
def katex_script() -> str:
    """The name of the script beside the frontend's others; an ES module whose default is KaTeX."""
    folder = Path(file_util.get_static_dir(), "static", "js")
    return next(file.name for file in sorted(folder.glob("katex.*.js")))
