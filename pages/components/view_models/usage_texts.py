"""The sums of the usage page as HTML: the total, the legend of the chart, the table. Pure; knows no page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from conductor.text.formatting import dollars
from conductor.values.total import NOTHING, Total
from pages.components.view_models.usage_chart import Series
from studio.sessions.usage_table import UsageRow, UsageTable

MOST_ROWS = 100
"""Rows that the page shows; the command lists all."""


def sums_html(total: Total, unpaid: Total = NOTHING) -> str:
    """The total, in large type: tokens, dollars and requests; beside them the tokens of models on this
    machine, where there are some.
    """
    amounts = {
        "tokens": _bounded(total, tokens=True),
        "US dollars": _bounded(total, tokens=False),
        "requests": f"{total.calls:,}",
    }
    if unpaid.calls:
        amounts["tokens on this machine"] = _bounded(unpaid, tokens=True)
    items = "".join(f"<div><dt>{name}</dt><dd>{amount}</dd></div>" for name, amount in amounts.items())
    return f'<dl class="usage-sums">{items}</dl>'


def _bounded(total: Total, *, tokens: bool) -> str:
    words = _tokens(total) if tokens else total.cost_words
    for bound in ("at least", "at most"):
        if words.startswith(bound):
            return f"<small>{bound}</small>{escape(words.removeprefix(bound))}"
    return escape(words)


def legend_html(series: Iterable[Series]) -> str:
    """Which worker has which colour, with the shape that stands for it everywhere."""
    items = "".join(f"<li>{each.mark}<span>{escape(each.name)}</span></li>" for each in series)
    return f'<ul class="usage-legend">{items}</ul>'


def table_html(table: UsageTable, *, heading: str) -> str:
    """A row a key with its requests, tokens and dollars; the total; below it what is apart from it."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in (heading, "Requests", "Tokens", "US dollars"))
    rows = [_row(row) for row in table.rows[:MOST_ROWS]]
    rows.append(f'<tr class="total"><th scope="row">Total</th>{_cells(table.total)}</tr>')
    rows += [_row(row) for row in table.apart[:MOST_ROWS]]
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    region = 'class="usage-table" tabindex="0" role="region" aria-label="Usage"'
    return f"<div {region}><table>{body}</table></div>"


def _row(row: UsageRow) -> str:
    name = f"<bdi>{escape(row.name)}</bdi>"
    if row.is_session:
        name = f'<a href="./?{urlencode({"session": row.key})}" target="_self">{name}</a>'
    note = f' <span class="note">({escape(row.note)})</span>' if row.note else ""
    return f'<tr><th scope="row">{name}{note}</th>{_cells(row.total)}</tr>'


def _cells(total: Total) -> str:
    cells = (f"{total.calls:,}", _tokens(total), total.cost_words if total.calls else dollars(None))
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _tokens(total: Total) -> str:
    """The tokens without their noun."""
    return total.token_words.rpartition(" ")[0]
