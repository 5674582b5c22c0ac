"""The sessions page's wiring: list, reopen, rename, delete with undo."""

from __future__ import annotations

import pytest

from pages.components.state import plain

HOSTILE = '<img src=x onerror="alert(1)"> **b** [l](http://a.b) $x$'


def keys(page):
    return [button.key for button in page.button]


def test_an_empty_store_says_what_to_do(app):
    page = app("sessions")
    assert not page.exception
    assert page.caption[0].value.startswith("No sessions yet.")


def test_sessions_are_listed_newest_first_with_their_state(app, bench):
    old, new = bench.ask("Older").id, bench.ask("Newer").id
    page = app("sessions")
    assert [key for key in keys(page) if key.startswith("open-")] == [f"open-{new}", f"open-{old}"]
    assert page.caption[0].value == "2 sessions, newest first"
    assert page.caption[1].value.startswith("new · ")


def test_a_session_is_reopened_on_the_workbench(app, bench, session):
    page = app("sessions")
    page.button(key=f"open-{session}").click().run()
    assert not page.exception
    assert page.query_params["session"] == session
    assert page.text_area(key="query").value == "Which one?"


@pytest.mark.parametrize("title", ["Shorter", HOSTILE, "עברית"])
def test_a_session_is_renamed_and_its_title_shown_letter_for_letter(app, bench, session, title):
    page = app("sessions")
    page.text_input(key=f"title-{session}-0").set_value(title)
    next(button for button in page.button if button.label == "Save").click().run()
    assert bench.store.session(session).title == title
    assert page.button(key=f"open-{session}").label == plain(title, limit=110)


def test_an_empty_title_is_refused_and_the_old_one_kept(app, bench, session):
    page = app("sessions")
    page.text_input(key=f"title-{session}-0").set_value("  ")
    next(button for button in page.button if button.label == "Save").click().run()
    assert page.error[0].value.startswith("A title needs at least one character")
    assert bench.store.session(session).title == "Which one?"


def test_a_deleted_session_leaves_the_list_and_undo_brings_it_back(app, bench, session):
    page = app("sessions")
    page.button(key=f"delete-{session}").click().run()
    assert f"open-{session}" not in keys(page)
    assert any("Deleted Which one?" in text.value for text in page.markdown)
    page.button(key="undelete").click().run()
    assert f"open-{session}" in keys(page)
    assert "undelete" not in keys(page)


def test_deleting_the_open_session_closes_it(app, bench, session):
    page = app("sessions", session=session)
    page.button(key=f"delete-{session}").click().run()
    page.switch_page("pages/workbench.py").run()
    assert not page.exception
    assert page.title[0].value == "Ask, and see the plan before it runs"


def test_long_lists_are_cut_into_pages(app, bench):
    for number in range(21):
        bench.ask(f"Question {number}")
    page = app("sessions")
    assert not page.exception
    assert len([key for key in keys(page) if key.startswith("open-")]) == 20


def test_the_list_stays_on_its_page_and_goes_to_the_one_before_when_that_is_gone(app, bench, session):
    for number in range(21):
        bench.ask(f"Question {number}")
    page = app("sessions")
    page.session_state["sessions-page"] = 2
    page.run()
    first, second = (key for key in keys(page) if key.startswith("open-"))
    page.button(key=second.replace("open", "delete")).click().run()
    assert [key for key in keys(page) if key.startswith("open-")] == [first]
    page.switch_page("pages/workbench.py").run()
    page.switch_page("pages/sessions.py").run()
    assert [key for key in keys(page) if key.startswith("open-")] == [first]
    page.button(key=first.replace("open", "delete")).click().run()
    assert not page.exception
    assert len([key for key in keys(page) if key.startswith("open-")]) == 20


def test_the_last_of_three_pages_gives_way_to_the_second_not_to_the_first(app, bench):
    for number in range(41):
        bench.ask(f"Question {number:02}")
    page = app("sessions")
    page.session_state["sessions-page"] = 3
    page.run()
    [last] = [key for key in keys(page) if key.startswith("open-")]
    page.button(key=last.replace("open", "delete")).click().run()
    shown = [button.label for button in page.button if button.key.startswith("open-")]
    assert shown[0] == "Question 20"
    assert len(shown) == 20
