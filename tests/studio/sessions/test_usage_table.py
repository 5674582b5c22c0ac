"""Usage as people read it: names for ids, the order of rows, and what is apart from the total."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from storage import SessionStore, UsageKey
from storage.limits import Limits
from studio.sessions.usage_table import UsageTable

pytestmark = pytest.mark.slow

DAY = 86_400.0


class Clock:
    """A time that a test sets."""

    now = 40 * DAY


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(url: str, clock: Clock) -> Iterator[SessionStore]:
    """A store with requests of two days, two workers, a person, a token and three sessions."""
    with SessionStore.open(url, clock=lambda: clock.now) as store:
        token = store.tokens.create("lab")[0].id
        session, deleted = store.sessions.create("Why?").id, store.sessions.create("How?").id
        store.ledger.add([charge("small", 5), charge("big", 100)], session=session, by=Asker(person="Ada"))
        clock.now += DAY
        store.ledger.add([charge("big", 20)], session="gone", by=Asker(token=token))
        store.ledger.add([charge("big", 900, kind="simulated")], session="gone")
        store.ledger.add([charge("small", None)], session=deleted, by=UNKNOWN_ASKER)
        store.sessions.delete(deleted)
        yield store


def charge(worker: str, tokens: int | None, *, kind: WorkerKind = "model") -> Charge:
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=None if tokens is None else 0.5)
    return Charge(worker=worker, kind=kind, purpose="step", usage=usage)


ROWS = {
    "worker": ["big: 120 tokens", "small: at least 5 tokens", "big simulated: 900 tokens"],
    "person": ["Ada: 105 tokens", "no name: at least 20 tokens", "no name simulated: 900 tokens"],
    "token": [
        "without a token: at least 105 tokens",
        "lab: 20 tokens",
        "without a token simulated: 900 tokens",
    ],
    "session": [
        "Why?: 105 tokens",
        "gone removed: 20 tokens",
        "How?: - tokens",
        "gone removed, simulated: 900 tokens",
    ],
    "day": ["-: at least 20 tokens", "-: 105 tokens", "- simulated: 900 tokens"],
}


@pytest.mark.parametrize("by", list(ROWS))
def test_rows_have_names_and_an_order_and_a_total_without_what_is_simulated(
    opened: SessionStore, by: UsageKey
) -> None:
    table = UsageTable.read(opened, by)
    rows = [
        f"{'-' if by == 'day' else row.name}{row.note and f' {row.note}'}: {row.total.token_words}"
        for row in (*table.rows, *table.apart)
    ]
    assert rows == ROWS[by]
    assert table.total.token_words == "at least 125 tokens"
    assert table.total.cost_words == "at least $1.50"


def test_a_person_has_their_limits_beside_the_name_else_those_of_everyone(opened: SessionStore) -> None:
    opened.people.set_limits("*", Limits(cost=5))
    assert [row.note for row in UsageTable.read(opened, "person").rows] == ["may use $5 in total", ""]
    opened.people.set_limits("Ada", Limits(tokens=200, period="day"))
    assert [row.note for row in UsageTable.read(opened, "person").rows] == ["may use 200 tokens a day", ""]


def test_a_session_can_be_opened_unless_it_is_removed(opened: SessionStore) -> None:
    table = UsageTable.read(opened, "session")
    assert {row.name for row in table.rows if row.is_session} == {"Why?", "How?"}


def test_rows_are_of_requests_since_a_moment(opened: SessionStore, clock: Clock) -> None:
    assert UsageTable.read(opened, "worker", since=clock.now).total.calls == 2
    assert UsageTable.read(opened, "worker", since=clock.now + DAY).rows == ()
