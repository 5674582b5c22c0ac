"""The account of this tab: the person's name and the link to log out, the API's URL, and what a visitor with
a view-only link may look at.
"""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

import streamlit as st

from pages.components.tab.services import access, person
from studio.access.login import VIEWED

_LINK = '<a href="./logout" target="_self">Log out</a>'

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def viewable() -> tuple[str, ...] | None:
    """The sessions that are all this visitor may look at, or None for a visitor who may do anything."""
    named = st.context.headers.get(VIEWED)
    return None if named is None else tuple(named.split(","))


def log_out() -> None:
    """Draw who is logged in and the link, where the app has a login."""
    if access().logins is not None:
        named = person()
        with st.sidebar:
            words = f"{escape(named)} · {_LINK}" if named else _LINK
            st.html(f'<p class="log-out">{words}</p>')


def is_local() -> bool:
    """Whether this browser reaches the app as one on the same machine does."""
    return (urlsplit(st.context.url or "").hostname or "localhost") in _LOOPBACK


def api_url() -> str:
    """The address to give to a client, as this browser reaches the app."""
    parts = urlsplit(st.context.url or "")
    return f"{parts.scheme}://{parts.netloc}/v1" if parts.netloc else f"http://localhost:{_port()}/v1"


def own_api_url() -> str:
    """The address at which this process reaches its own API, whatever proxy the browser comes through."""
    parts = urlsplit(st.context.url or "")
    here = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return api_url() if here else f"http://127.0.0.1:{_port()}/v1"


def _port() -> int:
    port: int = st.get_option("server.port")
    return port
