"""The servers of tools of the pool file, each with what a try of it showed."""

from __future__ import annotations

import streamlit as st

from conductor.text.formatting import quantity
from conductor.workers.health.tool_health import ToolServerHealth, marks, place
from conductor.workers.pool.pool import Pool
from pages.components.tab.services import services
from pages.components.tab.state import plain
from pages.components.widgets.controls import action, row, watched

_POLL_SECONDS = 0.5


def tool_servers(pool: Pool, *, may_try: bool) -> None:
    """Draw the servers; `may_try`: with a button that starts one and lists its tools."""
    if not pool.tool_servers:
        return
    probe = services().tool_probe

    def draw(_busy: bool) -> None:
        with st.expander("Servers of tools", icon=":material/build:", key="pool-tools"):
            for server in pool.tool_servers:
                with row():
                    st.markdown(f"**{plain(server.name)}** · {plain(place(server))}", width="content")
                    st.space("stretch")
                    if probe.examines(server, pool):
                        st.caption("starting", width="content")
                    elif may_try:
                        key = f"tools-try-{server.name}"
                        action("Try", "network_check", probe.begin, server, pool, key=key)
                if (health := probe.health(server, pool)) is not None:
                    _state(health)

    busy = probe.busy
    seconds = _POLL_SECONDS if busy else None
    watched(lambda: probe.busy, draw, key="tools-part", seconds=seconds, was=busy)


def _state(health: ToolServerHealth) -> None:
    for finding in health.complaints:
        st.markdown(f":material/error: {plain(finding.sentence, limit=800)}")
    if health.seconds is None:
        return
    count = quantity(len(health.tools), "tool")
    st.caption(plain(f"{health.version or 'without a name'} · {health.seconds:.1f} s · {count}"))
    rows = [
        {"Tool": tool.name, "Marks": marks(tool), "Workers": ", ".join(health.workers[tool.name])}
        for tool in health.tools
    ]
    if rows:
        st.dataframe(rows, hide_index=True)
