"""Whatever text anyone gives is stored and read back on both stores, and is then what it was while it ran."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.team_tests import TeamTest
from conductor.runs.events import (
    Event,
    StepCallDelta,
    StepDelta,
    StepFailed,
    StepFinished,
    StepRetried,
    StepStarted,
    StepThought,
    StepToolsCalled,
    StepToolsContinued,
    StepToolsOffered,
    StepToolsReturned,
)
from conductor.runs.request import RunRequest
from conductor.text.json_text import portable
from conductor.values.charge import Charge
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, Request, Usage
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import PlanProblem, PlanReport
from storage import SessionFilter, SessionStore, left_out_rows
from storage.records import RequestSession
from storage.session_entries import NoteEntry
from storage.tables.rows import new_id
from tests.support.stores.store_scenario import begin, chain, charged, finished, keep, started, step_started

TEXTS = {
    "NUL": "a\x00b",
    "many NULs in a long text": "\x00é" * 500,
    "half a pair": "a\ud800b\udfff",
    "a pair in halves": "a\ud83d\ude00",
    "an escape that is text": r"a\u0000b\ud800 \\u0000",
    "terminal's characters": "a\x1b[31m\x07\x08\x7f\x9b\u202e\u2066\u2028b",
    "noncharacters": "a\ufffe\uffff\U0001ffff\U0010ffff\ufeffb",
}


@pytest.fixture
def left_out() -> Iterator[dict[str, None]]:
    """The sentences about what the test's reads left out."""
    with left_out_rows() as sentences:
        yield sentences


def tool_use(text: str) -> ToolUse:
    call = ToolCall(id=text, name=text, arguments=text)
    return ToolUse(server=text, tool=text, call=call, result=text, is_error=True, seconds=0.5, cut=9)


def tool_events(text: str, request: Request) -> Iterator[Event]:
    """A worker's calls of its own tools, in whose results the text is."""
    place = {"run": "r", "at": 1.0, "step": 0}
    long = Request(
        (*request.messages, Message("tool", (Part("turn", text * 900),), tool_call_id=portable(text)))
    )
    yield StepToolsOffered(**place, seq=5, request=request)
    calls = (ToolRequest(**tool_use(text).model_dump(include=_OF_CALL)),)
    yield StepToolsCalled(
        **place,
        seq=6,
        calls=calls,
        answer=Message("assistant", (Part("turn", text * 900),), thoughts=portable(text)),
    )
    uses = (tool_use(text), tool_use(text * 900))
    yield StepToolsReturned(**place, seq=7, uses=uses, request=long)
    yield StepToolsContinued(
        **place,
        seq=8,
        worker=text,
        worker_kind="model",
        fingerprint="f",
        request=long,
        calls=calls,
        uses=uses,
    )


_OF_CALL = set(ToolRequest.model_fields)


def events(text: str) -> Iterator[Event]:
    """A run in which the text is in every place."""
    first_event = started("r", Workflow.of([Step(instruction=text, worker=text)]))
    yield first_event.model_copy(update={"query": text})
    request = Request((Message("user", (Part("query", text), Part("response", text, step=0, worker=text))),))
    first = step_started("r", seq=1).model_dump() | {"worker": text, "request": request}
    yield StepStarted(**first)
    place = {"run": "r", "at": 1.0, "step": 0}
    yield StepDelta(**place, seq=2, text=text, logprobs=(TokenLogprob(text, -1.0, None),))
    yield StepThought(**place, seq=3, text=text)
    yield StepCallDelta(**place, seq=4, index=0, text=text, id=text, name="f")
    yield from tool_events(text, request)
    yield StepRetried(**place, seq=9, attempt=1, message=text, seconds=0.0)
    lost = Charge(worker=portable(text), kind="model", purpose="step")
    yield StepFailed(**place, seq=10, message=text, charge=lost, seconds=1.0)
    output = Output(
        fingerprint=text,
        text=text,
        reasoning=text,
        worker=text,
        worker_kind="model",
        usage=Usage(prompt_tokens=3, completion_tokens=4, cost=0.5),
        seconds=1.0,
        request_id=text,
        tool_calls=(ToolCall(id="c", name="f", arguments=text),),
        tool_uses=(tool_use(text), tool_use(text * 300)),
        run="r",
        step=0,
    )
    yield charged(StepFinished(**place, seq=11, output=output))
    yield finished("r", seq=12, answer=text)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_a_run_is_read_back_as_its_events_were(
    store: SessionStore, left_out: dict[str, None], text: str
) -> None:
    session = store.sessions.create("q").id
    begin(store, session, "r")
    live = tuple(events(text))
    assert live == tuple(events(portable(text)))
    keep(store, *live)
    assert store.runs.events("r") == live
    assert store.runs.latest(session) == store.runs.find("r")
    assert store.runs.find("r").answer == portable(text)
    assert [each.fingerprint for each in store.runs.outputs(session)] == [portable(text)]
    for total in (
        store.sessions.used_since(0.0),
        store.sessions.total(session),
        store.runs.totals(session)["r"],
    ):
        assert (total.tokens, total.cost) == (7, 0.5)
        assert total.tokens_at_least  # the failed call's are unknown
    [listed] = store.sessions.listed()
    assert (listed.id, listed.state) == (session, "finished")
    assert left_out == {}


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_a_session_is_read_back_with_all_that_people_and_planners_wrote(
    store: SessionStore, left_out: dict[str, None], text: str
) -> None:
    plain, id = portable(text), new_id()
    files = (AttachedFile(name="a", text=text),)
    conversation = Conversation(instructions=text, turns=(Turn(role="user", text=text, files=files),))
    request = RunRequest(
        text, Settings(), conversation, workflow=Workflow.of([Step(instruction=text, worker=text)])
    )
    stored_as = RequestSession(tags=(text,), response=text)
    store.requests.begin(request, session=id, stored_as=stored_as, pool_label=text).result()
    session = store.sessions.find(id)
    assert (session.query, session.pool_label, session.earlier_conversation) == (plain, plain, conversation)
    assert store.requests.response(id) == plain
    assert store.sessions.rename(id, f"t{text}").title == " ".join(f"t{plain}".split())[:79] + "…" * (
        len(plain) > 79
    )
    assert len(store.sessions.tags(id)) == 1
    report = PlanReport(text=text, reasoning=text, problems=(PlanProblem(step=None, message=text),))
    plan = store.plans.add(id, planner=text, planner_kind="model", report=report, usage=Usage(), failure=text)
    assert store.plans.of_session(id) == (plan,)
    assert (plan.report, plan.failure, plan.planner) == (report, plain, plain)
    assert report.text == plain
    revision = store.revisions.add(id, chain(text, "b"), origin="human", note=text, author=text)
    assert store.revisions.head(id) == revision
    assert (revision.workflow, revision.note, revision.author) == (chain(plain, "b"), plain, plain)
    note = store.notes.add(
        id, NoteEntry(id="n", part="question", text=f"n{text[:99]}", created_at=0, author=text[:9])
    )
    assert store.notes.of_session(id) == (note,)
    change = store.changes.add(id, "c", revision=revision.id, wish=text, author=text)
    assert (change.wish, change.author) == (plain, plain)
    assert store.sessions.count(SessionFilter(search=text)) <= 1
    token, _ = store.tokens.create(f"k{text}"[:20])
    assert store.tokens.listed() == (token,)
    assert left_out == {}


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_an_evaluation_and_a_team_s_test_are_read_back(
    store: SessionStore, left_out: dict[str, None], text: str
) -> None:
    item = Item(id="i", input=text, target=(text,), metadata={text: [text]})
    spec = EvaluationSpec(data=text, digest=text, planners=(text,), tags=("a",))
    record = store.evaluations.add(spec, [item])
    assert store.evaluations.listed() == (record,)
    assert record.spec == spec
    assert store.evaluations.items(record.id) == (item,)
    answered_in = store.evaluations.begin_cell(
        record.id, item=0, planner=text, repeat=0, query=text, settings=Settings(), pool_label=None
    )
    result = CellResult(score=Score(verdict="wrong", answer=text, reason=text), workers=((text, 1),))
    store.evaluations.end_cell(answered_in, result, ())
    [cell] = store.evaluations.cells(record.id)
    assert (cell.result, cell.planner) == (result, portable(text))
    plain = store.tests.add(
        TeamTest(id="t", data_set="s", question=text, accepted=text, scorer="contains", created_at=0)
    )
    assert store.tests.of_set("s") == store.tests.of_question(text) == (plain,)
    assert plain.question == portable(text)
    assert left_out == {}
