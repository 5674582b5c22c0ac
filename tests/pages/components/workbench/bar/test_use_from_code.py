"""Share's code: the model's name, the question in the snippets, an attempt and what came of it."""

from __future__ import annotations

import json
import re

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from pages.components.tab import services
from pages.components.workbench.bar import use_from_code
from studio.access.auth import OWN_KEY
from tests.support.processes.served_app import serving

HOSTILE = '<img src=x onerror="alert(1)"> **b** [l](http://a.b)'


class HostileApi:
    """An API that answers, or refuses where it is asked to."""

    def __init__(self) -> None:
        self.requests = []
        self.refuses = False

    async def __call__(self, request):
        self.requests.append((request.headers["authorization"], await request.json()))
        if self.refuses:
            return JSONResponse({"error": {"message": HOSTILE}}, status_code=503)
        account = {"session": "another", "label": "simulated"}
        chunks = [{"choices": [{"delta": {"content": HOSTILE}}]}, {"choices": [], "conductor": account}]
        return StreamingResponse(iter([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]))


@pytest.fixture
def api(monkeypatch):
    """A made-up API where the panel looks for its own."""
    hostile = HostileApi()
    app = Starlette(routes=[Route("/v1/chat/completions", hostile.__call__, methods=["POST"])])
    with serving(app) as port:
        monkeypatch.setattr(use_from_code, "own_api_url", lambda: f"http://127.0.0.1:{port}/v1")
        yield hostile


@pytest.fixture
def page(app, session):
    """The workbench with Share open at its code."""
    page = app(session=session)
    page.session_state["share-part"] = "Code"
    return page.run()


def model(page, session):
    return f"workflow:{services.workbench().store.revisions.head(session).id}"


def snippets(page):
    """The model's name, then the snippets."""
    return [code.value for code in page.code]


def tried(page, session):
    """The page once the attempt is over."""
    page.button(key="code-try").click().run()
    page.session_state[f"code-attempt-{session}"].future.result(timeout=60)
    page.run()
    assert not page.exception
    return page


def texts_of(page):
    return [re.sub(r"\\(.)", r"\1", str(element.value)) for element in (*page.caption, *page.error)]


def test_snippets_ask_this_workflow_the_sessions_question(page, session):
    name, *programs = snippets(page)
    assert name == model(page, session)
    assert len(programs) == 3
    for program in programs:
        assert name in program
        assert "Which one?" in program
        assert "CONDUCTOR_API_KEY" in program
        assert OWN_KEY not in program


def test_what_is_asked_can_be_changed(page, session):
    page.segmented_control(key="code-what").set_value("conductor").run()
    page.text_area(key=f"code-query-{session}").set_value("Why so?").run()
    name, *programs = snippets(page)
    assert name == "conductor"
    assert all('"conductor"' in program and "Why so?" in program for program in programs)


def test_the_question_stays_while_another_view_is_shown(page, session):
    page.text_area(key=f"code-query-{session}").set_value("Why so?").run()
    for part in ("Files and links", "Code"):
        page.session_state["share-part"] = part
        page.run()
    assert page.text_area(key=f"code-query-{session}").value == "Why so?"


@pytest.mark.thorough
def test_an_attempt_goes_through_the_api_and_leads_to_its_session(api, page, session):
    page.text_area(key=f"code-query-{session}").set_value("Why so?").run()
    tried(page, session)
    [(key, request)] = api.requests
    assert key == f"Bearer {OWN_KEY}"
    assert (request["model"], request["messages"][0]["content"]) == (model(page, session), "Why so?")
    assert any(text.startswith(f"{request['model']} · ") for text in texts_of(page))
    page.button(key="code-open").click().run()
    assert page.query_params["session"] == "another"


def test_a_refusal_is_reported_letter_for_letter(api, page, session):
    api.refuses = True
    tried(page, session)
    assert HOSTILE.replace("http://", "http\u2060://") in texts_of(page)
    assert [button for button in page.button if button.key == "code-open"] == []


def test_where_the_key_comes_from_is_stated_and_read_from_there(page, session):
    file = services.machine_token().path
    assert any(f"read their key from {file}; others need one" in text for text in texts_of(page))
    assert all(str(file) in program for program in snippets(page)[1:])


def test_a_browser_elsewhere_is_shown_no_file_of_this_machine(page, session, monkeypatch):
    monkeypatch.setattr(use_from_code, "is_local", lambda: False)
    page.run()
    assert any("Programs need a token" in text for text in texts_of(page))
    assert not any(str(services.machine_token().path) in program for program in snippets(page))


def test_an_open_api_is_stated(page, session, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_API_OPEN", "1")
    services.access.cache_clear()
    page.run()
    assert any("opened with --api-open" in text for text in texts_of(page))


def test_nothing_is_asked_without_a_question(page, session):
    page.text_area(key=f"code-query-{session}").set_value("  ").run()
    assert page.button(key="code-try").disabled
