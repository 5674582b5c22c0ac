"""Sessions in and out by the pages: shown first, then imported; exported whole, or as a report."""

from __future__ import annotations

import pytest
from session_files import exported, lines_of, previewed

from conductor.errors import FormatError
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from pages.components.sessions.import_export import report_download, session_download

TITLE = "**b** <i>i</i> [l](http://a.b)"


@pytest.fixture
def file(bench, session):
    """The file of a session with a hostile title."""
    bench.store.sessions.rename(session, TITLE)
    return exported(bench.store, session)


def chosen(app, data):
    """The sessions page with this file chosen in its dialog."""
    page = app("sessions")
    page.button(key="import-sessions").click().run()
    assert "import-now" not in [button.key for button in page.button]
    content = data if isinstance(data, bytes) else data.encode()
    page.file_uploader[0].set_value(("file.jsonl", content, "application/jsonl")).run()
    assert not page.exception
    return page


def page_text(page):
    return " ".join(caption.value for caption in page.caption)


def test_a_session_is_shown_before_it_is_imported_and_then_opened(app, bench, session, file):
    page = chosen(app, file)
    assert bench.store.sessions.count() == 1
    assert "1 revision · 0 runs · 0 outputs of 0 characters · 0 events" in page_text(page)
    assert "will be called" in page_text(page)
    assert "\\*\\*b\\*\\* \\<i\\>i" in page.markdown[-1].value
    assert page.warning[-1].value.startswith("This pool does not have alpha, beta\\.")
    page.button(key="import-now").click().run()
    assert not page.exception
    made = page.query_params["session"]
    assert made != session
    assert bench.store.sessions.find(made).title == f"{TITLE} (2)"


def test_several_sessions_are_imported_together(app, bench, session):
    page = chosen(app, exported(bench.store, *[session] * 8))
    assert "and 2 more" in page_text(page)
    assert "8 titles exist already" in page_text(page)
    page.button(key="import-now").click().run()
    assert not page.exception
    assert bench.store.sessions.count() == 9
    assert page.info[0].value.startswith("Imported 8 sessions")
    assert not page.file_uploader


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no JSON", "neither a session nor a workflow"),
        (b'{"format": "conductor-session", "version": 2, "sessions": 1}\n', "The file is not whole"),
        (
            b'{"format": "conductor-session", "version": 2, "sessions": 0}\n{"end": {"lines": 2}}',
            "no session",
        ),
        (b'{"format": "other"}', "neither a session nor a workflow"),
        (b'{"format": "conductor-sessions", "version": 1, "sessions": []}', "holds no session"),
        (b"\xff\xfe", "neither a session nor a workflow"),
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
    assert bench.store.sessions.find(page.query_params["session"]).query == "What is 2 + 2?"


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_a_session_file_among_workflows_is_refused_with_the_place_for_it(bench, file, older):
    data = b'{"format": "conductor-sessions", "version": 1, "sessions": []}' if older else file
    with pytest.raises(FormatError, match="Sessions page"):
        bench.editing.import_plan(data)


@pytest.mark.parametrize(
    ("query", "worker", "why"), [(None, "mathematics", "names no query"), ("q", "gone", "does not have gone")]
)
def test_a_workflow_that_cannot_be_a_session_here_is_held_back(app, bench, query, worker, why):
    workflow = Workflow.of([Step(instruction="Solve it.", worker=worker)])
    page = chosen(app, write_plan(workflow, query=query, origin="human", workers=(), label=None))
    assert why in page.error[0].value
    assert page.button(key="import-now").disabled


@pytest.mark.slow
def test_what_is_taken_along_is_whole(bench, session):
    bench.running.start(session)
    bench.activities.wait(session)
    kept = bench.store.sessions.find(session)
    file = session_download(bench.store, kept)
    assert (file.name, file.mime) == ("which-one.session.jsonl", "application/jsonl")
    assert previewed(file.text.encode()).sessions[0].runs == 1
    report = report_download(bench.store, kept)
    assert (report.name, report.mime) == ("which-one.html", "text/html")
    assert "Which one?" in report.text


@pytest.mark.parametrize(("what", "given"), [("session", "which-one.session.jsonl"), ("report", None)])
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
    assert lines_of(file.text.encode())[1]["session"]["id"] == session
    page.run()
    assert page.session_state["download"] is file


@pytest.mark.slow
def test_a_file_that_is_too_large_for_the_browser_names_the_command(bench, session, monkeypatch):
    monkeypatch.setattr("pages.components.sessions.import_export.MAX_MEGABYTES", 0)
    with pytest.raises(FormatError, match=f"conductor sessions export {session} -o FILE"):
        session_download(bench.store, bench.store.sessions.find(session))
