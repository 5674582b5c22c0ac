"""The dialogs over the pool page in which a token of the API is made, shown once, and revoked.

Knows the store's tokens; the list of them is tokens_view's. A token's text is in the tab's state only while
the dialog shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import streamlit as st

from conductor.errors import StorageError
from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.tab.state import TabState, plain
from storage import SessionStore
from storage.api_token import MAX_NAME, Period, Token, TokenLimits

_DIALOG = "token-dialog"
_FAULT = "token-fault"

_PERIODS: dict[Period, str] = {"total": "In total", "month": "Each month", "day": "Each day"}


@dataclass(frozen=True)
class TokenDialog:
    """What is asked or shown. A new `serial` makes new fields; `text` is a new token's, shown once."""

    kind: Literal["create", "made", "revoke"]
    serial: int
    token: Token | None = None
    text: str = ""

    def key(self, name: str) -> str:
        """The key of a widget."""
        return f"token-{self.serial}-{name}"


def open_creation() -> None:
    """Ask for a new token on the next run of the page."""
    _open("create")


def open_revocation(token: Token) -> None:
    """Ask whether to revoke it on the next run of the page."""
    _open("revoke", token)


def token_dialog(store: SessionStore, workers: Sequence[str]) -> None:
    """Draw the dialog, where one is open. `workers` are the pool's."""
    dialog = _opened()
    if dialog is None:
        return
    dialog_theme()
    titles = {"create": "Create a token", "made": "Create a token", "revoke": "Revoke a token"}
    st.dialog(titles[dialog.kind], width="medium", on_dismiss=_close)(_draw)(store, workers)


def _open(kind: Literal["create", "revoke"], token: Token | None = None) -> None:
    serial = st.session_state.get("token-dialogs", 0) + 1
    st.session_state["token-dialogs"] = serial
    st.session_state[_FAULT] = ""
    st.session_state[_DIALOG] = TokenDialog(kind, serial, token)


def _opened() -> TokenDialog | None:
    return cast("TokenDialog | None", st.session_state.get(_DIALOG))


def _close() -> None:
    st.session_state[_DIALOG] = None


def _draw(store: SessionStore, workers: Sequence[str]) -> None:
    dialog = _opened()
    if dialog is None:
        st.rerun()
        return
    match dialog.kind:
        case "create":
            _creation(store, dialog, workers)
        case "made":
            _made(dialog)
        case "revoke":
            _revocation(store, dialog)


def _creation(store: SessionStore, dialog: TokenDialog, workers: Sequence[str]) -> None:
    st.text_input(
        "Name",
        key=dialog.key("name"),
        max_chars=MAX_NAME,
        placeholder="Who or what it is for, such as my laptop",
    )
    st.caption("Limits, all of them optional")
    _limits(dialog, workers)
    # A box that is always there keeps the buttons the same, and the focus with them.
    with st.container(key="token-summary"):
        if fault := st.session_state.get(_FAULT):
            st.error(plain(fault), icon=":material/error:")
    with st.container(horizontal=True):
        st.button(
            "Create token",
            key="token-create-now",
            type="primary",
            icon=":material/key:",
            on_click=_create,
            args=(store, dialog),
        )
        st.button("Cancel", key="token-cancel", on_click=_close)


def _limits(dialog: TokenDialog, workers: Sequence[str]) -> None:
    st.multiselect(
        "Workers it may use",
        workers,
        key=dialog.key("workers"),
        format_func=lambda name: plain(name, limit=60),
        placeholder="All workers of the pool",
    )
    for fields in (
        (("tokens", "Tokens", 1, "%d"), ("cost", "US dollars", 0.0, "%g")),
        (("requests", "Requests a minute", 1, "%d"), ("paced", "Tokens a minute", 1, "%d")),
    ):
        for column, (name, label, least, form) in zip(st.columns(2), fields, strict=True):
            column.number_input(
                label, min_value=least, value=None, format=form, placeholder="No limit", key=dialog.key(name)
            )
        if fields[0][0] == "tokens":
            st.segmented_control(
                "Period of the token and dollar limits",
                list(_PERIODS),
                default="total",
                required=True,
                format_func=_PERIODS.__getitem__,
                help="Calendar days and months, in UTC",
                key=dialog.key("period"),
            )


def _create(store: SessionStore, dialog: TokenDialog) -> None:
    if TabState().pressed_again("token-create-now"):
        return
    said = {
        name: st.session_state.get(dialog.key(name))
        for name in ("name", "workers", "tokens", "cost", "requests", "paced", "period")
    }
    limits = TokenLimits(
        workers=tuple(said["workers"]) if said["workers"] else None,
        tokens=said["tokens"],
        cost=said["cost"] or None,
        period=said["period"] or "total",
        requests_per_minute=said["requests"],
        tokens_per_minute=said["paced"],
    )
    try:
        token, text = store.tokens.create(said["name"] or "", limits)
    except StorageError as error:
        st.session_state[_FAULT] = str(error)
        return
    st.session_state[_DIALOG] = TokenDialog("made", dialog.serial, token, text)


def _made(dialog: TokenDialog) -> None:
    assert dialog.token is not None, "what was made has a token"
    st.markdown(
        f"This is the token **{plain(dialog.token.name)}**. Copy it now: it is shown only once. If you "
        "lose it, create another one."
    )
    st.code(dialog.text, language=None, wrap_lines=True)
    st.caption("Programs send it as their API key, preferably read from the environment:")
    st.code('export CONDUCTOR_API_KEY="..."', language=None)
    st.button("Done", key="token-done", type="primary", on_click=_close)


def _revocation(store: SessionStore, dialog: TokenDialog) -> None:
    assert dialog.token is not None, "what is revoked has a token"
    st.markdown(
        f"Requests with the token **{plain(dialog.token.name)}** are refused from now on; this cannot be "
        "undone. Requests that are already running are completed."
    )
    with st.container(horizontal=True):
        st.button(
            "Revoke",
            key="token-revoke-now",
            type="primary",
            icon=":material/key_off:",
            on_click=_revoke,
            args=(store, dialog.token),
        )
        st.button("Cancel", key="token-cancel", on_click=_close)


def _revoke(store: SessionStore, token: Token) -> None:
    store.tokens.revoke(token.id)
    TabState().notify("info", f"{token.name} was revoked.", place="tokens")
    _close()
