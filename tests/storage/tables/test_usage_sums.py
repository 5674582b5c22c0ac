"""Sums over the ledger by worker, person, token, session and day: one total, whatever they are by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from conductor.runs.ledger_entry import LedgerEntry
from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from conductor.values.total import NOTHING, BoundedSum, Total
from storage import SessionStore, UsageKey
from storage.database.schema import USAGE_SUMS
from storage.tables import ledger

KEYS: tuple[UsageKey, ...] = ("worker", "person", "token", "session", "day")
PAIRS: tuple[tuple[UsageKey, ...], ...] = (("day", "worker"), ("worker", "day"), ("session", "worker"))


@pytest.fixture(params=["UTC", "Asia/Kathmandu", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone of this machine; two of them differ from UTC by no whole hour."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


def charge(
    worker: str = "w", tokens: int | None = 10, cost: float | None = 0.5, *, kind: WorkerKind = "model"
) -> Charge:
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost)
    return Charge(worker=worker, kind=kind, purpose="step", usage=usage)


def add(
    store: SessionStore,
    *charges: Charge,
    at: float = 0.0,
    session: str | None = None,
    by: Asker = UNKNOWN_ASKER,
) -> None:
    store._transactions.write(ledger.add, at, charges, session=session, by=by)


def total(store: SessionStore, *by: UsageKey, since: float = 0.0) -> Total:
    real = (use.total for use in store.ledger.used(*by, since=since) if use.reality == "real")
    return sum(real, NOTHING)


def local(*date: int) -> float:
    return datetime(*date).timestamp()  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_store_without_requests_has_no_sums(store: SessionStore) -> None:
    assert [store.ledger.used(*by) for by in ((), *zip(KEYS, strict=True), *PAIRS)] == [()] * 9


@pytest.mark.slow
def test_the_total_is_the_same_by_every_key(store: SessionStore, session: str) -> None:
    add(store, charge("a"), charge("b", None, None), session=session, by=Asker(person="Ada"))
    add(store, charge("a", 7), session="removed", by=Asker(token="t"), at=90_000.0)
    add(store, charge("a", 1000, kind="simulated"), session=session, at=90_000.0)
    expected = Total(
        prompt=BoundedSum(least=17, most=None),
        completion=BoundedSum(most=None),
        dollars=BoundedSum(least=1.0, most=None),
        calls=3,
    )
    for by in (*zip(KEYS, strict=True), *PAIRS):
        assert total(store, *by) == expected, by
        assert total(store, *by, since=90_500.0).tokens == 7, "its quarter of an hour is counted whole"
        assert total(store, *by, since=91_000.0).calls == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("worker", {("a", "real"), ("a", "simulated")}),
        ("person", {("Ada", "real"), (None, "real"), (None, "simulated")}),
        ("token", {("t", "real"), (None, "real"), (None, "simulated")}),
        ("session", {("removed", "real"), (None, "real"), ("removed", "simulated")}),
        ("day", {("1970-01-11", "real"), ("1970-01-12", "real"), ("1970-01-12", "simulated")}),
    ],
)
def test_simulated_requests_are_apart_and_what_is_unknown_is_no_one(
    store: SessionStore, by: UsageKey, names: set[tuple[str | None, str]]
) -> None:
    add(store, charge("a"), by=Asker(person="Ada"), at=local(1970, 1, 11, 12))
    add(store, charge("a"), session="removed", by=Asker(token="t"), at=local(1970, 1, 12, 12))
    add(store, charge("a", kind="simulated"), session="removed", at=local(1970, 1, 12, 12))
    assert {(use.names[0], use.reality) for use in store.ledger.used(by)} == names


@pytest.mark.slow
def test_a_day_is_one_of_this_machine(store: SessionStore, zone: None) -> None:
    for at in (local(2026, 11, 1), local(2026, 11, 1, 23, 59), local(2026, 11, 2)):
        add(store, charge(), at=at)
    days = {use.names: use.total.calls for use in store.ledger.used("day")}
    assert days == {("2026-11-01",): 2, ("2026-11-02",): 1}
    since = store.ledger.used("day", "worker", since=local(2026, 11, 2))
    assert [use.names for use in since] == [("2026-11-02", "w")]


@pytest.mark.slow
def test_copies_are_in_no_sum(store: SessionStore, session: str) -> None:
    add(store, charge(), session=session)
    job = [LedgerEntry(charge(tokens=500), 0.0)]
    store._transactions.write(ledger.add_copies, job, session=session)
    assert {by: total(store, by).tokens for by in KEYS} == dict.fromkeys(KEYS, 10)


@pytest.mark.slow
def test_what_a_token_spent_before_there_was_a_ledger_is_its_own_alone(store: SessionStore) -> None:
    numbers = ("calls", "prompt", "tokens_unknown", "completion", "costs_unknown", "charged_tokens")
    earlier = dict.fromkeys((*numbers, "cost", "least_cost", "charged_cost"), 0) | {"calls": 3, "prompt": 90}
    names = {"worker": "", "kind": "", "token": "t", "person": ""}
    store._transactions.write(
        lambda connection: connection.execute(USAGE_SUMS.insert(), [{"quarter": 1, **names, **earlier}])
    )
    add(store, charge(), by=Asker(token="t"))
    realities = {by: {use.reality for use in store.ledger.used(by)} for by in KEYS}
    assert realities == {by: {"real"} for by in KEYS} | {"token": {"real", "earlier"}}
    assert {by: total(store, by).tokens for by in KEYS} == dict.fromkeys(KEYS, 10)


@pytest.mark.slow
def test_many_days_are_more_than_a_query_has_parameters(store: SessionStore) -> None:
    numbers = ("calls", "prompt", "tokens_unknown", "completion", "costs_unknown", "charged_tokens")
    one = dict.fromkeys((*numbers, "cost", "least_cost", "charged_cost"), 1)
    names = {"worker": "w", "kind": "model", "token": "", "person": ""}
    days = 12_000
    rows = [{"quarter": day * 96, **names, **one} for day in range(days)]
    store._transactions.write(lambda connection: connection.execute(USAGE_SUMS.insert(), rows))
    assert total(store, "day", "worker").calls == days


@pytest.mark.slow
def test_titles_are_those_of_sessions_that_are_there(store: SessionStore, session: str) -> None:
    other = store.sessions.create("another").id
    for each in (session, other, "removed"):
        add(store, charge(), session=each)
    store.sessions.delete(other)
    assert store.ledger.titles(since=0.0) == {session: "q", other: "another"}
    assert store.ledger.titles(since=10_000.0) == {}
