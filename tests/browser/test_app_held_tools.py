"""A worker calls a tool that may act: a person allows the call, changes it, refuses it or answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conductor.workers.tools.accepted_commands import ALLOWED
from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.tools.writing_model import lines_of, write_next, writing_pool

pytestmark = pytest.mark.browser

STEP = Step(instruction="Note it.", worker="alpha")


@pytest.fixture(scope="module")
def model() -> Iterator[Served]:
    with serving(FakeOpenAI()) as served:
        yield served


@pytest.fixture(scope="module")
def tool_app(chromium: str, model: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "pool.toml").write_text(writing_pool(model), encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "pool.toml"), ALLOWED: "all"}) as server:
        yield server


@pytest.fixture
def waiting(visit, tool_app: AppServer, model: Served, tmp_path: Path) -> WorkbenchPage:
    """The workbench with a run whose call waits, and the call before the person."""
    write_next(model, tmp_path / "log")
    desk = WorkbenchPage(visit(tool_app, f"/?session={tool_app.plant(STEP)}"))
    desk.run()
    desk.button("Decide").click()
    expect(desk.keyed("tool-questions").get_by_text("sample:append", exact=True)).to_be_visible()
    expect(desk.button("Go on")).to_be_disabled()
    assert lines_of(tmp_path / "log") == []
    return desk


def decide(desk: WorkbenchPage, verdict: str) -> None:
    desk.page.get_by_role("radio", name=verdict, exact=True).click()
    expect(desk.button("Go on")).to_be_enabled()


def test_a_call_is_made_once_it_is_allowed(waiting: WorkbenchPage, tmp_path: Path) -> None:
    decide(waiting, "Allow")
    waiting.button("Go on").click()
    expect(waiting.finished().answer).to_contain_text("It is noted.")
    assert lines_of(tmp_path / "log") == ["one"]


def test_a_call_is_made_with_the_arguments_that_a_person_wrote(
    waiting: WorkbenchPage, tmp_path: Path
) -> None:
    field = waiting.page.get_by_label("Arguments")
    field.fill(field.input_value().replace("one", "two"))
    decide(waiting, "Allow")
    waiting.button("Go on").click()
    waiting.finished()
    assert lines_of(tmp_path / "log") == ["two"]


@pytest.mark.parametrize(
    ("verdict", "label", "sent"),
    [
        ("Refuse", "Reason, which the worker reads", "Error: A person refused this call: not <b>there</b>"),
        ("Answer in its place", "Result, as if the tool had given it", "not <b>there</b>"),
    ],
)
def test_a_call_is_refused_or_answered_in_its_place(
    waiting: WorkbenchPage, model: Served, tmp_path: Path, *, verdict: str, label: str, sent: str
) -> None:
    decide(waiting, verdict)
    waiting.page.get_by_label(label).fill("not <b>there</b>")
    waiting.button("Go on").click()
    waiting.finished()
    assert lines_of(tmp_path / "log") == []
    body = [entry.body for entry in model.log.entries if entry.body][-1]
    assert body["messages"][-1]["content"] == sent
