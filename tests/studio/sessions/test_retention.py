"""How long deleted sessions are kept: the setting, and that it is applied once a day."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import StorageError
from conductor.runs.events import RunFinished
from conductor.runs.state import RunOutcome
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.store import housekeeping
from studio.sessions import retention
from studio.sessions.retention import (
    AGE,
    AHEAD,
    DAY,
    EXEMPT,
    UNSTORED,
    VARIABLE,
    Applied,
    age_days,
    apply,
    apply_daily,
    forecast,
    restore,
    retention_days,
    unstored_seconds,
)


class Calendar:
    """A clock that stands until it is moved."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def calendar() -> Calendar:
    """The store's clock."""
    return Calendar()


@pytest.fixture
def dated(url: str, calendar: Calendar) -> Iterator[SessionStore]:
    """A store that goes by the calendar."""
    with SessionStore.open(url, clock=calendar) as store:
        yield store


def deleted(store: SessionStore) -> str:
    session = store.sessions.create("why?").id
    store.sessions.delete(session)
    return session


def there(store: SessionStore, session: str) -> bool:
    return session in store.sessions.named(session)


@pytest.mark.parametrize(
    ("setting", "days"), [(None, 30), ("", 30), (" 7 ", 7), ("0", None), ("000", None), ("999999", 999_999)]
)
def test_the_variable_states_how_many_days(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, days: int | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    assert retention_days() == days


@pytest.mark.parametrize("setting", ["-1", "a week", "1.5", "٣", "1" * 400])
def test_what_is_no_number_of_days_is_refused(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(StorageError, match=r"which is not a number of days; .* Nothing was removed") as error:
        retention_days()
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(("setting", "seconds"), [("", 900.0), ("0", 0.0), ("90", 5400.0)])
def test_what_is_not_to_be_stored_waits_for_some_minutes(
    monkeypatch: pytest.MonkeyPatch, setting: str, seconds: float
) -> None:
    monkeypatch.setenv(UNSTORED, setting)
    assert unstored_seconds() == seconds
    monkeypatch.setenv(UNSTORED, "soon")
    with pytest.raises(StorageError, match="'soon', which is not a number of minutes"):
        unstored_seconds()


@pytest.mark.slow
def test_it_is_applied_once_a_day(dated: SessionStore, calendar: Calendar) -> None:
    first = deleted(dated)
    calendar.now += 30 * DAY
    apply_daily(dated)
    assert there(dated, first), "deleted just 30 days ago"
    calendar.now += DAY - 1
    apply_daily(dated)
    assert there(dated, first), "the day is not over"
    calendar.now += 1
    apply_daily(dated)
    assert not there(dated, first)


@pytest.mark.slow
def test_a_clock_that_was_set_back_does_not_keep_it_from_being_applied(
    dated: SessionStore, calendar: Calendar
) -> None:
    session = deleted(dated)
    calendar.now += 900 * DAY
    assert dated.housekeeping.is_due("retention_applied", every=DAY)
    calendar.now -= 800 * DAY
    apply_daily(dated)
    assert not there(dated, session)


@pytest.mark.slow
def test_with_no_retention_nothing_goes(
    dated: SessionStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    session = deleted(dated)
    calendar.now += 900 * DAY
    apply_daily(dated)
    assert there(dated, session)


@pytest.mark.slow
def test_what_keeps_it_from_being_applied_is_logged(
    dated: SessionStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "soon")
    with caplog.at_level(logging.WARNING):
        apply_daily(dated)
    assert f"{VARIABLE} is 'soon'" in caplog.text


@pytest.mark.slow
def test_two_stores_on_one_database_share_the_day(
    dated: SessionStore, url: str, calendar: Calendar, file: Path
) -> None:
    assert file.exists()
    assert dated.housekeeping.is_due("task", every=DAY)
    with SessionStore.open(url, clock=calendar) as other:
        assert not other.housekeeping.is_due("task", every=DAY)
        assert other.housekeeping.is_due("another", every=DAY)


# -- by age ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("setting", "days"), [("", None), ("0", None), ("90", 90)])
def test_no_session_is_deleted_for_its_age_unless_the_variable_names_days(
    monkeypatch: pytest.MonkeyPatch, setting: str, days: int | None
) -> None:
    monkeypatch.setenv(AGE, setting)
    assert age_days() == days
    monkeypatch.setenv(AGE, "90 days")
    with pytest.raises(
        StorageError, match=r"'90 days', which is not a number of days; .* Nothing was deleted"
    ):
        age_days()


def planned(store: SessionStore, **more: Any) -> tuple[str, str]:
    """A session with a workflow, and its revision."""
    session = store.sessions.create("why?", **more).id
    workflow = Workflow.of([Step(instruction="Look.", worker="alpha")])
    return session, store.revisions.add(session, workflow, origin="human", note="By hand").id


def run_to(store: SessionStore, status: RunOutcome) -> str:
    """A session whose run ended so."""
    session, revision = planned(store)
    run = f"run {session}"
    store.runs.start(run=run, session=session, revision=revision)
    end = RunFinished(run=run, seq=1, at=1.0, outcome=status, answer=None, answer_step=None)
    store.runs.append(end).result()
    return session


def tagged(store: SessionStore, tag: str) -> str:
    session = store.sessions.create("why?").id
    store.sessions.add_tag(session, tag)
    return session


def running(store: SessionStore) -> str:
    session, revision = planned(store)
    store.runs.start(run="going", session=session, revision=revision)
    return session


def under_planning(store: SessionStore) -> str:
    session = store.sessions.create("why?").id
    store.plans.begin("planning", session, planner="conductor", planner_kind="model", round=1, attempt=1)
    return session


SESSIONS: dict[str, tuple[Callable[[SessionStore], str], bool]] = {
    "never run": (lambda store: store.sessions.create("why?").id, True),
    "with a workflow": (lambda store: planned(store)[0], True),
    "finished": (lambda store: run_to(store, "finished"), True),
    "stopped": (lambda store: run_to(store, "cancelled"), True),
    "tagged otherwise": (lambda store: tagged(store, "keeper"), True),
    "waits for a person": (lambda store: run_to(store, "paused"), False),
    "runs": (running, False),
    "is planned": (under_planning, False),
    "tagged": (lambda store: tagged(store, EXEMPT), False),
    "of an evaluation": (lambda store: store.sessions.create("why?", origin="evaluation").id, False),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "goes"), SESSIONS.values(), ids=SESSIONS)
def test_a_session_is_deleted_so_many_days_after_its_last_change(
    dated: SessionStore,
    calendar: Calendar,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[SessionStore], str],
    *,
    goes: bool,
) -> None:
    session = make(dated)
    monkeypatch.setenv(AGE, "90")
    calendar.now += 90 * DAY
    assert apply(dated) == Applied(deleted=0, removed=0), "changed just 90 days ago"
    calendar.now += 1
    assert forecast(dated, 90)[0] == goes
    assert apply(dated) == Applied(deleted=int(goes), removed=0)
    assert (dated.sessions.find(session).deleted_at == calendar.now) == goes
    calendar.now += 31 * DAY
    assert apply(dated) == Applied(deleted=0, removed=int(goes))


@pytest.mark.slow
def test_all_that_is_due_goes_in_batches_and_the_newest_stay(
    dated: SessionStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_BATCH", 3)
    monkeypatch.setenv(AGE, "10")
    sessions = []
    for number in range(12):
        sessions.append(dated.sessions.create(f"question {number}").id)
        calendar.now += DAY
    calendar.now += 5 * DAY
    assert forecast(dated, 10) == dict(zip(AHEAD, (7, 12, 12), strict=True))
    apply_daily(dated)
    assert set(dated.sessions.ids()) == set(sessions[7:])


@pytest.mark.slow
def test_what_a_person_restores_is_not_deleted_again(
    dated: SessionStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention.time, "time", calendar)
    monkeypatch.setenv(AGE, "10")
    old = dated.sessions.create("old").id
    calendar.now += 11 * DAY
    recent = dated.sessions.create("recent").id
    apply(dated)
    dated.sessions.delete(recent)
    restore(dated, old, recent)
    assert (dated.sessions.tags(old), dated.sessions.tags(recent)) == ((EXEMPT,), ())
    assert apply(dated).deleted == 0
