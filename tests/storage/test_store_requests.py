"""Sessions that requests to the API began: made whole or not at all, each with its token and its response."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from conductor.errors import StorageError
from conductor.runs.request import RunRequest
from conductor.values.conversation import NO_CONVERSATION, Conversation, Turn
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from storage import EVERYTHING, Session, SessionFilter, SessionStore
from storage.api_token import TokenLimits
from storage.database.schema import SESSIONS
from storage.records import RequestSession
from storage.tables.rows import new_id
from tests.support.stores.store_scenario import begin as begun
from tests.support.stores.store_scenario import chain, finished, keep, started

TALK = Conversation(turns=(Turn(role="user", text="Hello."), Turn(role="assistant", text="Hello!")))


def begin(
    store: SessionStore,
    *,
    conversation: Conversation = NO_CONVERSATION,
    workflow: Workflow | None = None,
    run: str | None = None,
    **stored_as: Any,
) -> Session:
    session = new_id()
    request = RunRequest(
        query="Why?", settings=Settings(rounds=2), conversation=conversation, workflow=workflow
    )
    stored = RequestSession(**stored_as)
    store.requests.begin(request, session=session, stored_as=stored, pool_label="simulated", run=run).result()
    return store.sessions.find(session)


def test_a_request_is_a_session_with_all_that_came_with_it(store: SessionStore) -> None:
    workflow = chain("draft", "polish")
    session = begin(store, conversation=TALK, tags=("b", "a", "b"), workflow=workflow)
    assert (session.query, session.origin, session.settings) == ("Why?", "api", Settings(rounds=2))
    assert session.earlier_conversation == TALK
    assert store.sessions.tags(session.id) == ("a", "b")
    head = store.revisions.head(session.id)
    assert head is not None
    assert (head.workflow, head.origin, head.note) == (workflow, "import", "Given with the request")
    assert [(one.id, one.state) for one in store.sessions.listed()] == [(session.id, "planned")]


def test_a_request_without_a_workflow_is_still_to_be_planned(store: SessionStore) -> None:
    session = begin(store)
    assert (session.head, session.conversation, store.sessions.tags(session.id)) == (None, None, ())
    assert store.sessions.listed()[0].state == "new"


def test_a_request_begins_with_the_run_of_its_workflow(store: SessionStore) -> None:
    session = begin(store, workflow=chain("do"), run="r")
    (run,) = store.runs.of_session(session.id)
    assert (run.id, run.revision, run.status, run.pool_label) == ("r", session.head, "running", "simulated")
    assert store.sessions.listed()[0].state == "running"
    keep(store, started("r", chain("do")))
    assert store.processes.mark_interrupted() == ()
    with pytest.raises(StorageError, match="running already"):
        store.runs.start(run="other", session=session.id, revision=run.revision)


def test_a_request_that_begins_keeps_what_could_not_be_kept_before(store: SessionStore) -> None:
    session = begin(store, workflow=chain("do"), run="r").id
    keep(store, started("r", chain("do")))
    store._transactions.writer.unwritten.remember([finished("r", seq=1)])
    begin(store)
    assert [run.status for run in store.runs.of_session(session)] == ["finished"]


def test_of_a_request_that_cannot_be_kept_nothing_is(store: SessionStore) -> None:
    with pytest.raises(StorageError, match="A tag needs at least one character"):
        begin(store, tags=("good", " "), workflow=chain("do"))
    assert store.sessions.named("") == ()
    assert store.sessions.facet_names("tag") == ()


def test_what_one_token_began_is_open_to_no_other(store: SessionStore) -> None:
    own, nobodys, persons = begin(store, token="a"), begin(store), store.sessions.create("Whose?")
    open_to = {
        token: [store.requests.is_open_to(one.id, token=token) for one in (own, nobodys, persons)]
        for token in ("a", "b")
    }
    assert open_to == {"a": [True, True, True], "b": [False, True, True]}


def test_a_token_for_some_workers_reads_only_what_it_began(store: SessionStore) -> None:
    token, _ = store.tokens.create("lab", TokenLimits(workers=("alpha",)))
    sessions = (
        begin(store, token=token.id),
        begin(store),
        store.sessions.create("Whose?"),
        begin(store, token="a"),
    )
    for whole, expected in ((True, [True, False, False, False]), (False, [True, True, True, False])):
        seen = [store.requests.is_open_to(one.id, token=token.id, whole=whole) for one in sessions]
        assert seen == expected


@pytest.mark.slow
def test_a_response_is_kept_until_its_session_is_gone(store: SessionStore) -> None:
    session, other = begin(store, token="a"), begin(store)
    assert store.requests.response(session.id) is None
    store.requests.keep_response(session.id, '{"text": "\\u0000"}')
    assert store.requests.response(session.id) == '{"text": "\\u0000"}'
    assert store.requests.response(other.id) is None
    store.sessions.delete(session.id)
    assert store.requests.response(session.id) is not None
    assert store.housekeeping.remove_session(session.id)
    store.requests.keep_response(session.id, "{}")
    assert store.requests.response(session.id) is None


@pytest.mark.slow
def test_a_response_counts_in_what_removing_its_session_frees(store: SessionStore) -> None:
    session = begin(store).id
    store.sessions.delete(session)
    before = store.housekeeping.room().freeable
    store.requests.keep_response(session, '"' + "x" * 5000 + '"')
    assert store.housekeeping.room().freeable >= before + 5000


@pytest.mark.slow
def test_a_request_that_is_not_to_be_kept_is_in_no_list_and_goes_in_time(store: SessionStore) -> None:
    session = begin(store, lifetime=900.0, tags=("a",), workflow=chain("do"))
    for filter in (EVERYTHING, SessionFilter(deleted=True), SessionFilter(deleted=True, search="Why")):
        assert (store.sessions.listed(filter), store.sessions.count(filter)) == ((), 0)
    assert store.sessions.named(session.id) == ()
    assert store.sessions.facet_names("tag") == ()
    assert store.housekeeping.room().deleted == 0
    assert store.housekeeping.remove_deleted(older_than=-1).sessions == {}, "no such list names it"
    assert store.sessions.find(session.id).deleted_at is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "stays"),
    [("its time is over", False), ("it waits", True), ("it runs", True), ("it is planned", True),
     ("it was extended", True), ("it is stored by now", True), ("it was written to a moment ago", True)],
)  # fmt: skip
def test_what_is_not_to_be_stored_is_removed_by_whichever_process_is_there(
    store: SessionStore, case: str, *, stays: bool
) -> None:
    session = begin(store, lifetime=1e6 if case == "it waits" else -100.0, workflow=chain("do"))
    old = SESSIONS.update().where(SESSIONS.c.id == session.id).values(updated_at=0.0)
    if case != "it was written to a moment ago":
        store._transactions.write(lambda connection: connection.execute(old))
    match case:
        case "it runs":
            begun(store, session.id, "r")
            store._transactions.write(lambda connection: connection.execute(old))
        case "it is planned":
            store.plans.begin("p", session.id, planner="rules", planner_kind="offline")
        case "it was extended":
            store.requests.extend(session.id, seconds=900.0)
        case "it is stored by now":
            again = RunRequest(query="Why?", workflow=chain("do"))
            revision = store.revisions.of_session(session.id)[0].id
            store.requests.continue_session(again, revision=revision, stored_as=RequestSession())
            store.requests.extend(session.id, seconds=-100.0)
            assert [one.id for one in store.sessions.listed()] == [session.id]
        case _:
            pass
    # Each look removes as much as one short transaction can.
    for _ in range(9):
        store.processes._tick()
    there = bool(store._transactions.read(lambda c: c.scalar(select(SESSIONS.c.id))))
    assert there is stays


@pytest.mark.slow
def test_an_earlier_response_is_kept_beside_the_newest(store: SessionStore) -> None:
    session = begin(store).id
    store.requests.set_response_aside(session, answer="none yet")
    store.requests.keep_response(session, "first")
    store.requests.set_response_aside(session, answer="1")
    assert store.requests.response(session) is None
    store.requests.keep_response(session, "second")
    responses = [store.requests.earlier_response(session, answer=each) for each in ("none yet", "1", "2")]
    assert (store.requests.response(session), responses) == ("second", [None, "first", None])
    store.requests.keep_earlier_response(session, answer="1", response="changed")
    store.requests.keep_earlier_response(session, answer="2", response="never was")
    responses = [store.requests.earlier_response(session, answer=each) for each in ("1", "2")]
    assert (store.requests.response(session), responses) == ("second", ["changed", None])


@pytest.mark.slow
def test_sessions_are_found_by_what_is_in_their_responses(store: SessionStore) -> None:
    tokens = [store.tokens.create(name)[0].id for name in ("ann", "bob")]
    one, two, three = (begin(store, token=token).id for token in (tokens[0], tokens[1], None))
    gone = begin(store).id
    for session in (one, two, three, gone):
        store.requests.keep_response(session, "wanted 100%")
    store.requests.set_response_aside(two, answer="")
    store.requests.keep_response(two, "newer")
    store.sessions.delete(gone)

    def matches(text: str = "wanted", **more: Any) -> set[str]:
        criteria: dict[str, Any] = {"token": None, "begin": None, "newest_first": False, "limit": 9, **more}
        return set(store.requests.answered(containing=text, **criteria))

    assert matches() == {one, two, three}
    assert (matches("100%"), matches("1%0"), matches("newer")) == ({one, two, three}, set(), {two})
    assert matches(token=tokens[0]) == {one, three}
    assert set(store.requests.responses_of(two)) == {"wanted 100%", "newer"}
    ordered = store.requests.answered(token=None, containing="wanted", begin=None, newest_first=True, limit=9)
    assert (
        store.requests.answered(token=None, containing="wanted", begin=ordered[1], newest_first=True, limit=9)
        == ordered[1:]
    )
