"""What Share offers: each way with a line that states what it is, and the file that a press gives out."""

from __future__ import annotations

import pytest

from conductor.workflow.file import read_plan
from pages.components.workbench.bar.share import _FILES
from tests.support.stores.session_files import lines_of, previewed


def ran(bench, session):
    """The session, once its workflow has run."""
    bench.running.start(session)
    bench.activities.wait(session)
    return session


READ = {
    "run": ("which-one.html", lambda text: previewed(text.encode()).sessions[0].runs == 1),
    "workflow": ("which-one.json", lambda text: read_plan(text).query == "Which one?"),
    "session": ("which-one.session.jsonl", lambda text: "session" in lines_of(text.encode())[1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", [file for file, *_ in _FILES])
def test_a_press_gives_out_the_file_that_its_line_names(app, bench, session, what):
    page = app(session=ran(bench, session))
    page.button(key=f"export-{what}").click().run()
    assert not page.exception
    file = page.session_state["download"]
    name, is_right = READ[what]
    assert file.name == name
    assert is_right(file.text)
    page.run()
    assert page.session_state["download"] is file


def test_each_way_states_what_it_is(app, session):
    page = app(session=session)
    captions = [caption.value for caption in page.caption]
    assert [meaning in captions for *_, meaning in _FILES] == [True] * 3


def test_a_session_without_a_run_has_no_run_to_give_out(app, session):
    page = app(session=session)
    assert page.button(key="export-run").disabled
    assert not page.button(key="export-session").disabled


def test_code_is_drawn_once_a_person_looks_at_it(app, session):
    page = app(session=session)
    assert "code-try" not in {button.key for button in page.button}
    page.session_state["share-part"] = "Code"
    page.run()
    assert not page.button(key="code-try").disabled
