"""Sessions in and out by the pages: told first, then imported; taken along whole, or as a report."""

from __future__ import annotations

import json

import pytest

from conductor.errors import FormatError
from conductor.plan_file import write_plan
from conductor.workflow import Step, Workflow
from pages.components.session_files import report_download, session_download
from storage.session_file import look_into, write_session, write_sessions

TITLE = "**b** <i>i</i> [l](http://a.b)"


@pytest.fixture
def text(bench, session):
    """The file of a session with a hostile title."""
    bench.store.rename_session(session, TITLE)
    return write_session(bench.store, session)


def chosen(app, data):
    """The sessions page with this file chosen in its dialog."""
    page = app("sessions")
    page.button(key="import-sessions").click().run()
    assert "import-now" not in [button.key for button in page.button]
    content = data if isinstance(data, bytes) else data.encode()
    page.file_uploader[0].set_value(("file.json", content, "application/json")).run()
    assert not page.exception
    return page


def said(page):
    return " ".join(caption.value for caption in page.caption)


def test_a_session_is_told_before_it_is_imported_and_then_opened(app, bench, session, text):
    page = chosen(app, text)
    assert bench.store.count_sessions() == 1
    assert "1 revision · 0 runs · 0 outputs of 0 characters · 0 events" in said(page)
    assert "will be called" in said(page)
    assert "\\*\\*b\\*\\* \\<i\\>i" in page.markdown[-1].value
    assert page.warning[-1].value.startswith("This pool does not have alpha, beta\\.")
    page.button(key="import-now").click().run()
    assert not page.exception
    made = page.query_params["session"]
    assert made != session
    assert bench.store.session(made).title == f"{TITLE} (2)"


def test_several_sessions_are_imported_together(app, bench, session):
    page = chosen(app, write_sessions(bench.store, [session] * 8))
    assert "and 2 more" in said(page)
    assert "8 titles exist already" in said(page)
    page.button(key="import-now").click().run()
    assert not page.exception
    assert bench.store.count_sessions() == 9
    assert page.info[0].value.startswith("Imported 8 sessions")
    assert not page.file_uploader


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no JSON", "is missing in line 1"),
        (b'{"format": "other"}', "neither a session nor a workflow"),
        (b'{"format": "conductor-sessions", "version": 1, "sessions": []}', "holds no session"),
        (b"\xff\xfe", "is missing in line 1"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_where_it_was_chosen(app, bench, data, why):
    page = chosen(app, data)
    assert why in page.error[0].value
    assert "import-now" not in [button.key for button in page.button]


def test_a_workflow_file_is_told_as_one_and_imported(app, bench):
    workflow = Workflow.of([Step(instruction="Solve it.", worker="mathematics")])
    plan = write_plan(workflow, query="What is 2 + 2?", origin="human", workers=(), label=None)
    page = chosen(app, plan)
    assert page.markdown[-1].value == "**A workflow of 1 step**"
    page.button(key="import-now").click().run()
    assert bench.store.session(page.query_params["session"]).query == "What is 2 + 2?"


def test_a_session_file_among_workflows_is_shown_the_way(bench, text):
    with pytest.raises(FormatError, match="Sessions page"):
        bench.import_plan(text)


@pytest.mark.parametrize(
    ("query", "worker", "why"), [(None, "mathematics", "names no query"), ("q", "gone", "does not have gone")]
)
def test_a_workflow_that_cannot_be_a_session_here_is_held_back(app, bench, query, worker, why):
    workflow = Workflow.of([Step(instruction="Solve it.", worker=worker)])
    page = chosen(app, write_plan(workflow, query=query, origin="human", workers=(), label=None))
    assert why in page.error[0].value
    assert page.button(key="import-now").disabled


def test_what_is_taken_along_is_whole(bench, session):
    bench.start(session)
    bench.conducting.wait(session)
    kept = bench.store.session(session)
    file = session_download(bench.store, kept)
    assert (file.name, file.mime) == ("which-one.session.json", "application/json")
    assert look_into(file.text, workers=[]).sessions[0].runs == 1
    report = report_download(bench.store, kept)
    assert (report.name, report.mime) == ("which-one.html", "text/html")
    assert "Which one?" in report.text


@pytest.mark.parametrize(("what", "given"), [("session", "which-one.session.json"), ("report", None)])
def test_the_workbench_gives_out_what_was_asked_for(app, bench, session, what, given):
    page = app(session=session)
    page.session_state["file-wanted"] = (session, what)
    page.run()
    assert not page.exception
    if given is None:
        assert "has no run to report" in page.error[0].value
        return
    file = page.session_state["download"]
    assert file.name == given
    assert json.loads(file.text)["session"]["id"] == session
    page.run()
    assert page.session_state["download"] is file
