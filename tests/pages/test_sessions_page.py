"""The sessions page's wiring: list, find, reopen, rename, tag, delete with undo, pick many."""

from __future__ import annotations

import time
from datetime import date

import pytest

from pages.components.sessions.rows import snippet_line
from pages.components.tab.state import plain
from storage import Snippet

HOSTILE = '<img src=x onerror="alert(1)"> **b** [l](http://a.b) $x$'


def keys(page):
    return [button.key for button in page.button]


def opened(page):
    """The ids of the sessions that are listed."""
    return [key.removeprefix("open-") for key in keys(page) if key and key.startswith("open-")]


def ask(page, what, session=""):
    """Open a dialog, as the menus do that these tests cannot reach into."""
    page.session_state["session-dialog"] = (what, session)
    return page.run()


def filters(page):
    """Open the filters, whose fields are there while they are open."""
    page.session_state["find-filters"] = True
    return page.run()


def press(page, label):
    next(button for button in page.button if button.label == label).click().run()


def test_an_empty_store_states_what_to_do(app):
    page = app("sessions")
    assert not page.exception
    assert page.caption[0].value.startswith("No sessions yet.")
    assert not page.text_input


def test_sessions_are_listed_newest_first_with_what_is_to_be_known_of_them(app, bench, session):
    new = bench.ask("Newer", origin="terminal").id
    bench.store.sessions.add_tag(session, "to *do*")
    page = app("sessions")
    assert opened(page) == [new, session]
    assert page.caption[0].value == "2 sessions, newest first"
    assert page.caption[1].value.startswith("new · ")
    assert page.caption[1].value.endswith("from the terminal")
    assert ", 3 steps · alpha, beta · " in page.caption[2].value
    assert page.caption[2].value.endswith(":gray-badge[to \\*do\\*]")


def test_a_session_is_reopened_on_the_workbench(app, bench, session):
    page = app("sessions")
    page.button(key=f"open-{session}").click().run()
    assert not page.exception
    assert page.query_params["session"] == session
    assert page.title[0].value == plain("Which one?")


# -- finding -----------------------------------------------------------------------------------------


def test_what_is_typed_is_found_and_stands_in_the_address(app, bench, session):
    other = bench.ask("Something else").id
    page = app("sessions")
    page.text_input(key="find-search").set_value("LOOK aga").run()
    assert opened(page) == [session]
    assert page.query_params["q"] == "LOOK aga"
    assert "Instruction: :primary-background[Look] :primary-background[again]\\." in [
        caption.value for caption in page.caption
    ]
    page.text_input(key="find-search").set_value('"nowhere').run()
    assert opened(page) == []
    assert page.caption[0].value == 'No session has all of: "nowhere'
    page.button(key="find-everything").click().run()
    assert opened(page) == [other, session]
    assert page.text_input(key="find-search").value == ""
    assert "q" not in page.query_params


def test_an_address_opens_the_list_as_it_was(app, bench, session, monkeypatch):
    monkeypatch.setattr("pages.components.sessions.list_state.history_moved", lambda: True)
    bench.ask("Something else")
    bench.store.sessions.add_tag(session, "kept")
    page = app("sessions")
    page.query_params["tag"] = "kept"
    page.query_params["state"] = ["planned", "asleep"]
    page.run()
    assert opened(page) == [session]
    assert not page.multiselect, "the fields of closed filters would bring back what was taken away"
    filters(page)
    assert page.multiselect(key="find-tags").value == ["kept"]
    assert page.multiselect(key="find-states").value == ["planned"]
    assert [button.label for button in page.button if button.key.startswith("unset-")] == [
        "planned",
        "\\#kept",
    ]
    page.button(key="unset-1").click().run()
    assert "tag" not in page.query_params
    assert opened(page) == [session]
    page.button(key="unset-0").click().run()
    assert len(opened(page)) == 2


def test_a_range_that_ends_before_it_begins_is_named(app, bench, session):
    page = app("sessions")
    filters(page).number_input(key="find-least_tokens").set_value(5000).run()
    assert not page.warning
    filters(page).number_input(key="find-most_tokens").set_value(100).run()
    assert [warning.value for warning in page.warning] == [
        "At least 5,000 and at most 100 tokens is not a range; swap the two."
    ]


def test_filters_are_kept_through_a_visit_elsewhere(app, bench, session):
    bench.ask("Something else")
    page = app("sessions")
    filters(page).multiselect(key="find-topologies").set_value(["general"]).run()
    filters(page).multiselect(key="find-workers").set_value(["beta"]).run()
    filters(page).number_input(key="find-least_tokens").set_value(5).run()
    assert opened(page) == []
    filters(page).number_input(key="find-least_tokens").set_value(None).run()
    before = opened(page)
    page.switch_page("pages/workbench.py").run()
    page.switch_page("pages/sessions.py").run()
    assert not page.exception
    assert opened(page) == before
    filters(page)
    assert page.multiselect(key="find-workers").value == ["beta"]


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([("in the ", False), ("*sky*", True), (" so", False)], "in the :primary-background[\\*sky\\*] so"),
        ([("a", False), ("b", True), ("c", False)], "a:primary-background[b]c"),
        ([("<b>", True)], ":primary-background[\\<b\\>]"),
        ([("x]", True), ("(y)", False)], ":primary-background[x\\]]\\(y\\)"),
    ],
)
def test_what_matched_is_marked_and_nothing_in_it_is_markdown(parts, line):
    assert snippet_line(Snippet("answer", tuple(parts))) == f"Answer: {line}"


# -- names and tags ----------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["Shorter", HOSTILE, "עברית"])
def test_a_session_is_renamed_and_its_title_shown_letter_for_letter(app, bench, session, title):
    page = ask(app("sessions"), "rename", session)
    page.text_input(key=f"title-{session}-0").set_value(title)
    press(page, "Save")
    assert bench.store.sessions.find(session).title == title
    assert page.button(key=f"open-{session}").label == plain(title, limit=110)
    assert "Save" not in [button.label for button in page.button]


def test_a_title_that_another_person_gave_meanwhile_is_not_overwritten_in_silence(app, bench, session):
    page = ask(app("sessions"), "rename", session)
    page.text_input(key=f"title-{session}-0").set_value("Mine")
    bench.store.sessions.rename(session, "Theirs")
    press(page, "Save")
    assert bench.store.sessions.find(session).title == "Theirs"
    assert plain("Not renamed to “Mine”: its title was changed to “Theirs” meanwhile.") in page.info[0].value


def test_an_empty_title_is_refused_and_the_old_one_kept(app, bench, session):
    page = ask(app("sessions"), "rename", session)
    page.text_input(key=f"title-{session}-0").set_value("  ")
    press(page, "Save")
    assert page.error[0].value.startswith("A title needs at least one character")
    assert bench.store.sessions.find(session).title == "Which one?"


def test_tags_are_set_for_one_and_added_for_many(app, bench, session):
    other = bench.ask("Other").id
    bench.store.sessions.add_tag(session, "old")
    page = ask(app("sessions"), "tags", session)
    page.multiselect(key=f"tags-{session}-0").set_value(["new"])
    press(page, "Save")
    assert bench.store.sessions.tags(session) == ("new",)
    for id in (session, other):
        page.checkbox(key=f"select-{id}").check().run()
    page.button(key="tag-selected").click().run()
    page.multiselect(key="tag-selected-1").set_value(["shared"])
    press(page, "Add tags")
    assert [bench.store.sessions.tags(id) for id in (session, other)] == [("new", "shared"), ("shared",)]
    assert page.info[0].value == "Tagged 2 sessions\\."


# -- deleting ----------------------------------------------------------------------------------------


def test_selected_sessions_are_deleted_and_undo_brings_them_back(app, bench, session):
    others = [bench.ask(f"Question {number}").id for number in range(3)]
    page = app("sessions")
    page.checkbox(key="select-page").check().run()
    page.checkbox(key=f"select-{others[0]}-1").uncheck().run()
    assert page.checkbox(key="select-page-1").value is False
    page.button(key="delete-selected").click().run()
    assert opened(page) == [others[0]]
    assert any("Deleted 3 sessions" in text.value for text in page.markdown)
    page.button(key="undelete").click().run()
    assert len(opened(page)) == 4
    assert "undelete" not in keys(page)
    assert "delete-selected" not in keys(page)


def test_deleted_sessions_are_listed_by_their_filter_and_restored(app, bench, session):
    bench.ask("Other")
    bench.store.sessions.delete(session)
    page = filters(app("sessions"))
    assert session not in opened(page)
    page.toggle(key="find-deleted").set_value(True).run()
    assert opened(page) == [session]
    page.button(key=f"restore-{session}").click().run()
    assert opened(page) == []
    assert bench.store.sessions.find(session).deleted_at is None


def test_where_all_are_deleted_the_way_to_them_is_offered(app, bench, session):
    bench.store.sessions.delete(session)
    page = app("sessions")
    assert page.caption[0].value.startswith("All sessions are deleted.")
    page.button(key="find-gone").click().run()
    assert opened(page) == [session]


def test_deleting_the_open_session_closes_it(app, bench, session):
    page = app("workbench", session=session)
    page.switch_page("pages/sessions.py").run()
    page.checkbox(key=f"select-{session}").check().run()
    page.button(key="delete-selected").click().run()
    page.switch_page("pages/workbench.py").run()
    assert not page.exception
    assert page.title[0].value == "Conductor Studio"


# -- pages -------------------------------------------------------------------------------------------


def test_all_that_are_found_are_selected_beyond_the_page(app, bench):
    for number in range(21):
        bench.ask(f"Question {number}")
    bench.ask("Something else")
    page = app("sessions")
    page.text_input(key="find-search").set_value("question").run()
    assert len(opened(page)) == 20
    page.checkbox(key="select-page").check().run()
    page.button(key="select-all").click().run()
    page.button(key="delete-selected").click().run()
    assert bench.store.sessions.count() == 1
    assert page.caption[0].value.startswith("No session has all of")


@pytest.mark.thorough
def test_the_list_stays_on_its_page_and_goes_to_the_one_before_when_that_is_gone(app, bench, session):
    for number in range(21):
        bench.ask(f"Question {number}")
    page = app("sessions")
    page.session_state["sessions-page"] = 2
    page.run()
    first, second = opened(page)
    page.checkbox(key=f"select-{second}").check().run()
    page.button(key="delete-selected").click().run()
    assert opened(page) == [first]
    page.switch_page("pages/workbench.py").run()
    page.switch_page("pages/sessions.py").run()
    assert opened(page) == [first]
    page.checkbox(key=f"select-{first}").check().run()
    page.button(key="delete-selected").click().run()
    assert not page.exception
    assert len(opened(page)) == 20


def test_the_last_of_three_pages_gives_way_to_the_second_not_to_the_first(app, bench):
    for number in range(41):
        bench.ask(f"Question {number:02}")
    page = app("sessions")
    page.session_state["sessions-page"] = 3
    page.run()
    [last] = opened(page)
    page.checkbox(key=f"select-{last}").check().run()
    page.button(key="delete-selected").click().run()
    labels = [button.label for button in page.button if button.key.startswith("open-")]
    assert labels[0] == "Question 20"
    assert len(labels) == 20


@pytest.mark.parametrize("place", ["<+14>-14", "<-12>12"])
def test_an_address_may_name_every_day(app, bench, session, monkeypatch, place):
    monkeypatch.setattr("pages.components.sessions.list_state.history_moved", lambda: True)
    monkeypatch.setenv("TZ", place)
    time.tzset()
    try:
        page = app("sessions")
        page.query_params["from"] = "0001-01-01"
        page.query_params["to"] = "9999-12-31"
        filters(page.run())
        assert not page.exception
        assert opened(page) == [session]
        assert [field.value for field in page.date_input] == [date(1, 1, 1), date(9999, 12, 31)]
    finally:
        monkeypatch.undo()
        time.tzset()
