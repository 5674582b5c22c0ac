"""A team's tests in the store: by set, each question once, apart from sessions."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError, UnknownId, ViewOnly
from conductor.evaluation.team_tests import TeamTest
from storage import SessionStore


def entry(id: str, question: str = "What is 6 * 7?", data_set: str = "team", **fields: object) -> TeamTest:
    return TeamTest.model_validate(
        {
            "id": id,
            "question": question,
            "data_set": data_set,
            "accepted": "42",
            "scorer": "number",
            "created_at": 0,
        }
        | fields
    )


def test_tests_are_listed_by_set_in_the_order_in_which_they_were_kept(store: SessionStore) -> None:
    first = store.tests.add(entry("b", author="Ada", origin="s", origin_run="r"))
    second = store.tests.add(entry("a", "What is 6 + 7?"))
    other = store.tests.add(entry("c", data_set="other", origin="s"))
    assert first.created_at > 0
    assert store.tests.of_set("team") == (first, second)
    assert store.tests.sets() == {"other": 1, "team": 2}
    assert store.tests.of_question("What is 6 * 7? ") == (first, other)
    assert store.tests.find("a") == second
    store.tests.delete("b")
    assert store.tests.of_set("team") == (second,)
    with pytest.raises(UnknownId, match="evaluate tests"):
        store.tests.delete("b")


@pytest.mark.parametrize("question", ["What is 6 * 7?", "  What is 6 * 7?\n"])
def test_a_set_has_a_question_once(store: SessionStore, question: str) -> None:
    test = store.tests.add(entry("a"))
    with pytest.raises(StorageError, match="has this question already, as the test a with the answer '42'"):
        store.tests.add(entry("b", question))
    assert store.tests.of_set("team") == (test,)


def test_a_test_stays_when_its_session_is_removed(store: SessionStore, session: str) -> None:
    test = store.tests.add(entry("a", origin=session))
    store.sessions.delete(session)
    store.housekeeping.remove_session(session)
    with pytest.raises(UnknownId):
        store.sessions.find(session)
    assert store.tests.of_set("team") == (test,)


def test_who_may_only_look_keeps_no_test(store: SessionStore) -> None:
    test = store.tests.add(entry("a"))
    watched = store.view_only()
    with pytest.raises(ViewOnly):
        watched.tests.add(entry("b", "Another?"))
    with pytest.raises(ViewOnly):
        watched.tests.delete("a")
    assert watched.tests.of_set("team") == (test,)
