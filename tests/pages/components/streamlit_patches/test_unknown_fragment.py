"""A click in a part of the page that the server does not know yet is not lost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

from pages.components.streamlit_patches import messages


@pytest.fixture
def session(monkeypatch):
    """A session that knows the fragment "known" and collects what it is to run."""
    monkeypatch.setattr(AppSession, "request_rerun", messages._request)
    runs = []
    return SimpleNamespace(
        _state=None,
        _scriptrunner=None,
        _create_scriptrunner=runs.append,
        runs=runs,
        has_fragment="known".__eq__,
    )


@pytest.mark.parametrize(
    ("message", "runs"),
    [
        ({"fragment_id": "known"}, ["known"]),
        ({"fragment_id": "of another process"}, [None]),
        ({"fragment_id": "of another process", "is_auto_rerun": True}, []),
        ({}, [None]),
    ],
)
def test_a_message_for_an_unknown_fragment_draws_the_whole_page(session, message, runs):
    messages.take_unknown_fragments()
    sent = ClientState(query_string="a=b", **message)
    AppSession.request_rerun(session, sent)
    assert [run.fragment_id for run in session.runs] == runs
    assert sent == ClientState(query_string="a=b", **message)


def test_without_a_message_the_page_is_drawn_as_before(session):
    messages.take_unknown_fragments()
    AppSession.request_rerun(session, None)
    assert len(session.runs) == 1


def test_without_the_patch_streamlit_ignores_the_message(session):
    AppSession.request_rerun(session, ClientState(fragment_id="of another process"))
    assert not session.runs
