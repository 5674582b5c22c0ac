"""The tokens of the API on the pool page: what there are, what each has used, and the buttons to make more.

Knows the store's tokens; what the dialogs ask is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.amounts import counted, dollars
from conductor.api.token import Spent, Token, told
from pages.components.api_address import api_url
from pages.components.guard import errors_shown
from pages.components.sides import clock
from pages.components.state import TabState, plain
from pages.components.token_dialogs import open_creation, open_revocation, token_dialog
from storage import SessionStore

_WIDTHS = (2.2, 1.4, 1.4, 2.2, 3.2, 0.6)
_HEADINGS = ("Name", "Created", "Last used", "Used so far", "Limits", "")
_SHOWN = 50


def tokens_view(store: SessionStore, tab: TabState, workers: Sequence[str]) -> None:
    """Draw the section; `workers` are the pool's."""
    with errors_shown("tokens"), st.container(key="tokens-section"):
        st.subheader("API tokens", anchor=False)
        tokens = store.tokens()
        valid = [token for token in tokens if token.revoked_at is None]
        st.caption(_standing(len(valid)))
        tab.show_notice("tokens")
        st.button(
            "Create a token", key="token-create", icon=":material/key:", on_click=_creation, args=(tab,)
        )
        if valid:
            _table(store, tab, valid[:_SHOWN])
        _without_rows(len(valid), revoked=len(tokens) - len(valid))
        token_dialog(store, workers)


def _standing(valid: int) -> str:
    url = plain(api_url())
    if not valid:
        return (
            f"Any OpenAI client can ask the whole orchestra at {url}. There is no token yet, so it answers "
            "programs on this machine only; with a token, others may ask, too."
        )
    which = "this token" if valid == 1 else "one of these tokens"
    return f"Any OpenAI client can ask the whole orchestra at {url}, with {which} as its API key."


def _creation(tab: TabState) -> None:
    open_creation()
    tab.ask_redraw()


def _revocation(tab: TabState, token: Token) -> None:
    open_revocation(token)
    tab.ask_redraw()


def _table(store: SessionStore, tab: TabState, tokens: Sequence[Token]) -> None:
    with st.container(key="token-table", gap=None):
        with st.container(key="token-head"):
            for column, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
                column.caption(heading)
        for token in tokens:
            with st.container(key=f"token-row-{token.id}", gap=None):
                _row(tab, token, store.token_spent(token.id))


def _row(tab: TabState, token: Token, spent: Spent) -> None:
    name, created, used, so_far, limits, buttons = st.columns(_WIDTHS, vertical_alignment="center")
    with name:
        st.markdown(f"**{plain(token.name)}**")
        st.caption(token.id)
    created.markdown(plain(clock(token.created_at)))
    used.markdown(plain("-" if token.used_at is None else clock(token.used_at)))
    with so_far:
        st.markdown(plain(_amounts(spent)))
        st.caption(plain(_of(token, spent)))
    limits.markdown(plain(" · ".join(told(token.limits)) or "none"))
    with buttons, st.container(horizontal=True, gap=None, horizontal_alignment="right"):
        st.button(
            f"Revoke {plain(token.name)}",
            key=f"pool-icon-token-{token.id}",
            icon=":material/key_off:",
            type="tertiary",
            help="Revoke",
            on_click=_revocation,
            args=(tab, token),
        )


def _amounts(spent: Spent) -> str:
    return f"{counted(spent.tokens, 'token')} · {dollars(spent.cost)}"


def _of(token: Token, spent: Spent) -> str:
    """How many requests that were, in which time, and of how many the amounts are unknown."""
    period = {"day": " today", "month": " this month", "total": ""}[token.limits.period]
    parts = [f"{counted(spent.requests, 'request')}{period}"]
    if spent.unknown_tokens:
        parts.append(f"{spent.unknown_tokens:,} of unknown tokens")
    if spent.unknown_costs:
        parts.append(f"{spent.unknown_costs:,} of unknown cost")
    return " · ".join(parts)


def _without_rows(valid: int, *, revoked: int) -> None:
    parts = []
    if valid > _SHOWN:
        parts.append(f"{valid - _SHOWN:,} more that are older; `tokens list` in a terminal shows all")
    if revoked:
        parts.append(f"{counted(revoked, 'token')} revoked")
    if parts:
        st.caption(" · ".join(parts))
