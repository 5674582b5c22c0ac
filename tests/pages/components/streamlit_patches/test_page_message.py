"""What a person does on a page is done, and no late message of a page brings back one that they have left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession

from pages.components.streamlit_patches import page_message

CHANGES = WidgetStates(widgets=[WidgetState(id="title", string_value="Mine")])


@pytest.fixture
def session(monkeypatch):
    """A session that shows the page "here", knows the fragment "known" and collects what it is to run."""
    monkeypatch.setattr(AppSession, "request_rerun", page_message._request)
    monkeypatch.setattr(AppSession, "_create_new_session_message", lambda *_: None)
    monkeypatch.setattr(page_message, "_begin", lambda *_: None)
    runs = []
    return SimpleNamespace(
        _state=None,
        _scriptrunner=None,
        _create_scriptrunner=runs.append,
        _client_state=ClientState(page_script_hash="here", query_string="shown=1"),
        _pages_manager=SimpleNamespace(main_script_hash="main"),
        runs=runs,
        has_fragment="known".__eq__,
    )


def send(session, **message) -> None:
    AppSession.request_rerun(session, ClientState(**message))


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
    page_message.handle_in_chosen_page()
    sent = ClientState(query_string="a=b", page_script_hash="here", **message)
    AppSession.request_rerun(session, sent)
    assert [run.fragment_id for run in session.runs] == runs
    assert sent == ClientState(query_string="a=b", page_script_hash="here", **message)


LATE = [
    ({"fragment_id": "known", "widget_states": CHANGES}, True),
    ({"fragment_id": "of another process", "widget_states": CHANGES}, True),
    ({"widget_states": CHANGES}, True),
    ({"fragment_id": "known", "is_auto_rerun": True}, False),
]


@pytest.mark.parametrize(("late", "runs"), LATE)
@pytest.mark.parametrize("has_begun", [False, True])
def test_what_a_press_on_a_link_changed_too_is_handled_in_the_page_of_the_link(
    session, late, runs, has_begun
):
    page_message.handle_in_chosen_page()
    send(session, page_script_hash="there", query_string="new=1")
    if has_begun:
        # Streamlit notes the page when its run begins, the rest of the message when that ends.
        session._client_state.page_script_hash = "there"
        AppSession._create_new_session_message(session, "there")
    send(session, page_script_hash="here", query_string="shown=1", **late)
    assert [(run.page_script_hash, run.query_string, run.fragment_id) for run in session.runs] == [
        ("there", "new=1", None)
    ] * (1 + runs)
    if runs:
        assert session.runs[-1].widget_states == late["widget_states"]


def test_a_run_of_the_page_before_does_not_end_the_choice(session):
    page_message.handle_in_chosen_page()
    send(session, page_script_hash="there")
    AppSession._create_new_session_message(session, "here")
    send(session, page_script_hash="here", widget_states=CHANGES)
    assert session.runs[-1].page_script_hash == "there"


@pytest.mark.parametrize("history", [False, True])
def test_a_person_goes_back_to_the_page_before(session, history):
    page_message.handle_in_chosen_page()
    send(session, page_script_hash="there")
    states = CHANGES if history else WidgetStates()
    send(session, page_script_hash="here", is_history_navigation=history, widget_states=states)
    assert [run.page_script_hash for run in session.runs] == ["there", "here"]


def test_a_page_that_a_script_chose_has_its_own_messages(session):
    page_message.handle_in_chosen_page()
    send(session, page_script_hash="there")
    AppSession._create_new_session_message(session, "there")
    session._client_state = ClientState(page_script_hash="third")
    send(session, page_script_hash="third", fragment_id="known")
    assert (session.runs[-1].page_script_hash, session.runs[-1].fragment_id) == ("third", "known")


def test_a_page_opened_by_its_address_has_its_own_messages_before_its_first_run_ends(session):
    page_message.handle_in_chosen_page()
    send(session, page_name="here")
    # Streamlit knows by then only that the app's script runs.
    session._client_state.page_script_hash = "main"
    AppSession._create_new_session_message(session, "main")
    send(session, page_script_hash="here", fragment_id="known", widget_states=CHANGES)
    assert (session.runs[-1].page_script_hash, session.runs[-1].fragment_id) == ("here", "known")


def test_after_a_restart_of_the_server_a_page_draws_itself(session):
    page_message.handle_in_chosen_page()
    session._client_state = ClientState()
    send(session, page_script_hash="here", widget_states=CHANGES)
    assert session.runs[-1].page_script_hash == "here"


def test_without_a_message_the_page_is_drawn_as_before(session):
    page_message.handle_in_chosen_page()
    AppSession.request_rerun(session, None)
    assert len(session.runs) == 1


def test_without_the_patch_streamlit_ignores_the_message(session):
    send(session, fragment_id="of another process")
    assert not session.runs
