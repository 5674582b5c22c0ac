"""Callbacks are carried out whole, whatever else the browser sends meanwhile."""

from __future__ import annotations

import threading
import time

import pytest
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.components.streamlit_patches.messages import finish_callbacks


class Left(BaseException):
    """Streamlit leaves the script."""


class Session:
    """A session's state with one callback, which looks at it."""

    def __init__(self):
        self.values = {"instruction": "Typed."}
        self.instruction = None
        self.callback = self.look

    def __getitem__(self, key):
        return self.values[key]

    def on_script_will_rerun(self, _states, **_options):
        self.callback()

    def look(self):
        self.instruction = self.safe["instruction"]


@pytest.fixture
def pressed(monkeypatch):
    """A session that has got another message by now."""

    def leave():
        raise Left

    monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", SafeSessionState.on_script_will_rerun)
    session = Session()
    session.safe = SafeSessionState(session, leave)
    return session


def test_a_press_that_comes_meanwhile_waits_for_the_end_of_a_callback(pressed):
    with pytest.raises(Left):
        pressed.safe.on_script_will_rerun(None)
    assert pressed.instruction is None
    finish_callbacks()
    pressed.safe.on_script_will_rerun(None)
    assert pressed.instruction == "Typed."


@pytest.mark.slow
def test_the_next_callbacks_wait_for_the_end_of_the_last_ones_in_whatever_thread(pressed):
    finish_callbacks()
    order, start = [], threading.Event()

    def text():
        start.set()
        time.sleep(0.05)
        order.append("text")

    pressed.values = {"instruction": "Typed."}
    pressed.callback = text
    states = [SafeSessionState(pressed, lambda: None) for _ in range(2)]
    first = threading.Thread(target=states[0].on_script_will_rerun, args=(None,))
    first.start()
    assert start.wait(60)
    pressed.callback = lambda: order.append("press")
    states[1].on_script_will_rerun(None)
    first.join(60)
    assert order == ["text", "press"]


def test_what_is_drawn_after_the_callbacks_is_left_for_a_press(pressed):
    finish_callbacks()
    pressed.safe.on_script_will_rerun(None)
    with pytest.raises(Left):
        pressed.safe["instruction"]
