"""Where the API is, as this browser reaches it, and as this process does."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
