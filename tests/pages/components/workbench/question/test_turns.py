"""The turns of an agent's session are shown as they came, and each is opened and run again by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest

from conductor.runs.request import RunRequest
from conductor.runs.scope import FORCE
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.tools import ToolCall
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.agent_turn import AgentTurn
from storage.records import RequestSession

ONE = Workflow.of([Step(instruction="Answer the user.", worker="alpha")])
CALL = Turn(
    role="assistant", text="", tool_calls=(ToolCall(id="a", name="look", arguments='{"at": "x.py"}'),)
)
FIRST, SECOND = Turn(role="tool", text="first result", tool_call_id="a"), Turn(role="user", text="And y?")
ANSWER = Turn(role="assistant", text="It is x.")


def session_of(bench, *turns: tuple[Turn, ...]) -> str:
    """A session whose turns were sent these messages behind its question, one after another."""
    session, revision = "", ""
    for following in turns:
        conversation = Conversation(verbatim=True, following=following)
        request = RunRequest(query="What is in x?", conversation=conversation, workflow=ONE)
        if not session:
            session, write = bench.runner.begin_session(request, RequestSession(), listen=lambda _: None)
            write.result()
        else:
            bench.runner.continue_session(
                request, revision=revision, stored_as=RequestSession(), listen=lambda _: None
            )
        bench.activities.wait(session)
        revision = bench.required_head(session).id
    return session


TURNS = ((), (CALL, FIRST), (CALL, FIRST, ANSWER, SECOND))


def page_with(page, *keys: str):
    """The page with these boxes open."""
    for key in keys:
        page.session_state[key] = True
    page.run()
    assert not page.exception
    return page


def test_each_turn_has_what_came_with_it(app, bench):
    session = bench.store.sessions.find(session_of(bench, *TURNS))
    runs = bench.store.runs.of_session(session.id)[::-1]
    states = [None, *map(bench.state, runs)]
    turns = [AgentTurn.of(session, now, before) for before, now in pairwise(states)]
    came = [{at: message.text for at, message in turn.messages.items()} for turn in turns]
    assert came == [{-1: "What is in x?"}, {1: "first result"}, {3: "And y?"}]
    assert [turn.answer.text for turn in turns] == [run.answer for run in runs]
    page = page_with(app(session=session.id), "turns", f"turn-{runs[1].id}")
    labels = [box.label for box in page.expander]
    assert "3 turns" in labels
    assert sum(label[:4] in ("1 · ", "2 · ", "3 · ") for label in labels) == 3
    assert page.button(key=f"turn-{runs[1].id}-open")
    assert any(text.value.endswith("single · from the API") for text in page.caption)


def test_a_further_run_of_a_turn_is_shown_whole(bench):
    session = session_of(bench, *TURNS[:2])
    bench.running.start(session, FORCE)
    bench.activities.wait(session)
    record = bench.store.sessions.find(session)
    again, before, _ = map(bench.state, bench.store.runs.of_session(session))
    turn = AgentTurn.of(record, again, before)
    assert turn is not None
    assert [message.text for message in turn.messages.values()] == ["What is in x?", "", "first result"]


def test_a_turn_is_opened_as_it_was_and_calls_no_one_until_it_is_corrected(app, bench):
    session = session_of(bench, *TURNS)
    run = bench.store.runs.of_session(session)[1]
    page = page_with(app(session=session), "turns", f"turn-{run.id}")
    page.button(key=f"turn-{run.id}-open").click().run()
    fork = str(page.query_params["session"])
    record = bench.store.sessions.find(fork)
    assert (record.query, record.earlier_conversation.following) == ("What is in x?", (CALL, FIRST))
    assert bench.running.outlook(fork).calls == "no step"
    assert bench.store.sessions.find(session).earlier_conversation.following == TURNS[2], "it stays"


@pytest.mark.parametrize(("turn", "at", "query"), [(2, -1, "What is in z?"), (1, 1, "What is in x?")])
def test_a_turn_is_run_again_with_corrected_texts(app, bench, turn: int, at: int, query: str):
    session = session_of(bench, *TURNS)
    run = bench.store.runs.of_session(session)[turn]
    page = page_with(app(session=session), "turns", f"turn-{run.id}", f"turn-{run.id}-correct")
    page.text_area(key=f"turn-{run.id}-text-{at}").input("What is in z?").run()
    page.button(key=f"turn-{run.id}-open").click().run()
    fork = str(page.query_params["session"])
    record = bench.store.sessions.find(fork)
    assert record.query == query
    assert [turn.text for turn in record.earlier_conversation.following] == (
        [] if at == -1 else ["", "What is in z?"]
    )
    assert bench.running.outlook(fork).calls != "no step"
    bench.running.start(fork)
    bench.activities.wait(fork)
    assert bench.store.runs.latest(fork).status == "finished"


def test_a_session_with_one_run_has_no_turns(app, bench):
    page = app(session=session_of(bench, (CALL, FIRST)))
    assert not [box for box in page.expander if "turn" in box.label]
