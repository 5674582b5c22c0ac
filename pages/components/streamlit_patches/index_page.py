"""The HTML document of a page, which the browser loads before Streamlit draws anything in it.

Streamlit's own document shows Streamlit's name and icon until the first page is drawn. At the address of any
other page it looks for the server at two places; one is an error in the browser's console. It opens
the sidebar in windows that have no room for it. It draws a page's first elements before it has loaded what
applies a style sheet, so they would jump. Knows the addresses of pages, not their content.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from streamlit import file_util

_SERVER = '<script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
"""A page's address is the server's plus one segment, also behind a proxy that adds a prefix."""

SIDEBAR_KEY = "stSidebarCollapsed-"
"""How the names begin under which Streamlit's frontend keeps in the browser whether the sidebar is closed."""

SIDEBAR_FROM = 1200
"""Windows that are narrower (CSS pixels) begin with the sidebar closed."""

_SIDEBAR = f"""<script>{{
  const {{ getItem }} = Storage.prototype;
  Storage.prototype.getItem = function (name) {{
    const kept = getItem.call(this, name);
    const undecided = kept === null && String(name).startsWith("{SIDEBAR_KEY}");
    return undecided && innerWidth < {SIDEBAR_FROM} ? "true" : kept;
  }};
}}</script>"""
"""Streamlit closes the sidebar below 768 pixels only; what a person chose still counts."""


def index_pages(pages: Sequence[str], *, title: str, icon: Path, styles: str) -> list[Route]:
    """Routes to the documents of the first page and of `pages` (the last segments of their addresses).

    `icon` is an SVG file; `styles` is CSS that counts from a page's first moment.
    """
    image = b64encode(icon.read_bytes()).decode("ascii")
    named = _original().replace("<title>Streamlit</title>", f"<title>{escape(title)}</title>")
    named = named.replace('href="./favicon.png"', f'href="data:image/svg+xml;base64,{image}"')
    # In the body: of two equal selectors the later one counts, and Streamlit adds its own to the head.
    styled = named.replace("<body>", f"<body>\n    <style>{styles}</style>", 1)
    first = styled.replace("<head>", f"<head>\n    {_SIDEBAR}", 1)
    other = first.replace("<head>", f"<head>\n    {_SERVER}", 1)
    below = str(st.get_option("server.baseUrlPath")).strip("/")
    base = f"/{below}/" if below else "/"
    return [
        Route(base, partial(_answer, first)),
        *(Route(f"{base}{page}", partial(_answer, other)) for page in pages),
    ]


def _original() -> str:
    return Path(file_util.get_static_dir(), "index.html").read_text(encoding="utf-8")


async def _answer(document: str, _request: Request) -> Response:
    return HTMLResponse(document, headers={"Cache-Control": "no-cache"})
