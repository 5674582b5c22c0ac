"""The tokens of the API on the pool page: what there are, what each has used, and the dialogs in which one is
made, shown once, and revoked.

A new token's text is in the tab's state only while its dialog is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from conductor.errors import StorageError
from conductor.runs.request import Asker
from conductor.text.formatting import dollars, quantity
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.account import api_url
from pages.components.tab.notices import showing_errors
from pages.components.tab.services import access
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from pages.components.widgets.controls import action
from pages.components.widgets.dialog import Dialog
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore
from storage.api_token import MAX_NAME, Token, TokenLimits
from storage.limits import Period, Spent
from studio.access.machine_token import NAME
from studio.sessions.person_limits import PersonLimits

focus_fallback("token-table", "token-create")

_WIDTHS = (2.2, 1.4, 1.4, 2.2, 3.2, 0.6)
_HEADINGS = ("Name", "Created", "Last used", "Used so far", "Limits", "")
_MOST_ROWS = 50
_PERIODS: dict[Period, str] = {"total": "In total", "month": "Each month", "day": "Each day"}
_OF_PERIOD: dict[Period, str] = {"total": "", "month": " this month", "day": " today"}


def tokens_view(store: SessionStore, tab: TabState, workers: Sequence[str], *, asker: Asker) -> None:
    """Draw the section; `workers` are the pool's. A token has its own limits alone, so a person who has
    limits makes none.
    """
    with showing_errors("tokens"), st.container(key="tokens-section"):
        st.subheader("API tokens", anchor=False)
        tokens = store.tokens.listed()
        valid = [token for token in tokens if token.revoked_at is None]
        which = {0: "a token", 1: "this token"}.get(len(valid), "one of these tokens")
        st.caption(
            f"Any OpenAI client can call {plain(api_url())}, with {which} as its API key. "
            f"Programs on the server's machine find one in the file {NAME} beside the store."
        )
        tab.show_notice("tokens")
        limited = PersonLimits.of(store, asker) is not None
        may_edit = access().editing_refusal is None and not limited
        if limited:
            st.caption("You have limits, which a token would not have: ask who has none for one.")
        if may_edit:
            action("Create a token", "key", _DIALOG.open, TokenDialog(), key="token-create")
        if valid:
            _table(store, valid[:_MOST_ROWS], may_revoke=may_edit)
        notes = []
        if (older := len(valid) - _MOST_ROWS) > 0:
            notes.append(f"{older:,} older ones not listed; `tokens list` in a terminal shows all")
        if len(tokens) > len(valid):
            notes.append(f"{quantity(len(tokens) - len(valid), 'token')} revoked")
        if notes:
            st.caption(" · ".join(notes))
        if may_edit:
            _dialog(store, workers)


def _table(store: SessionStore, tokens: Sequence[Token], *, may_revoke: bool) -> None:
    with st.container(key="token-table", gap=None):
        with st.container(key="token-head"):
            for column, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
                column.caption(heading)
        for token in tokens:
            with st.container(key=f"token-row-{token.id}", gap=None):
                _row(token, store.tokens.spent(token.id), may_revoke=may_revoke)


def _row(token: Token, spent: Spent, *, may_revoke: bool) -> None:
    name, created, used, so_far, limits, buttons = st.columns(_WIDTHS, vertical_alignment="center")
    with name:
        st.markdown(f"**{plain(token.name)}**")
        st.caption(token.id)
    created.markdown(plain(clock(token.created_at)))
    used.markdown(plain("-" if token.used_at is None else clock(token.used_at)))
    with so_far:
        st.markdown(plain(f"{quantity(spent.tokens, 'token')} · {dollars(spent.cost)}"))
        requests = [f"{quantity(spent.requests, 'request')}{_OF_PERIOD[token.limits.period]}"]
        if spent.unknown_tokens:
            requests.append(f"tokens of {quantity(spent.unknown_tokens, 'call')} by estimate")
        if spent.unknown_costs:
            calls = quantity(spent.unknown_costs, "call")
            requests.append(f"dollars of {calls} by estimate or without a price")
        st.caption(plain(" · ".join(requests)))
    limits.markdown(plain(" · ".join(token.limits.texts) or "none"))
    if may_revoke:
        with buttons, st.container(horizontal=True, gap=None, horizontal_alignment="right"):
            label, key = f"Revoke {plain(token.name)}", f"pool-icon-token-{token.id}"
            action(
                label, "key_off", _DIALOG.open, TokenDialog(token), key=key, type="tertiary", help="Revoke"
            )


# -- dialogs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenDialog:
    """A token to be made, without one; one that was made, whose `text` is shown once; or one to revoke."""

    token: Token | None = None
    text: str = ""
    fault: str = ""


_DIALOG = Dialog[TokenDialog]("token-dialog")


def _key(name: str) -> str:
    return f"token-{_DIALOG.serial}-{name}"


def _dialog(store: SessionStore, workers: Sequence[str]) -> None:
    """Draw the dialog, where one is open."""

    def draw(dialog: TokenDialog) -> None:
        if dialog.token is None:
            _creation(store, workers, fault=dialog.fault)
        elif dialog.text:
            _new_token(dialog.token, dialog.text)
        else:
            _revocation(store, dialog.token)

    def title(dialog: TokenDialog) -> str:
        return "Revoke a token" if dialog.token is not None and not dialog.text else "Create a token"

    _DIALOG.show(title, draw, width="medium")


def _creation(store: SessionStore, workers: Sequence[str], *, fault: str) -> None:
    st.text_input(
        "Name",
        key=_key("name"),
        max_chars=MAX_NAME,
        placeholder="Who or what it is for, such as my laptop",
    )
    st.caption("Limits (optional)")
    st.multiselect(
        "Workers it may use",
        workers,
        key=_key("workers"),
        placeholder="All workers of the pool",
    )
    _amounts(("tokens", "Tokens", 1, "%d"), ("cost", "US dollars", 0.0, "%g"))
    st.segmented_control(
        "Period of the token and dollar limits",
        list(_PERIODS),
        default="total",
        required=True,
        format_func=distinct_labels(_PERIODS),
        help="Calendar days and months, in UTC",
        key=_key("period"),
    )
    _amounts(("requests", "Requests per minute", 1, "%d"), ("paced", "Tokens per minute", 1, "%d"))
    st.checkbox(
        "Also store requests with `store: false`",
        help="Coding agents send that with each request; unless stored, their sessions cannot be opened here",
        key=_key("unstored"),
    )
    _DIALOG.buttons("Create token", "key", _create, store, key="token-create-now", fault=fault)


def _amounts(*fields: tuple[str, str, float, str]) -> None:
    for column, (name, label, least, form) in zip(st.columns(2), fields, strict=True):
        column.number_input(
            label, min_value=least, value=None, format=form, placeholder="No limit", key=_key(name)
        )


def _create(store: SessionStore) -> None:
    if TabState().pressed_again("token-create-now"):
        return
    names = ("name", "workers", "tokens", "cost", "requests", "paced", "period", "unstored")
    values = {name: st.session_state.get(_key(name)) for name in names}
    limits = TokenLimits(
        workers=tuple(values["workers"]) if values["workers"] else None,
        tokens=values["tokens"],
        cost=values["cost"] or None,
        period=values["period"] or "total",
        requests_per_minute=values["requests"],
        tokens_per_minute=values["paced"],
        keeps_unstored=bool(values["unstored"]),
    )
    try:
        token, text = store.tokens.create(values["name"] or "", limits)
    except StorageError as error:
        _DIALOG.change(TokenDialog(fault=str(error)))
    else:
        _DIALOG.change(TokenDialog(token, text))


def _new_token(token: Token, text: str) -> None:
    st.markdown(
        f"This is the token **{plain(token.name)}**. Copy it now: it is shown only once. If you lose it, "
        "create another one."
    )
    st.code(text, language=None, wrap_lines=True)
    st.caption("Programs send it as their API key, preferably read from the environment:")
    st.code('export CONDUCTOR_API_KEY="..."', language=None)
    st.button("Done", key="token-done", type="primary", on_click=_DIALOG.close)


def _revocation(store: SessionStore, token: Token) -> None:
    st.markdown(
        f"Requests with the token **{plain(token.name)}** will be refused from now on. You cannot undo this. "
        "Requests already running are completed."
    )
    _DIALOG.buttons("Revoke", "key_off", _revoke, store, token, key="token-revoke-now")


def _revoke(store: SessionStore, token: Token) -> None:
    store.tokens.revoke(token.id)
    TabState().notify("info", f"{token.name} was revoked.", place="tokens")
    _DIALOG.close()
