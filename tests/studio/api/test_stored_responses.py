"""Responses that were stored, as OpenAI's own client gets and deletes them, each by its own token."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.errors import StorageError
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage.tables import runs
from studio.api.stored import visible
from tests.studio.api.performers import Paced
from tests.studio.api.stage import Stage
from tests.support.processes.api_server import ServedApi, serving_api
from tests.support.runs.conductor_cases import BROKEN, plan_text

pytestmark = pytest.mark.slow

ONE = plan_text((0, "answer", "[]"))
UNKNOWN = "resp_0123456789abcdef"


def simulated(text: str) -> SimulatedWorker:
    return SimulatedWorker(name="alpha", answer=text)


# -- reported again ------------------------------------------------------------------------------------


def test_a_stored_response_is_reported_again_as_it_was_answered(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So \x00 it is: 数."), plans=(ONE,))
    answered = client.responses.with_raw_response.create(
        model="conductor",
        input="Why?",
        instructions="Be brief.",
        metadata={"team": "red"},
        reasoning={"effort": "medium"},
        user="ann",
    )
    again = client.responses.with_raw_response.retrieve(answered.parse().id)
    assert again.http_response.content == answered.http_response.content
    assert again.parse().output_text == "So \ufffd it is: 数."
    assert again.headers["content-type"] == "application/json"


def test_a_streamed_response_is_there_when_its_end_is_reported(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    *_, last = client.responses.create(model="conductor", input="Why?", stream=True)
    assert last.type == "response.completed"
    assert client.responses.retrieve(last.response.id).to_dict() == last.response.to_dict()


@pytest.mark.usefixtures("open_at_once")
def test_a_streamed_response_that_failed_is_reported_as_failed(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(BROKEN,))
    *_, last = client.responses.create(model="conductor", input="Why?", stream=True)
    assert last.type == "response.failed"
    again = client.responses.retrieve(last.response.id)
    assert (again.status, again.error) == ("failed", last.response.error)


def test_what_is_no_stored_response_is_not_found(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    unstored = client.responses.create(model="conductor", input="Why?", store=False)
    chatted: Any = client.chat.completions.create(
        model="conductor", messages=[{"role": "user", "content": "Why?"}]
    )
    persons = stage.workbench.ask("Whose?").id
    for id in (unstored.id, UNKNOWN, "0123", f"resp_{chatted.conductor['session']}", f"resp_{persons}"):
        for ask in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(openai.NotFoundError, match=f"There is no response '{id}'") as refused:
                ask(id)
            assert refused.value.body == {
                "message": refused.value.body["message"],  # type: ignore[index]
                "type": "invalid_request_error",
                "param": "response_id",
                "code": "response_not_found",
            }
    assert stage.workbench.store.sessions.find(persons).deleted_at is None


@pytest.mark.usefixtures("open_at_once")
def test_a_response_under_way_is_reported_as_far_as_it_is_and_cannot_be_deleted(
    stage: Stage, client: OpenAI
) -> None:
    gate = Event()
    stage.plays(Paced("alpha", ("So.",), gates={0: gate}), plans=(ONE,))
    with client.responses.create(model="conductor", input="Why?", stream=True) as stream:
        response = next(event.response for event in stream if event.type == "response.created")
        id = response.id
        with pytest.raises(openai.ConflictError, match="cancel it first"):
            client.responses.delete(id)
        so_far, at_first = client.responses.retrieve(id).to_dict(exclude_unset=True), response.to_dict()
        assert {key: so_far.get(key) for key in at_first} == at_first
        gate.set()
        assert [event.type for event in stream][-1] == "response.completed"
    assert client.responses.retrieve(id).status == "completed"


def test_a_stored_response_is_read_as_it_was_answered(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    response = client.responses.create(model="conductor", input="Why?")
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.retrieve(response.id, starting_after=1)  # type: ignore[call-overload]
    assert (refused.value.param, refused.value.code) == ("starting_after", "unsupported_parameter")
    more: Any = {"include": ["reasoning.encrypted_content", "file_search_call.results"]}
    for stream in (False, True):
        raw = client.responses.with_raw_response.retrieve(
            response.id, stream=stream, extra_query={"of_next_year": "1"}, **more
        )
        assert raw.headers["x-conductor-without-effect"] == "include,of_next_year"
    assert client.responses.retrieve(response.id, stream=False).output_text == "So."
    items = client.responses.input_items.with_raw_response.list(response.id, include=more["include"])
    assert items.headers["x-conductor-without-effect"] == "include"


def test_a_response_that_cannot_be_stored_is_answered_all_the_same(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StorageError("The disk is full.")

    stage.plays(simulated("So."), plans=(ONE,))
    monkeypatch.setattr(stage.workbench.store.requests, "keep_response", full)
    response = client.responses.create(model="conductor", input="Why?")
    assert response.output_text == "So."
    assert "was not stored" in caplog.text
    assert client.responses.retrieve(response.id).status == "in_progress"
    # Its process lives, so it may still come; later it is read from the run.
    monkeypatch.setattr(visible, "LATE_SECONDS", 0.0)
    again = client.responses.retrieve(response.id)
    assert (again.status, again.output_text, again.usage) == ("completed", "So.", None)


def test_where_the_store_cannot_be_read_no_one_is_informed_that_nothing_is_there(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_: str) -> None:
        raise StorageError("The store is locked.")

    stage.plays(simulated("So."), plans=(ONE,))
    id = client.responses.create(model="conductor", input="Why?").id
    monkeypatch.setattr(stage.workbench.store.sessions, "find", locked)
    for attempt in attempts(client, id).values():
        with pytest.raises(openai.APIStatusError) as refused:
            attempt()
        assert (refused.value.status_code, refused.value.code) == (503, "store_unusable")


# -- gone on from ----------------------------------------------------------------------------------


def rerun(stage: Stage, session: str, text: str) -> None:
    """A person edits the workflow of a session, whose answer is `text` from then on."""
    bench = stage.workbench
    head = bench.store.revisions.head(session)
    stage.plays(simulated(text))
    bench.editing.edit(
        session, head.workflow.with_instruction(0, f"Say {text}"), note="Other words", head=head
    )
    assert bench.running.start(session).done.wait(60)
    bench.activities.wait(session)


@pytest.mark.parametrize("keeps_body", [True, False])
def test_what_a_response_answered_is_gone_on_from_whatever_its_session_answers_now(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch, *, keeps_body: bool
) -> None:
    stage.plays(simulated("As it was."), plans=(ONE,))
    if not keeps_body:
        monkeypatch.setattr(stage.workbench.store.requests, "keep_response", lambda *_: None)
    first: Any = client.responses.create(model="conductor", input="Why?")
    stage.settle()
    rerun(stage, first.conductor["session"], "As it is now.")
    stage.plays(simulated("So."), plans=(ONE,))
    ids = [first.id]
    for _ in range(2):
        going_on: Any = client.responses.create(model="conductor", input="And?", previous_response_id=ids[-1])
        ids.append(going_on.id)
    # From an older one the conversation goes on another way.
    forked: Any = client.responses.create(model="conductor", input="Or?", previous_response_id=first.id)
    sessions = [stage.workbench.store.sessions.find(id.removeprefix("resp_")) for id in (*ids, forked.id)]
    assert [[turn.text for turn in session.earlier_conversation.turns] for session in sessions] == [
        [],
        ["Why?", "As it was."],
        ["Why?", "As it was.", "And?", "So."],
        ["Why?", "As it was."],
    ]


@pytest.mark.parametrize("keeps_body", [True, False])
def test_of_several_rounds_the_requests_own_last_answer_counts(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch, *, keeps_body: bool
) -> None:
    stage.plays(simulated("So."), plans=(ONE, ONE, ONE))
    if not keeps_body:
        monkeypatch.setattr(stage.workbench.store.requests, "keep_response", lambda *_: None)
    steered = {"conductor": {"rounds": 2}}
    first: Any = client.responses.create(model="conductor", input="Why?", extra_body=steered)
    session = first.conductor["session"]
    stage.settle()
    stage.plays(simulated("Otherwise."), plans=(ONE,))
    stage.workbench.planning.begin_round(session)
    stage.workbench.activities.wait(session)
    assert [run.round for run in stage.workbench.store.runs.of_session(session)] == [3, 2, 1]
    again: Any = client.responses.create(model="conductor", input="And?", previous_response_id=first.id)
    turns = stage.workbench.store.sessions.find(again.conductor["session"]).earlier_conversation.turns
    assert [turn.text for turn in turns] == ["Why?", "So."]


@pytest.mark.usefixtures("open_at_once")
def test_a_response_that_failed_is_not_gone_on_from_though_a_person_found_an_answer(
    stage: Stage, client: OpenAI
) -> None:
    stage.plays(simulated("So."), plans=(BROKEN,))
    *_, last = client.responses.create(model="conductor", input="Why?", stream=True)
    assert last.type == "response.failed"
    session = last.response.id.removeprefix("resp_")
    stage.plays(simulated("Found."), plans=(ONE,))
    stage.workbench.planning.begin(session, then_run=True)
    stage.workbench.activities.wait(session)
    with pytest.raises(openai.BadRequestError, match="it gave no answer") as refused:
        client.responses.create(model="conductor", input="And?", previous_response_id=last.response.id)
    assert refused.value.code == "previous_response_not_found"


# -- deleted ---------------------------------------------------------------------------------------


def test_a_deleted_response_is_gone_but_for_a_person_who_restores_it(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    response: Any = client.responses.create(model="conductor", input="Why?")
    deleted = httpx.delete(f"{stage.base_url}/responses/{response.id}")
    assert deleted.json() == {"id": response.id, "object": "response", "deleted": True}
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.delete(response.id)
    with pytest.raises(openai.BadRequestError, match="There is no response"):
        client.responses.create(model="conductor", input="When?", previous_response_id=response.id)
    stage.workbench.store.sessions.restore(response.conductor["session"])
    assert client.responses.retrieve(response.id).output_text == "So."


def test_a_response_goes_for_good_with_its_session(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    response: Any = client.responses.create(model="conductor", input="Why?")
    store, session = stage.workbench.store, response.conductor["session"]
    client.responses.delete(response.id)
    assert store.housekeeping.remove_session(session)
    assert store.requests.response(session) is None


# -- whose it is -----------------------------------------------------------------------------------


@pytest.fixture
def served(empty_store: Path, tmp_path: Path) -> Iterator[ServedApi]:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with serving_api(tmp_path / "conductor.db", Pool(workers=(simulated("So."),))) as served:
        yield served


def as_token(served: ServedApi, key: str) -> OpenAI:
    return OpenAI(base_url=served.base_url, api_key=key, max_retries=0)


def begin(asking: OpenAI) -> str:
    """The id of a new response."""
    return asking.responses.create(model="worker:alpha", input="Who was Ada?").id


def attempts(asking: OpenAI, id: str) -> dict[str, Callable[[], object]]:
    """All that can be asked of a response, deletion last."""
    session = id.removeprefix("resp_")
    return {
        "go on": lambda: asking.responses.create(
            model="worker:alpha", input="When?", previous_response_id=id
        ),
        "get": lambda: asking.responses.retrieve(id),
        "workflow": lambda: asking.models.retrieve(f"workflow:{session}"),
        "run": lambda: asking.responses.create(model=f"workflow:{session}", input="When?"),
        "cancel": lambda: asking.responses.cancel(id),
        "delete": lambda: asking.responses.delete(id),
    }


def refusal(attempt: Callable[[], object]) -> tuple[int, object]:
    """The status and the whole error."""
    with pytest.raises(openai.APIStatusError) as refused:
        attempt()
    return refused.value.status_code, refused.value.body


def test_another_tokens_response_is_answered_as_one_that_never_was(served: ServedApi) -> None:
    store = served.bench.store
    (_, own), (_, other) = store.tokens.create("own"), store.tokens.create("other")
    with as_token(served, own) as mine, as_token(served, other) as theirs:
        id = begin(mine)
        missing = attempts(theirs, UNKNOWN)
        for name, attempt in attempts(theirs, id).items():
            status, said_of_it = refusal(attempt)
            assert (status, str(said_of_it).replace(id[5:], UNKNOWN[5:])) == (
                refusal(missing[name])[0],
                str(refusal(missing[name])[1]),
            ), name
        for attempt in attempts(mine, id).values():
            attempt()


def test_another_tokens_workflow_is_not_there_by_its_revision_either(served: ServedApi) -> None:
    store = served.bench.store
    (_, own), (_, other) = store.tokens.create("own"), store.tokens.create("other")
    with as_token(served, own) as mine, as_token(served, other) as theirs:
        head = store.revisions.head(begin(mine).removeprefix("resp_"))
        assert mine.models.retrieve(f"workflow:{head.id}").id == f"workflow:{head.id}"
        with pytest.raises(openai.NotFoundError):
            theirs.models.retrieve(f"workflow:{head.id}")


def test_what_was_begun_with_this_machines_token_is_there_for_every_token_but_for_its_end(
    served: ServedApi,
) -> None:
    with as_token(served, served.key) as owner:
        ids = [begin(owner), begin(owner)]
    tokens = [served.bench.store.tokens.create(name)[1] for name in ("a", "b")]
    for id, token in zip(ids, tokens, strict=True):
        with as_token(served, token) as asking:
            allowed = attempts(asking, id)
            for ending in ("cancel", "delete"):
                status, error = refusal(allowed.pop(ending))
                assert (status, error["code"]) == (403, "not_own_response")  # type: ignore[index]
            for attempt in allowed.values():
                attempt()
    with as_token(served, served.key) as owner:
        for id in ids:
            owner.responses.delete(id)


def test_with_this_machines_token_everything_is_there(served: ServedApi) -> None:
    token, text = served.bench.store.tokens.create("own")
    with as_token(served, text) as mine:
        id = begin(mine)
    served.bench.store.tokens.revoke(token.id)
    with as_token(served, served.key) as owner:
        for attempt in attempts(owner, id).values():
            attempt()


def test_a_token_of_the_same_name_is_another_one(served: ServedApi) -> None:
    token, text = served.bench.store.tokens.create("own")
    with as_token(served, text) as mine:
        id = begin(mine)
    served.bench.store.tokens.revoke(token.id)
    _, text = served.bench.store.tokens.create("own")
    with as_token(served, text) as mine, pytest.raises(openai.NotFoundError):
        mine.responses.retrieve(id)


def test_a_persons_workflow_is_there_for_every_token(served: ServedApi) -> None:
    store = served.bench.store
    session = served.bench.ask("Whose?").id
    store.revisions.add(
        session, Workflow.of([Step(instruction="Say.", worker="alpha")]), origin="human", note="By hand"
    )
    _, text = store.tokens.create("own")
    with as_token(served, text) as asking:
        assert asking.responses.create(model=f"workflow:{session}", input="When?").output_text == "So."


# -- not to be kept --------------------------------------------------------------------------------


def test_a_request_that_is_not_to_be_kept_is_never_listed(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("So."), plans=(ONE,))
    with client.responses.create(model="conductor", input="Why?", store=False, stream=True) as stream:
        id = next(event.response.id for event in stream if event.type == "response.created")
        listed = [one.id for one in stage.workbench.store.sessions.listed(limit=1000)]
        assert id.removeprefix("resp_") not in listed
        assert [event.type for event in stream][-1] == "response.completed"


def test_of_a_request_that_could_not_begin_nothing_is_left(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StorageError("The disk is full.")

    stage.plays(simulated("So."), plans=(ONE,))
    before = stage.workbench.store.sessions.named("")
    monkeypatch.setattr(runs, "insert", full)
    with pytest.raises(openai.APIStatusError) as refused:
        client.responses.create(model="worker:alpha", input="Why?")
    assert (refused.value.status_code, refused.value.code) == (503, "store_unusable")
    # One that earlier tests did not have stored may just have been put away.
    assert set(stage.workbench.store.sessions.named("")) <= set(before)
