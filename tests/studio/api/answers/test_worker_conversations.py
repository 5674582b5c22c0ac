"""The turns of a conversation with a worker alone are runs of one session, however a client names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import OpenAI

from conductor.runs.request import RunRequest
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.images import Image
from conductor.values.message_parts.tools import ToolCall
from conductor.workflow.model import Step, Workflow
from storage.records import RequestSession
from studio.access.auth import Principal
from studio.api.stored.worker_conversations import WorkerConversation
from tests.studio.api.answers.tool_cases import BOTH, ROME, TOOL, calls
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

SYSTEM = {"role": "system", "content": "You are an agent."}


@pytest.fixture(autouse=True)
def settled(stage: Stage) -> Iterator[None]:
    yield
    stage.settle(requests=0)


class Agent:
    """A client that sends all messages with each turn, as coding agents do."""

    def __init__(self, client: OpenAI, question: str, **more: Any) -> None:
        self.client, self.more = client, {"model": "worker:alpha", "tools": [TOOL], **more}
        self.messages: list[Any] = [SYSTEM, {"role": "user", "content": question}]
        self.sessions: list[str] = []

    def turn(self, **more: Any) -> Any:
        answer: Any = self.client.chat.completions.create(messages=self.messages, **{**self.more, **more})
        message = answer.choices[0].message
        self.sessions.append(answer.conductor["session"])
        self.messages.append(message.model_dump(exclude_none=True, exclude={"annotations"}))
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": f"result {at}"}
            for at, call in enumerate(message.tool_calls or ())
        ]
        self.messages += results
        return answer

    def says(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})


def plays(stage: Stage, served: Served, *texts: Any) -> None:
    served.fake.texts += texts
    stage.plays(model("alpha", served.base_url), model("beta", served.base_url))


def test_an_agents_turns_are_runs_of_one_session(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, BOTH, calls(("up-3", "weather", ROME)), "In Rome.", "Yes.")
    agent = Agent(client, "Is it warm in Oslo, and in Rome?")
    answers = [agent.turn() for _ in range(3)]
    agent.says("Sure?")
    answers.append(agent.turn(stream=False))
    assert [one.conductor["continued"] for one in answers] == [False, True, True, True]
    assert len(set(agent.sessions)) == 1
    store, session = stage.workbench.store, agent.sessions[0]
    assert [run.status for run in store.runs.of_session(session)] == ["finished"] * 4
    record = store.sessions.find(session)
    assert record.query == record.title == "Is it warm in Oslo, and in Rome?"
    roles = [turn.role for turn in record.earlier_conversation.following]
    assert roles == ["assistant", "tool", "tool", "assistant", "tool", "assistant", "user"]
    sent = (fake_openai.settled().body or {})["messages"]
    as_they_came, here = (
        [(one["role"], one.get("content") or "", one.get("tool_calls")) for one in messages]
        for messages in (agent.messages[:-1], sent)
    )
    assert here == as_they_came


def _another_ending(agent: Agent) -> None:
    agent.messages[-1] = {"role": "tool", "tool_call_id": "up-2", "content": "other"}
    agent.turn()
    agent.messages[-2:] = [{"role": "tool", "tool_call_id": "up-2", "content": "another"}]


def _other_system(agent: Agent) -> None:
    agent.messages[0] = {"role": "system", "content": "It is Monday."}


def _compacted(agent: Agent) -> None:
    agent.messages[1:] = [{"role": "user", "content": "A summary."}, agent.messages[2], *agent.messages[3:]]


def _reformatted(agent: Agent) -> None:
    answer = agent.messages[2]
    answer["content"] = ""
    for call in answer["tool_calls"]:
        call["function"]["arguments"] = call["function"]["arguments"].replace(": ", ":")


def _split(agent: Agent) -> None:
    answer = agent.messages.pop(2)
    results = agent.messages[2:]
    agent.messages[2:] = [
        message
        for call, result in zip(answer["tool_calls"], results, strict=True)
        for message in ({"role": "assistant", "content": None, "tool_calls": [call]}, result)
    ]


@pytest.mark.parametrize(
    ("change", "more", "same"),
    [
        (_another_ending, {}, False),
        (_other_system, {}, False),
        (_other_system, {"prompt_cache_key": "a"}, True),
        (_compacted, {"prompt_cache_key": "a"}, False),
        (_reformatted, {}, True),
        (_split, {}, False),
        (lambda agent: agent.more.update(model="worker:beta"), {}, False),
        (lambda agent: agent.more.update(tools=[TOOL, _named("other")]), {}, True),
        (lambda agent: agent.more.update(temperature=0.5), {}, True),
        (lambda agent: agent.says("And now?"), {}, True),
    ],
)
def test_what_goes_on_from_the_newest_answer_is_its_next_turn(
    stage: Stage,
    client: OpenAI,
    fake_openai: Served,
    change: Callable[[Agent], None],
    more: dict[str, Any],
    *,
    same: bool,
) -> None:
    plays(stage, fake_openai, BOTH, "In Rome.", "In Rome, again.")
    agent = Agent(client, f"Where is it warm? {change} {more}", **more)
    agent.turn()
    change(agent)
    agent.turn()
    assert (agent.sessions[-1] == agent.sessions[0]) is same


def _named(name: str) -> Any:
    return {**TOOL, "function": {**TOOL["function"], "name": name}}


def test_a_turn_that_failed_is_sent_again_in_its_session(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, BOTH, "In Rome.")
    agent = Agent(client, "Which one failed?")
    agent.turn()
    stage.plays(model("alpha", fake_openai.base_url, served="fault:server-error"))
    with pytest.raises(Exception, match="alpha"):
        agent.turn()
    stage.plays(model("alpha", fake_openai.base_url))
    assert agent.turn().conductor["session"] == agent.sessions[0]


@pytest.mark.parametrize("case", ["another token", "deleted", "stored, and now not"])
def test_a_conversation_goes_on_for_who_began_it_and_while_it_is_there(
    stage: Stage, client: OpenAI, fake_openai: Served, case: str
) -> None:
    plays(stage, fake_openai, BOTH, "In Rome.")
    own, other = (stage.workbench.store.tokens.create(f"{case} {name}")[0].id for name in ("eve", "flo"))
    stage.auth.principal = Principal(token=own)
    agent = Agent(client, f"Whose is it? {case}")
    agent.turn()
    more: dict[str, Any] = {}
    match case:
        case "another token":
            stage.auth.principal = Principal(token=other)
        case "deleted":
            stage.workbench.store.sessions.delete(agent.sessions[0])
        case _:
            more = {"store": False}
    agent.turn(**more)
    assert agent.sessions[0] != agent.sessions[1]


def test_what_is_not_to_be_stored_is_one_session_until_its_answer(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, BOTH, calls(("up-3", "weather", ROME)), "In Rome.")
    agent = Agent(client, "Is it warm, and unstored?", store=False)
    for _ in range(3):
        agent.turn()
    session = agent.sessions[0]
    assert set(agent.sessions) == {session}
    store = stage.workbench.store
    assert store.sessions.named(session) == ()
    until(lambda: not store.requests.is_own(session, token=None), what="it is removed")
    assert not store._transactions.read(
        lambda connection: connection.exec_driver_sql(
            "SELECT count(*) FROM api_conversations WHERE session = ?", (session,)
        ).scalar()
    )


def test_a_busy_session_is_left_to_its_turn(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, BOTH, "In Rome it is warm, and in Oslo it is not.", "In Rome.")
    agent = Agent(client, "Is it busy?")
    agent.turn()
    stage.plays(model("alpha", fake_openai.base_url, served="fault:stall"))
    with client.chat.completions.create(messages=agent.messages, stream=True, **agent.more) as stream:
        next(piece for piece in stream if piece.choices and piece.choices[0].delta.content)
        before = stage.workbench.store.sessions.find(agent.sessions[0])
        stage.plays(model("alpha", fake_openai.base_url))
        agent.turn()
        assert agent.sessions[0] != agent.sessions[1]
        assert stage.workbench.store.sessions.find(agent.sessions[0]) == before


@pytest.mark.parametrize("instructions", ["as before", "others"])
def test_a_response_goes_on_by_the_id_of_the_one_before(
    stage: Stage, client: OpenAI, fake_openai: Served, instructions: str
) -> None:
    plays(stage, fake_openai, "Rome.", "Oslo.", "Bergen.")

    def ask(text: str, **more: Any) -> Any:
        return client.responses.create(model="worker:alpha", input=text, **more)

    first = ask(f"Warm? {instructions}", instructions="Be brief.")
    again = "Be brief." if instructions == "as before" else "Be long."
    second = ask("Cold?", previous_response_id=first.id, instructions=again)
    assert second.conductor["session"] == first.conductor["session"]
    assert second.id != first.id
    fork = ask("Wet?", previous_response_id=first.id, instructions=again)
    assert fork.conductor["session"] != first.conductor["session"], "an earlier turn with another ending"
    got = [client.responses.retrieve(one.id).output_text for one in (first, second, fork)]
    assert got == ["Rome.", "Oslo.", "Bergen."]
    items: Any = client.responses.input_items.list(second.id, order="asc").data
    assert [item.content[0].text for item in items] == [f"Warm? {instructions}", "Rome.", "Cold?"]


def test_images_of_a_later_question_are_stored_with_its_session(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    fake_openai.fake.texts += ("Rome.", "A dot.")
    seeing = model("alpha", fake_openai.base_url)
    seeing.card = seeing.card.model_copy(update={"vision": True})
    stage.plays(seeing)
    agent = Agent(client, "Is it seen?")
    agent.turn()
    url = "data:image/png;base64,iVBORw0KGgo="
    agent.messages.append(
        {"role": "user", "content": [{"type": "text", "text": "And this?"},
                                     {"type": "image_url", "image_url": {"url": url}}]}
    )  # fmt: skip
    agent.turn()
    assert agent.sessions[0] == agent.sessions[1]
    last = stage.workbench.store.sessions.find(agent.sessions[0]).earlier_conversation.following[-1]
    assert [image.url for image in last.images] == [url]
    assert url in str((fake_openai.settled().body or {})["messages"])


def spoken(text: str, **more: Any) -> Turn:
    return Turn(role="assistant", text=text, **more)


def conversation(*turns: Turn, query: str = "Why?", **more: Any) -> WorkerConversation:
    """That of a request whose question stands behind these messages."""
    request = RunRequest(
        query=query,
        conversation=Conversation(turns=turns, verbatim=True, **more),
        workflow=Workflow.of([Step(instruction="Answer.", worker="alpha")]),
    )
    own = WorkerConversation.of(request, RequestSession())
    assert own is not None
    return own


@pytest.mark.parametrize(
    ("answer", "back", "same"),
    [
        (spoken(text=" As it is.\n"), Turn(role="assistant", text="As it is."), True),
        (spoken(text="As it is. STOP"), Turn(role="assistant", text="As it is."), True),
        (spoken(text="As it is."), Turn(role="assistant", text="As it was."), False),
        (spoken(text="As it is."), Turn(role="user", text="As it is."), False),
        (
            spoken(text="", tool_calls=(ToolCall(id="a", name="look", arguments='{"a": 1, "b": 2}'),)),
            Turn(role="assistant", text="",
                 tool_calls=(ToolCall(id="b", name="look", arguments='{"b":2,"a":1}'),)),
            True,
        ),
        (
            spoken(text="", tool_calls=(ToolCall(id="a", name="look", arguments="{not JSON"),)),
            Turn(role="assistant", text="", tool_calls=(ToolCall(id="a", name="look", arguments="{not"),)),
            False,
        ),
    ],
)  # fmt: skip
def test_an_answer_is_known_by_what_it_states(answer: Turn, back: Turn, *, same: bool) -> None:
    after = conversation().answered(answer, stops=(" STOP",), response=None)
    later = conversation(Turn(role="user", text="Why?"), back, query="And?").beginning
    assert bool(set(after) & set(later)) is same


def test_an_image_is_part_of_what_a_question_states() -> None:
    seen = conversation(images=(Image(url="data:image/png;base64,AA=="),))
    after = seen.answered(spoken(text="A dot."), stops=(), response=None)
    back = Turn(role="assistant", text="A dot.")
    assert not set(after) & set(conversation(Turn(role="user", text="Why?"), back, query="And?").beginning)
