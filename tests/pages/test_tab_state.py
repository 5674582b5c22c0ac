"""What a tab remembers, and text as Markdown that shows it letter for letter."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.tab.download import Download
from pages.components.tab.state import plain


def remember_session() -> None:
    import streamlit as st  # noqa: PLC0415 - AppTest runs this function's text alone

    from pages.components.tab.state import TabState  # noqa: PLC0415

    tab = TabState()
    st.button("open", on_click=tab.open, args=("other",))
    st.button("leave", on_click=tab.open, args=(None,))
    st.text(tab.session or "none")


@pytest.mark.slow
def test_the_urls_session_counts_and_is_remembered_when_a_page_switch_drops_it():
    page = AppTest.from_function(remember_session)
    page.query_params["session"] = "first"
    assert page.run().text[0].value == "first"
    del page.query_params["session"]
    assert page.run().text[0].value == "first"
    assert page.query_params["session"] == "first"


@pytest.mark.slow
def test_back_to_an_address_without_a_session_leaves_the_session(monkeypatch):
    page = AppTest.from_function(remember_session)
    page.query_params["session"] = "first"
    assert page.run().text[0].value == "first"
    del page.query_params["session"]
    monkeypatch.setattr("pages.components.tab.state.history_moved", lambda: True)
    assert (page.run().text[0].value, "session" in page.query_params) == ("none", False)


@pytest.mark.slow
def test_opening_and_leaving_a_session_change_the_url():
    page = AppTest.from_function(remember_session).run()
    assert page.text[0].value == "none"
    page.button[0].click().run()
    assert (page.text[0].value, page.query_params["session"]) == ("other", "other")
    page.button[1].click().run()
    assert (page.text[0].value, "session" in page.query_params) == ("none", False)


def test_only_a_selection_from_python_moves_the_graph(tab):
    tab.selected = 2
    assert (tab.selected, tab.selection_revision) == (2, 0)
    tab.select(1)
    assert (tab.selected, tab.selection_revision) == (1, 1)


def test_a_notice_is_shown_once_and_only_at_its_place(tab):
    tab.notify("error", "No.", place="edit")
    tab.show_notice("run")
    assert st.session_state["notice"].text == "No."
    tab.show_notice("edit")
    assert "notice" not in st.session_state


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("17 * 23", r"17 \* 23"),
        ("<b>x</b>", r"\<b\>x\</b\>"),
        ("one\n\n  two\t three", "one two three"),
        (":red[x] $y$ ~z~", r"\:red\[x\] \$y\$ \~z\~"),
        ("see http://a.b", "see http\u2060\\://a\\.b"),
        ("מרחב", "מרחב"),
        ("", ""),
    ],
)
def test_markdown_shows_text_letter_for_letter(text, markdown):
    assert plain(text) == markdown


def test_long_text_is_cut_and_states_it():
    assert plain("x" * 100_000, limit=10) == "x" * 10 + "…"
    assert plain("x" * 10, limit=10) == "x" * 10


def test_another_session_by_the_browsers_own_way_brings_no_selection():
    page = AppTest.from_function(remember_session)
    page.query_params["session"] = "first"
    page.run()
    page.session_state["selected"] = 3
    page.query_params["session"] = "second"
    page.run()
    assert page.session_state["selected"] is None


def test_one_press_sent_twice_is_one_press_and_a_later_one_another(tab, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pages.components.tab.state.time", SimpleNamespace(monotonic=lambda: now[0]))
    assert not tab.pressed_again("plan")
    now[0] += 0.2
    assert tab.pressed_again("plan")
    assert not tab.pressed_again("export")
    now[0] += 2.0
    assert not tab.pressed_again("plan")


def test_one_press_of_export_that_is_sent_twice_gives_one_file(tab):
    def press(id, text):
        tab.download = Download(id=id, name="plan.json", mime="application/json", text=text)
        return tab.download.id

    assert press("first", "{}") == "first"
    assert press("second", "{}") == "first"
    assert press("third", "{...}") == "third"


def test_a_callback_may_ask_for_fragments_that_are_not_there():
    def page():
        import streamlit as st  # noqa: PLC0415 - AppTest runs this function's text alone

        from pages.components.tab.state import TabState  # noqa: PLC0415 - the same

        st.button("Select", on_click=TabState().redraw, args=(["canvas", "inspector"],))
        st.write("asked" if st.session_state.get("redraw") else "drawn")

    app = AppTest.from_function(page).run()
    app.button[0].click().run()
    assert not app.exception
    assert app.markdown[0].value == "asked"
