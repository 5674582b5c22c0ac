"""Fields come with their values even where the run that first drew them was broken off."""

from __future__ import annotations

from datetime import date

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.streamlit_patches import initial_values
from pages.components.streamlit_patches.initial_values import (
    drawn_to_the_end,
    on_choice,
    show_first,
    show_stored,
)

POOL = """\
[[worker]]
name = "alpha"
base_url = "http://127.0.0.1:9/v1"
model = "m-1"
context = 8192
"""


@pytest.fixture
def redrawn(monkeypatch):
    """Draws a page as if its last run had been broken off by this one, as by a click that comes too soon."""

    def draw(run, again=None):
        with monkeypatch.context() as patch:
            patch.setattr(initial_values, "drawn_to_the_end", lambda: None)
            page = run()
        return (again or page.run)()

    return draw


def plain_field():
    """A field with a value, as it would be drawn without the patch."""
    import streamlit as st  # noqa: PLC0415 - the script of another process's page

    st.session_state.setdefault("field", "given")
    st.text_input("Field", key="field")


@pytest.mark.slow
def test_without_the_patch_streamlit_sends_a_value_only_in_the_run_that_gave_it():
    page = AppTest.from_function(plain_field).run()
    assert page.text_input(key="field").proto.set_value
    assert not page.run().text_input(key="field").proto.set_value


def test_a_value_is_reported_until_a_page_was_drawn_to_its_end(tab):
    del tab
    assert show_first("f", "new") == "new"
    st.session_state["f"] = "typed"
    assert show_first("f", "new") == "typed"
    drawn_to_the_end()
    assert show_first("f", "new") == "typed"
    del st.session_state["f"]
    assert show_first("f", "newer") == "newer", "a field that was gone is new again"


def stored_field():
    """A field with a value that is stored elsewhere, on a page that is drawn to its end."""
    import streamlit as st  # noqa: PLC0415 - the script of another process's page

    from pages.components.streamlit_patches.initial_values import drawn_to_the_end, show_stored  # noqa: PLC0415

    st.text_input("Field", key=show_stored("field", st.session_state["stored"]))
    drawn_to_the_end()


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("one", "two"), ("", "one"), ("one", "")])
def test_what_is_stored_elsewhere_is_sent_once_to_a_field_that_no_message_under_way_names(before, after):
    page = AppTest.from_function(stored_field)
    page.session_state["stored"] = before
    assert page.run().text_input(key="field").proto.set_value
    assert not page.run().text_input(key="field").proto.set_value
    page.session_state["stored"] = after
    [field] = page.run().text_input
    assert (field.key, field.proto.set_value, field.value) == ("field-1", True, after)
    [field] = page.run().text_input
    assert (field.key, field.proto.set_value, field.value) == ("field-1", False, after)
    page.session_state["stored"] = "three"
    [field] = field.set_value("three").run().text_input
    assert (field.key, field.proto.set_value, field.value) == ("field-1", False, "three")


def test_a_value_that_comes_again_after_streamlit_forgot_it_is_no_choice(tab):
    del tab
    choices = []
    key = show_stored("field", "stored")
    changed = on_choice(key, choices.append)
    for value in ("stored", "other", "other", "stored"):
        st.session_state[key] = value
        changed()
    assert choices == ["other", "stored"]


def test_the_settings_come_with_their_values(app, redrawn):
    page = app("workbench")
    page.session_state["settings"] = True
    redrawn(page.run)
    boxes = {box.key: (box.proto.set_value, box.value) for box in page.checkbox if box.key.startswith("use-")}
    assert boxes
    assert set(boxes.values()) == {(True, True)}
    page.run()
    assert not any(box.proto.set_value for box in page.checkbox), "nothing more is told than has changed"


def test_the_form_of_a_worker_comes_with_what_the_file_states(app, redrawn, tmp_path, monkeypatch):
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    page = app("pool")
    redrawn(page.button(key="pool-icon-change-0").click().run)
    fields = {field.label: field for field in (*page.text_input, *page.number_input)}
    values = {label: (field.proto.set_value, field.value) for label, field in fields.items() if field.value}
    assert {is_set for is_set, _ in values.values()} == {True}
    assert values["Name"] == (True, "alpha")
    assert values["Model"] == (True, "m-1")


def test_the_fields_of_the_sessions_page_come_with_what_the_address_states(
    app, redrawn, bench, session, monkeypatch
):
    monkeypatch.setattr("pages.components.sessions.list_state.history_moved", lambda: True)
    bench.store.sessions.add_tag(session, "kept")
    page = app("sessions")
    page.query_params.update({"tag": "kept", "least": "0", "from": "2026-01-01"})
    page.run()

    def filters():
        page.session_state["find-filters"] = True
        return page.run()

    page = redrawn(filters, filters)
    fields = (*page.multiselect, *page.number_input, *page.date_input)
    values = {field.key: field.value for field in fields if field.proto.set_value}
    assert values == {
        "find-tags": ["kept"],
        "find-least_tokens": 0,
        "find-since": date(2026, 1, 1),
    }
