"""A button acts before the page is drawn, and an error of its action is shown where it belongs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def buttons() -> None:
    import streamlit as st  # noqa: PLC0415 - AppTest runs this function's text alone

    from conductor.errors import WorkflowError  # noqa: PLC0415
    from pages.components.tab.state import TabState  # noqa: PLC0415
    from pages.components.widgets.controls import action  # noqa: PLC0415

    def fail() -> None:
        raise WorkflowError("Not possible.")

    def note(word: str) -> None:
        st.session_state["noted"] = word

    TabState().show_notice("here")
    st.text(st.session_state.get("noted", "nothing"))
    action("Note", "add", note, "this", key="note")
    action("Fail", None, fail, key="fail", place="here", redraw=False)


@pytest.mark.slow
def test_an_action_is_done_before_the_page_is_drawn_and_its_error_stands_at_its_place():
    page = AppTest.from_function(buttons).run()
    page.button(key="note").click().run()
    assert (page.text[0].value, page.button(key="note").icon) == ("this", ":material/add:")
    assert page.session_state["redraw"]
    page.button(key="fail").click().run()
    assert [error.value for error in page.error] == ["Not possible\\."]
