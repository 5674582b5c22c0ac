"""Handles a click in a part of the page that this process has not drawn yet as one on the whole page.

Streamlit ignores a message for a fragment that it does not know. After a restart of the server that is every
fragment of a page that is still open, until the new process has drawn the page once: what a person clicks or
types in that second would be lost. Knows how Streamlit takes messages, not what is in them.
"""

from __future__ import annotations

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

_request = AppSession.request_rerun


def take_unknown_fragments() -> None:
    """Let a message for an unknown fragment draw the whole page, in all sessions of this process."""
    AppSession.request_rerun = _request_rerun  # type: ignore[method-assign, assignment]


def _request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    if client_state and _is_lost(session, client_state):
        whole = ClientState()
        whole.CopyFrom(client_state)
        whole.ClearField("fragment_id")
        client_state = whole
    _request(session, client_state)


def _is_lost(session: AppSession, message: ClientState) -> bool:
    # A timer of a fragment that has gone is no person's click.
    timer = message.is_auto_rerun
    return bool(message.fragment_id) and not timer and not session.has_fragment(message.fragment_id)
