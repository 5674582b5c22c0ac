"""Handles each message of a browser in the page that its person chose last, whole if its part is not known.

A press on another page's link is sent before what the same press changed: a field that lost the focus, a menu
that closed. That names the page before, which Streamlit would draw again. And Streamlit ignores a message for
a fragment that it does not know. After a restart of the server that is every fragment of a page that is still
open, until the new process has drawn the page once: what a person clicks or types in that second would be
lost. Knows how Streamlit takes messages, not what is in them.
"""

from __future__ import annotations

from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession

_request = AppSession.request_rerun
_begin = AppSession._create_new_session_message

_CHOICE = "_conductor_choice"
"""An attribute of a session: the message with which a person chose a page, until a run of that begins."""


def handle_in_chosen_page() -> None:
    """Let no message draw a page that its person has left, and none be lost, in this process."""
    AppSession.request_rerun = _request_chosen  # type: ignore[method-assign, assignment]
    AppSession._create_new_session_message = _begin_chosen  # type: ignore[method-assign, assignment]


def _request_chosen(session: AppSession, client_state: ClientState | None) -> None:
    if client_state:
        message = ClientState()
        message.CopyFrom(client_state)
        if message.is_history_navigation or not (message.fragment_id or message.widget_states.widgets):
            setattr(session, _CHOICE, message)
        elif not _belongs(session, message):
            return
        client_state = message
    _request(session, client_state)


def _begin_chosen(session: AppSession, page_script_hash: str, *args: Any) -> ForwardMsg:
    choice = getattr(session, _CHOICE, None)
    if choice is not None and choice.page_script_hash in {page_script_hash, ""}:
        setattr(session, _CHOICE, None)
        # Streamlit notes the run's page now, its query only at the run's end.
        session._client_state.query_string = choice.query_string
    return _begin(session, page_script_hash, *args)


def _belongs(session: AppSession, message: ClientState) -> bool:
    """Whether to handle the message, which is changed to one that Streamlit handles in the person's page."""
    choice = getattr(session, _CHOICE, None) or session._client_state
    # Until the first run of an address ends, Streamlit names the app's script, not the page.
    unknown = {"", session._pages_manager.main_script_hash}
    has_left = choice.page_script_hash not in {message.page_script_hash, *unknown}
    if has_left:
        message.page_script_hash, message.query_string = choice.page_script_hash, choice.query_string
    if has_left or (message.fragment_id and not session.has_fragment(message.fragment_id)):
        # A timer of a fragment that has gone is no person's click.
        if message.is_auto_rerun:
            return False
        message.ClearField("fragment_id")
    return True
