"""Calls of tools on the page: in a step's output, in what it saw, and below its bar, letter for letter."""

from __future__ import annotations

import json

import pytest

from conductor.runs.events import RunStarted
from conductor.runs.state import fold
from conductor.runs.step_state import StepState
from pages.components.tab.state import plain
from pages.components.view_models.timeline_text import row_text
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.widgets.step_result import silence_lines
from tests.support.runs.timed_run import measured
from tests.support.runs.tool_cases import HOSTILE, tool_events
from tests.support.stores.store_scenario import begin, keep


@pytest.fixture
def called(bench):
    """A session whose step names tools and called them; every text of theirs is hostile."""
    session = bench.ask("Why?").id
    first, *rest = tool_events()
    assert isinstance(first, RunStarted)
    first = first.model_copy(update={"workflow": first.workflow.with_tools(0, ["files"])})
    bench.editing.edit(session, first.workflow, note="By hand")
    begin(bench.store, session, "r")
    keep(bench.store, first, *rest)
    return session


def test_the_page_shows_each_call_of_a_tool_with_who_allowed_it(app, called):
    page = app(session=called)
    page.session_state["selected"] = 0
    page.session_state["step-part"] = "Saw"
    page.session_state["panel"] = "Timeline"
    page.session_state[f"tool-calls-{called}-0"] = True
    page.run()
    assert not page.exception
    captions = [each.value for each in page.caption]
    assert "**files\\:read** · 0\\.5 s · the server marks it as reading" in captions
    assert any(text.startswith(f"**{plain(f'files:{HOSTILE}')}** · 1\\.5 s · error") for text in captions)
    assert [each.value for each in page.code][:2] == [json.dumps({"path": HOSTILE}, indent=2), HOSTILE]
    sent = [json.loads(each.proto.json) for each in page.get("bidi_component") if each.proto.json]
    [request] = [each["parts"] for each in sent if each.get("label") == "Request"]
    assert [(tone, chip) for _, tone, _, _, chip in request if tone == "tool"] == [
        ("tool", "Written before it called"),
        ("tool", "Calls files:read"),
        ("tool", f"Calls files:{HOSTILE}"),
        ("tool", "Result of files:read, 0.5 s, the beginning of 60,000 characters"),
        ("tool", f"Result of files:{HOSTILE}, 1.5 s, an error"),
    ]
    [timeline] = [each for each in sent if "path" in each and "rows" in each]
    [row] = timeline["rows"]
    assert row["lanes"] == 2
    assert [(call["tool"], call["lane"], call["start"], call["end"]) for call in row["calls"]] == [
        (False, 0, 0, 1),
        (True, 0, 1, 1.5),
        (True, 1, 1, 2.5),
        (False, 0, 4, 6),
    ]


def test_a_long_argument_and_a_long_result_are_there_as_a_whole(app, bench):
    session = bench.ask("Why?").id
    first, *rest = tool_events(text := "a long text " * 500)
    assert isinstance(first, RunStarted)
    bench.editing.edit(session, first.workflow, note="By hand")
    begin(bench.store, session, "r")
    keep(bench.store, first, *rest)
    page = app(session=session)
    page.session_state["selected"] = 0
    page.session_state[f"tool-calls-{session}-0"] = True
    page.run()
    assert not page.exception
    sent = [json.loads(each.proto.json) for each in page.get("bidi_component") if each.proto.json]
    texts = [(each["label"], each["parts"][0][0]) for each in sent if {"parts", "label"} <= each.keys()]
    assert ("Arguments", json.dumps({"path": text}, indent=2)) in texts
    assert ("Result", text) in texts


def test_a_row_counts_its_calls_and_has_a_line_for_each():
    [row] = row_text(*measured(tool_events("a.txt")))
    assert row.details[-1] == "2 requests and 2 tool calls"
    assert row.calls[:2] == (
        "Request to alpha, 1.0 s",
        'files:read {"path": "a.txt"}, 0.5 s, the server marks it as reading',
    )


def under_way(count: int) -> StepState:
    """A step that waits for so many calls."""
    events = tool_events("a.txt")[:3]
    calls = events[2].calls[:count]
    return fold([*events[:2], events[2].model_copy(update={"calls": calls})]).steps[0]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, 'calls files:read {"path": "a.txt"} · 3.0 s'), (2, "calls files:read, files:a.txt · 3.0 s")],
)
def test_a_card_shows_the_calls_that_are_under_way_with_their_time(count, words):
    events = tool_events("a.txt")
    state = fold(events[:2])
    run = state.__class__(**{**state.__dict__, "steps": (under_way(count),)})
    (content,) = card_contents(events[0].workflow, run=run, radius=None, cards={}, now=1_004)
    assert content.excerpt == words


def test_what_is_written_just_now_has_results_as_they_come():
    state = fold(tool_events("a.txt")[:4]).steps[0]
    assert silence_lines(state).splitlines() == [
        'files:read {"path": "a.txt"} → a.txt',
        "files:a.txt a.txt → a.txt",
        "2 tool calls answered, waiting for the first words…",
    ]
