"""The usage page: what requests have used, by day and worker as bars, and by what one chooses as a table."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import date, datetime, timedelta

import streamlit as st

from conductor.text.calendar_time import local_time, unix_seconds
from conductor.text.formatting import quantity
from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import workbench
from pages.components.tab.state import TabState
from pages.components.view_models.training_curves import DARK, LIGHT
from pages.components.view_models.usage_chart import Amount, series_of, usage_chart
from pages.components.view_models.usage_texts import MOST_ROWS, legend_html, sums_html, table_html
from pages.components.view_models.workflow.card_content import worker_marks
from pages.components.widgets.controls import choice, page_head
from storage import UsageKey, Use
from studio.sessions.usage_table import UsageTable
from studio.workbench import Workbench

_PERIODS: Mapping[int, str] = {7: "7 days", 30: "30 days", 0: "All"}
_AMOUNTS: Mapping[Amount, str] = {"tokens": "Tokens", "dollars": "US dollars"}
_KEYS: Mapping[UsageKey, str] = {
    "worker": "Worker",
    "person": "Person",
    "token": "Token",
    "session": "Session",
    "day": "Day",
}


def page() -> None:
    with page_notices():
        tab, bench = TabState(), workbench()
        tab.begin_page()
        page_head("Usage")
        has_pool = pool_notice()
        if not bench.store.ledger.used("worker"):
            _nothing_yet()
            return
        with st.container(key="usage"):
            _view(bench, has_pool=has_pool)


def _view(bench: Workbench, *, has_pool: bool) -> None:
    today = local_time(time.time()).date()
    with st.container(horizontal=True, vertical_alignment="center", key="usage-head"):
        days = choice("Period", _PERIODS, key="usage-period", default=30)
        st.space("stretch")
        amount = choice("Bars show", _AMOUNTS, key="usage-amount", default="tokens")
    first = today - timedelta(days=days - 1) if days else None
    since = 0.0 if first is None else unix_seconds(datetime.combine(first, datetime.min.time()))
    used = bench.store.ledger.used("day", "worker", since=since)
    unpaid = bench.store.sessions.used_since(since, "embedded")
    st.html(sums_html(UsageTable.read(bench.store, "worker", since=since).total, unpaid))
    _chart(used, bench, has_pool=has_pool, amount=amount, first=first, last=today)
    _table(bench, since)


def _nothing_yet() -> None:
    st.caption(
        "No requests yet. This page shows the tokens and dollars of each day, worker, person, token "
        "and session."
    )
    st.page_link("pages/workbench.py", label="Open the workbench", icon=":material/account_tree:")


def _chart(
    used: tuple[Use, ...], bench: Workbench, *, has_pool: bool, amount: Amount, first: date | None, last: date
) -> None:
    colours = DARK if st.context.theme.type == "dark" else LIGHT
    names = sorted({worker for use in used if (worker := use.names[1]) is not None})
    marks = worker_marks(bench.pool.cards if has_pool else {}, *names)
    series = series_of(used, marks, rest=colours.quiet)
    if not series:
        st.caption("No model was called in this period. Simulated workers use nothing and have no bars.")
        return
    begin = first or min(date.fromisoformat(day) for each in series for day in each.days)
    st.html(legend_html(series))
    chart = usage_chart(series, colours, amount=amount, first=begin, last=last)
    st.vega_lite_chart(dict(chart), width="stretch", key="usage-bars")


def _table(bench: Workbench, since: float) -> None:
    by = choice("Group by", _KEYS, key="usage-by", default="worker")
    table = UsageTable.read(bench.store, by, since=since)
    st.html(table_html(table, heading=_KEYS[by]))
    notes = []
    if (more := len(table.rows) - MOST_ROWS) > 0:
        notes.append(f"{quantity(more, 'more row')} in `conductor usage --by {by}`.")
    if table.total.tokens_at_least or table.total.cost_at_least:
        notes.append("“At least”: an endpoint did not report some usage, or a worker has no price.")
    if any(row.total.cost_at_most for row in table.rows):
        notes.append("“At most”: the price of cached tokens is unknown; they count like other tokens here.")
    if table.apart:
        notes.append("What the total does not include is listed below it.")
    notes.append("Removed sessions count; copied and imported ones do not.")
    st.caption(" ".join(notes))


page()
drawn_to_the_end()
