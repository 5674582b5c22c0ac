"""Sessions in and out by the pages: shown first, then imported; exported whole, or with a run in one file."""

from __future__ import annotations

import pytest

from conductor.errors import FormatError
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from pages.components.sessions.import_export import file_name, run_download, session_download
from tests.support.stores.session_files import exported, previewed

TITLE = "**b** <i>i</i> [l](http://a.b)"


@pytest.fixture
def file(bench, session):
    """The file of a session with a hostile title."""
    bench.store.sessions.rename(session, TITLE)
    return exported(bench.store, session)


def chosen(app, data, *, name="file.jsonl"):
    """The sessions page with this file chosen in its dialog."""
    page = app("sessions")
    page.button(key="import-sessions").click().run()
    assert "import-now" not in [button.key for button in page.button]
    content = data if isinstance(data, bytes) else data.encode()
    page.file_uploader[0].set_value((name, content, "application/octet-stream")).run()
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
    copy = page.query_params["session"]
    assert copy != session
    assert bench.store.sessions.find(copy).title == f"{TITLE} (2)"


def test_several_sessions_are_imported_together(app, bench, session):
    page = chosen(app, exported(bench.store, *[session] * 8))
    assert "and 2 more" in page_text(page)
    assert "8 titles already exist" in page_text(page)
    page.button(key="import-now").click().run()
    assert not page.exception
    assert bench.store.sessions.count() == 9
    assert page.info[0].value.startswith("Imported 8 sessions")
    assert not page.file_uploader


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no JSON", "neither a session nor a workflow"),
        (b'{"format": "conductor-session", "version": 2, "sessions": 1}\n', "The file is not complete"),
        (
            b'{"format": "conductor-session", "version": 2, "sessions": 0}\n{"end": {"lines": 2}}',
            "no session",
        ),
        (b'{"format": "other"}', "neither a session nor a workflow"),
        (b'{"format": "conductor-session", "version": 1}', "has version 1"),
        (b"\xff\xfe", "neither a session nor a workflow"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_where_it_was_chosen(app, bench, data, why):
    page = chosen(app, data)
    assert why in page.error[0].value
    assert "import-now" not in [button.key for button in page.button]


def test_a_workflow_file_is_reported_as_one_and_imported(app, bench):
    workflow = Workflow.of([Step(instruction="Solve it.", worker="calculator")])
    plan = write_plan(workflow, query="What is 2 + 2?", origin="human", workers=(), label=None)
    page = chosen(app, plan)
    assert page.markdown[-1].value == "**A workflow of 1 step**"
    page.button(key="import-now").click().run()
    assert bench.store.sessions.find(page.query_params["session"]).query == "What is 2 + 2?"


@pytest.mark.slow
def test_a_session_file_among_workflows_is_refused_with_the_place_for_it(bench, file):
    with pytest.raises(FormatError, match="Sessions page"):
        bench.editing.import_plan(file)


@pytest.mark.parametrize(
    ("query", "worker", "why"), [(None, "calculator", "has no query"), ("q", "gone", "does not have gone")]
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
    entry = bench.store.sessions.find(session)
    file = session_download(bench.store, entry)
    assert (file.name, file.mime) == ("which-one.session.jsonl", "application/jsonl")
    assert previewed(file.text.encode()).sessions[0].runs == 1
    page = run_download(bench.store, entry)
    assert (page.name, page.mime) == ("which-one.html", "text/html")
    assert previewed(page.text.encode()) == previewed(file.text.encode()).model_copy(
        update={"size": len(page.text.encode())}
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Compare France, Japan and Brazil: merge batch jobs", "compare-france-japan-and-brazil-merge"),
        ("x" * 60, "x" * 40),
        ("日本", "session"),
    ],
)
def test_a_files_name_is_cut_between_words(title, expected):
    assert file_name(title) == expected


@pytest.mark.slow
def test_a_run_in_one_file_is_shown_before_it_is_imported_and_then_opened(app, bench, session):
    bench.running.start(session)
    bench.activities.wait(session)
    file = run_download(bench.store, bench.store.sessions.find(session))
    page = chosen(app, file.text, name=file.name)
    assert "1 revision · 1 run" in page_text(page)
    page.button(key="import-now").click().run()
    assert not page.exception
    copy = page.query_params["session"]
    assert copy != session
    assert len(bench.store.runs.of_session(copy)) == 1


def test_a_page_of_others_is_refused_with_one_sentence(app):
    page = chosen(app, "<!doctype html><p>Hello.", name="hello.html")
    assert page.error[0].value.startswith("This page has no session")


@pytest.mark.slow
def test_a_file_that_is_too_large_for_the_browser_names_the_command(bench, session, monkeypatch):
    monkeypatch.setattr("pages.components.sessions.import_export.MAX_MEGABYTES", 0)
    with pytest.raises(FormatError, match=f"conductor sessions export {session} -o FILE"):
        session_download(bench.store, bench.store.sessions.find(session))
