"""Sets which hosts the websocket of Streamlit's server accepts.

`st.set_option` refuses options of the server, which Streamlit reads from its configuration only; which hosts
are allowed depends on the app's own settings.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamlit import config


def allow_hosts(hosts: Iterable[str]) -> None:
    """Accept websockets at this machine's own names and at `hosts`. Streamlit has no pattern for any host."""
    config.set_option("server.allowedHosts", ["localhost", "127.0.0.1", "::1", *sorted(hosts)])
