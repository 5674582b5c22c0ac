"""The tokens of the API on the pool page: what there are, what each has used, and the buttons to make more.

Knows the store's tokens; what the dialogs ask is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.text.formatting import counted, dollars
from pages.components.pool.token_dialogs import open_creation, open_revocation, token_dialog
from pages.components.tab.account import api_url
from pages.components.tab.notices import errors_shown
from pages.components.tab.services import access
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from storage import SessionStore
from storage.api_token import Spent, Token, told
from studio.access.machine_token import NAME

_WIDTHS = (2.2, 1.4, 1.4, 2.2, 3.2, 0.6)
_HEADINGS = ("Name", "Created", "Last used", "Used so far", "Limits", "")
_SHOWN = 50


def tokens_view(store: SessionStore, tab: TabState, workers: Sequence[str]) -> None:
    """Draw the section; `workers` are the pool's."""
    with errors_shown("tokens"), st.container(key="tokens-section"):
        st.subheader("API tokens", anchor=False)
        tokens = store.tokens.listed()
        valid = [token for token in tokens if token.revoked_at is None]
        st.caption(_standing(len(valid)))
        tab.show_notice("tokens")
        may_edit = access().editing_refusal is None
        if may_edit:
            st.button(
                "Create a token", key="token-create", icon=":material/key:", on_click=_creation, args=(tab,)
            )
        if valid:
            _table(store, tab, valid[:_SHOWN], may_revoke=may_edit)
        _without_rows(len(valid), revoked=len(tokens) - len(valid))
        if may_edit:
            token_dialog(store, workers)


def _standing(valid: int) -> str:
    url = plain(api_url())
    which = {0: "a token", 1: "this token"}.get(valid, "one of these tokens")
    return (
        f"Any OpenAI client can send requests to {url}, with {which} as its API key. Programs on "
        f"the server's machine find one in the file {NAME} beside the store."
    )


def _creation(tab: TabState) -> None:
    open_creation()
    tab.ask_redraw()


def _revocation(tab: TabState, token: Token) -> None:
    open_revocation(token)
    tab.ask_redraw()


def _table(store: SessionStore, tab: TabState, tokens: Sequence[Token], *, may_revoke: bool) -> None:
    with st.container(key="token-table", gap=None):
        with st.container(key="token-head"):
            for column, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
                column.caption(heading)
        for token in tokens:
            with st.container(key=f"token-row-{token.id}", gap=None):
                _row(tab, token, store.tokens.spent(token.id), may_revoke=may_revoke)


def _row(tab: TabState, token: Token, spent: Spent, *, may_revoke: bool) -> None:
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
    if not may_revoke:
        return
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
