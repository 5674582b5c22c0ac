"""The report of a run: all of it, letter for letter; nothing runs but its player, nothing is asked for."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser
from operator import add
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.report import run_report
from conductor.report.page import frames_of
from conductor.report.steps import BEGINNING
from conductor.report.words import STATUSES
from conductor.runs.events import (
    Event,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepFinished,
    StepKept,
    StepReused,
    StepStarted,
)
from conductor.runs.state import fold
from conductor.runs.step_state import StepStatus
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, Request
from conductor.values.note import Note
from conductor.values.output import HandEdit, Output, is_blank
from conductor.values.total import BoundedSum, Total
from conductor.workflow.model import Step, Workflow
from tests.support.cases.hostile_markdown import RUNS
from tests.support.cases.property_cases import cases
from tests.support.runs.nested_run import HOSTILE
from tests.support.runs.nested_run import events as nested_events
from tests.support.runs.timed_run import timed_events, timed_workflow
from tests.support.runs.tool_cases import HOSTILE as HOSTILE_CALL
from tests.support.runs.tool_cases import tool_events
from tests.support.runs.workflow_cases import workflows

_VOID = {"meta", "link", "br", "hr", "input"}

TEXTS = [
    "<script>alert(1)</script>",
    "</script></style></svg></div>",
    '"><img src=x onerror="alert(1)">',
    "{{ 7 * 7 }} {% raw %}",
    "<!-- ]]> &amp; &lt;",
    "right \u202e to left",
    "  spaces\n\n\tand lines\n",
    "日本語 😀",
]


class Read(HTMLParser):
    """What a browser would find: tags, attributes, and the texts of elements of the class "text".

    `tags` are those outside of what a model wrote for a reader.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.all = ""
        self._open: list[tuple[str, bool]] = []
        self._renderings: list[bool] = []
        self.feed(html)
        self.close()
        assert not self._open, "every element ends"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        kinds = (dict(attributes).get("class") or "").split()
        is_rendered = any(self._renderings)
        self.tags += [] if is_rendered else [tag]
        self.attributes += attributes
        if tag not in _VOID:
            is_text = "text" in kinds
            self._open.append((tag, is_text))
            self._renderings.append(is_rendered or "reading" in kinds)
            self.texts += [""] if is_text else []

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, "elements end in the order in which they began"
        self._renderings.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts.append(data)
            return
        self.all += data
        if any(is_text for _, is_text in self._open):
            self.texts[-1] += data


def reported(
    events: list[Event], *, title: str = "Why?", pool_label: str | None = None, notes: Sequence[Note] = ()
) -> str:
    """The report of these events."""
    return run_report(fold(events), events, title=title, written_at=9.0, pool_label=pool_label, notes=notes)


def output(text: str, *, run: str = "run") -> Output:
    """What a worker gave."""
    return Output(
        fingerprint="f", text=text, worker="w", worker_kind="simulated", seconds=1.0, run=run, step=0
    )


def started(*instructions: str, query: str = "Why?") -> RunStarted:
    """The beginning of a run of a chain."""
    steps = enumerate(instructions)
    workflow = Workflow.of(
        Step(instruction=text, worker=f"w {text}", access=(at - 1,) if at else ()) for at, text in steps
    )
    return RunStarted(run="run", seq=0, at=1.0, query=query, workflow=workflow)


def finished(
    answer: str | None, *, outcome: RunOutcome = "finished", warning: str | None = None
) -> RunFinished:
    """The end of a run."""
    step = None if answer is None else 0
    return RunFinished(
        run="run", seq=9, at=3.0, outcome=outcome, answer=answer, answer_step=step, warning=warning
    )


def events_with(text: str) -> list[Event]:
    """A run in which everything that a person or a model wrote is this text."""
    request = Request(messages=(Message(role="user", parts=(Part(kind="query", text=text),)),))
    return [
        started(f"do {text}", query=text),
        StepStarted(
            run="run",
            seq=1,
            at=1.0,
            step=0,
            worker="w",
            worker_kind="model",
            fingerprint="f",
            request=request,
        ),
        StepFinished(
            run="run",
            seq=2,
            at=2.0,
            step=0,
            output=output(text).model_copy(update={"tool_uses": (tool_use(text),)}),
        ),
        finished(text, warning=text),
    ]


def tool_use(text: str) -> ToolUse:
    call = ToolCall(id="c", name="t", arguments=text)
    return ToolUse(server="s", tool=text, call=call, result=text)


def read(text: str) -> Read:
    return Read(reported(events_with(text), title=text, pool_label=text))


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_shown_letter_for_letter(text: str) -> None:
    page = read(text)
    query, answer, instruction, request, arguments, result, response = page.texts
    assert query == answer == response == arguments == result == text
    assert instruction == f"do {text}"
    assert request == f"Query {text}"


@pytest.mark.slow
@cases(40)
@given(text=st.text(st.characters(exclude_characters="\r\0", codec="utf-8"), min_size=1, max_size=60))
def test_any_text_changes_no_element_of_the_page(text: str) -> None:
    if is_blank(text):
        return
    page = read(text)
    assert page.tags == read("plain").tags
    assert page.texts[0] == text


def test_a_refusal_is_marked_as_no_answer_at_the_top_on_its_card_and_at_its_step() -> None:
    begin, sent, finish, end = events_with("I cannot.")
    assert isinstance(finish, StepFinished)
    refused = finish.output.model_copy(update={"finish_reason": "refused"})
    events: list[Event] = [
        begin,
        sent,
        finish.model_copy(update={"output": refused}),
        end.model_copy(update={"answered": False}),
    ]
    html = reported(events)
    assert '<span class="pill status refused">finished, no answer</span>' in html
    assert '<span class="card-mark">no answer</span>' in html
    assert '<p class="pills"><span class="pill">no answer</span>' in html, "above the answer"
    assert '<span class="pill status refused">no answer</span>' in html, "of the step"


def test_what_no_file_can_hold_is_replaced() -> None:
    html = reported(events_with("half \ud83d, nothing \0."))
    assert "half \ufffd, nothing \ufffd." in Read(html).texts
    html.encode()


def test_nothing_runs_but_the_player_and_nothing_is_asked_for() -> None:
    page = read('<a href="https://example.org/x.css">')
    assert page.tags.count("script") == 2, "what is replayed, and what replays it"
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "action")]
    links = [value for name, value in page.attributes if name == "href"]
    assert {str(link)[:5] for link in links} == {
        "#step",
        "#is-f",
        "#to-p",
        "#to-b",
        "#to-f",
        "data:",
        "https",
    }
    leads_away = [str(link) for link in links if str(link).startswith("https")]
    assert leads_away == ["https://example.org/x.css"] * 2, "links to follow, of the answer and the output"
    relations = [value for name, value in page.attributes if name == "rel"]
    assert relations == ["icon", *["noopener noreferrer"] * 2]
    policies = [value for name, value in page.attributes if name == "content" and "default-src" in str(value)]
    digest = b64encode(sha256(page.scripts[-1].encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ]


def test_a_run_that_goes_on_has_no_replay_and_no_script() -> None:
    html = reported(events_with("a")[:2])
    assert "script" not in Read(html).tags
    assert "script-src" not in html


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_replayed_and_what_is_imported_are_whole_and_end_no_element(text: str) -> None:
    events = events_with(text)
    line = json.dumps({"text": text})
    html = run_report(fold(events), events, title="T", written_at=9.0, session=f"{line}\n")
    replay, _, session = Read(html).scripts
    assert json.loads(replay)["frames"] == [list(frame) for frame in frames_of(events, seconds=2.0)]
    assert json.loads(session) == {"text": text}


@pytest.mark.parametrize("name", RUNS)
def test_a_hostile_answer_changes_nothing_around_it(name: str) -> None:
    page = read(RUNS[name])
    assert page.tags == read("plain").tags
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "action")]


def test_an_answer_is_rendered_and_its_source_is_beside_it() -> None:
    text = "# Sum\n\n| a |\n|---|\n| **1** |\n\n$x^2$ for $5 and $10\n"
    html = reported(events_with(text))
    for markup in ('<h3 class="level-1" dir="auto">Sum</h3>', "<strong>1</strong>", "<msup>", "$5 and $10"):
        assert html.count(markup) >= 2, "in the answer and in the output"
    assert Read(html).texts.count(text) == 5, "the query, a tool's, the sources of the answer and the output"


@pytest.mark.slow
def test_of_every_long_text_the_beginning_is_shown_and_the_rest_is_folded() -> None:
    text = "„long“ <b> " * 9_000
    texts = read(text).texts
    beginnings, rests = texts[::2], texts[1::2]
    query, answer, instruction, request, arguments, result, response = map(add, beginnings, rests)
    assert query == answer == response == arguments == result == text
    assert instruction == f"do {text}"
    assert request == f"Query {text}"
    assert max(map(len, beginnings)) <= BEGINNING + len("Query ")


@pytest.mark.slow
def test_of_a_long_text_with_marks_the_first_blocks_are_shown_and_the_rest_is_folded() -> None:
    line = "**So** it is, in as many words as fill a line of it.\n\n"
    html = reported(events_with(line * 1_000))
    answer = html[html.index('id="answer"') : html.index('<details class="source">')]
    beginning, rest = answer.split("<details>")
    assert beginning.count("<strong>") == BEGINNING // len(line.replace("*", "").rstrip("\n") + "\n")
    assert beginning.count("<strong>") + rest.count("<strong>") == 1_000


# -- what it states --------------------------------------------------------------------------------


def test_a_run_is_reported_step_by_step_with_what_it_took() -> None:
    page = Read(reported(timed_events(timed_workflow((), (), (0, 1)), [1.0, 2.0, 0.5])))
    assert "2.5 s" in page.all
    assert "Sees step 1, step 2." in " ".join(page.all.split())
    assert page.all.count("simulated, no model is called") == 4, "the answer's and each step's"
    assert "3 (3 ran)" in page.all


def test_marks_show_reused_pinned_and_hand_written_steps() -> None:
    earlier = output("made", run="run-before")
    hand = earlier.by_hand("mine", edit=HandEdit(at=0.0, by="Ada"))
    request = Request(messages=())
    events: list[Event] = [
        started("one", "two", "three", "four"),
        StepReused(run="run", seq=1, at=2.0, step=0, output=earlier, request=request),
        StepKept(run="run", seq=2, at=2.0, step=1, output=hand, because="pinned"),
        StepKept(run="run", seq=3, at=2.0, step=2, output=earlier, because="preloaded"),
        finished(None, outcome="interrupted"),
    ]
    text = " ".join(Read(reported(events)).all.split())
    for words in (
        "reused",
        "pinned",
        "written by hand by Ada, 01 Jan 1970, 00:00 UTC",
        "as it was before",
        "by hand",
        "made in run run-befo",
        "interrupted",
        "not run",
        "This run gave no answer.",
    ):
        assert words in text


def test_the_providers_name_of_a_call_is_reported() -> None:
    earlier = output("made").model_copy(update={"request_id": "req_<1>", "left_out": ("temperature", "seed")})
    reused = StepReused(run="run", seq=1, at=2.0, step=0, output=earlier, request=Request(messages=()))
    page = Read(reported([started("one"), reused, finished(None, outcome="interrupted")]))
    assert "request id req_<1>" in page.all
    assert "asked without temperature, seed, as its endpoint requires" in page.all


def test_a_failed_step_states_why_and_what_it_held_up() -> None:
    events = timed_events(timed_workflow((), (0,)), [1.0, 1.0], fail=[0])
    text = " ".join(Read(reported(events)).all.split())
    assert "blocked" in text
    assert "It did not run, because it reads step 1." in text


def test_what_happened_on_the_way_and_inside_is_reported() -> None:
    page = Read(reported(list(nested_events())))
    assert f"Asked again: {HOSTILE}" in page.all
    for words in ("Inside", "Solve the core.", "Go that way.", "in place of", "cut off at the token limit"):
        assert words in page.all
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    assert {str(value)[1:] for name, value in page.attributes if name == "href" and value} - {"ata:,"} <= set(
        ids
    )


@pytest.mark.slow
@cases(20)
@given(workflow=workflows(max_steps=12))
def test_every_step_and_access_of_any_workflow_is_drawn(workflow: Workflow) -> None:
    page = Read(reported([started("do").model_copy(update={"workflow": workflow})]))
    classes = [value for name, value in page.attributes if name == "class"]
    pictures = len([name for name in classes if str(name).startswith("picture-")])
    assert pictures >= 1
    assert classes.count("plate") == pictures * len(workflow)
    assert classes.count("edge") == pictures * sum(len(step.access) for step in workflow.steps)


def test_every_status_of_a_step_has_a_word_and_a_sign() -> None:
    html = reported(events_with("a"))
    assert set(STATUSES) == set(get_args(StepStatus))
    assert [status for status in STATUSES if f'id="is-{status}"' not in html] == []


def test_a_report_has_what_the_whole_session_used() -> None:
    state = fold(nested_events())
    used = Total(
        prompt=BoundedSum(least=3_670, most=None), dollars=BoundedSum(least=0.25, most=0.25), calls=2
    )
    text = Read(run_report(state, title="T", written_at=99.0, used=used)).all
    assert "Session, with planning" in text
    assert "at least 3,670 tokens, $0.2500" in text
    assert "Session, with planning" not in run_report(state, title="T", written_at=99.0, used=Total())


@pytest.mark.parametrize("text", TEXTS)
def test_notes_of_people_are_shown_letter_for_letter_at_their_step_and_the_question(text: str) -> None:
    notes = [
        Note(id="a", part="question", text=text, author=text, created_at=0),
        Note(id="b", part="output", step=0, quote=text, text=text, created_at=0),
    ]
    html = reported(events_with("plain"), notes=notes)
    assert Read(html).texts.count(text) == 2
    assert html.count('<ul class="notes">') == 2
    assert html.index('<ul class="notes">') < html.index('id="answer"') < html.rindex('<ul class="notes">')


# -- calls of tools --------------------------------------------------------------------------------


def test_calls_of_tools_are_in_the_timeline_the_request_and_the_step_with_who_allowed_them() -> None:
    html = reported(tool_events("a.txt"))
    page = Read(html)
    assert html.count('<rect class="call request"') == 2
    assert html.count('<rect class="call tool"') == html.count('<rect class="call failed"') == 1
    for words in (
        "2 tool calls",
        "0.5 s · the server marks it as reading",
        'allowed by a person · changed by a person: {"path": "a.txt"}',
        "the beginning of 60,000 characters",
        "Calls files:read",
        "Result of files:read, 0.5 s, the beginning of 60,000 characters",
    ):
        assert words in page.all


def test_a_call_without_a_result_is_named() -> None:
    assert "no result" in Read(reported(tool_events(end="cancelled"))).all


@pytest.mark.parametrize("text", [*TEXTS, HOSTILE_CALL])
def test_no_text_of_a_call_changes_an_element_of_the_page(text: str) -> None:
    assert Read(reported(tool_events(text))).tags == Read(reported(tool_events("plain"))).tags


def test_of_a_long_result_the_beginning_is_shown_and_the_rest_is_folded() -> None:
    text = "result " * 4_000
    events = [event for event in events_with("so") if not isinstance(event, StepFinished)]
    end = output("so").model_copy(update={"tool_uses": (tool_use(text),)})
    events.insert(2, StepFinished(run="run", seq=2, at=2.0, step=0, output=end))
    page = Read(reported(events))
    assert page.all.count("The rest; shown are 19,999 of 28,000 characters") == 2, (
        "of the arguments and of the result"
    )
    assert text[:19_999] in page.texts
    assert text[19_999:] in page.texts
