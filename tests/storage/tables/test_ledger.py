"""The ledger's sums: what sessions, runs and days have used, and a lower bound where a part is unknown."""

from __future__ import annotations

from typing import get_args

import pytest

from conductor.runs.events import RunOutcome, StepCancelled, StepFinished
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import (
    EMBEDDED_LABEL,
    OFFLINE_LABEL,
    SIMULATED_LABEL,
    SMALL_CONDUCTOR,
    WorkerKind,
)
from conductor.values.total import Total
from storage import Reality, SessionFilter, SessionStore
from tests.support.stores.store_scenario import (
    VALID,
    begin,
    chain,
    charged,
    finished,
    keep,
    output,
    step_finished,
)


def planned(
    store: SessionStore,
    session: str,
    tokens: int | None,
    *,
    kind: WorkerKind = "model",
    cost: float | None = None,
) -> None:
    store.plans.add(
        session,
        planner="conductor",
        planner_kind=kind,
        report=VALID,
        usage=Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost),
    )


def answered(
    run: str, tokens: int | None, *, seq: int = 0, cost: float | None = None, kind: WorkerKind = "model"
) -> StepFinished:
    event = step_finished(run, "done", seq=seq)
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost)
    value = output("done", run=run).model_copy(update={"usage": usage, "worker_kind": kind})
    return charged(event.model_copy(update={"output": value}))


def figures(total: Total) -> tuple[int | None, bool, float | None, bool]:
    """The tokens and dollars, each with whether it is a lower bound."""
    return total.tokens, total.tokens_at_least, total.cost, total.cost_at_least


UNCHARGED = {"charge": None}
LOST = Charge(worker="w", kind="model", purpose="step", stopped=True)


def ended(
    store: SessionStore, session: str, run: str, *events: StepFinished, outcome: RunOutcome = "finished"
) -> None:
    begin(store, session, run)
    stopped = (
        [StepCancelled(run=run, seq=len(events), at=4.0, step=0, charge=LOST, seconds=1.0)]
        if outcome == "cancelled"
        else []
    )
    end = finished(run, seq=len(events) + len(stopped), outcome=outcome)
    if outcome == "interrupted":
        end = end.model_copy(update={"charges": {0: LOST}})
    keep(store, *events, *stopped, end)


def listed(store: SessionStore) -> tuple[int | None, bool]:
    (summary,) = store.sessions.listed()
    return summary.tokens, summary.tokens_at_least


@pytest.fixture
def session(store: SessionStore) -> str:
    return store.sessions.create("q").id


@pytest.mark.slow
def test_planning_counts(store: SessionStore, session: str) -> None:
    planned(store, session, 900, cost=0.5)
    planned(store, session, 100, cost=0.25)
    ended(store, session, "r", answered("r", 40, cost=0.125))
    assert listed(store) == (1040, False)
    assert figures(store.sessions.total(session)) == (1040, False, 0.875, False)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\0", "a\0\0b", "\\u0000", "\\\\u0000\0", "\\\0"])
def test_an_output_with_the_character_that_postgresql_does_not_read_counts(
    store: SessionStore, session: str, text: str
) -> None:
    event = answered("r", 40, cost=0.125)
    ended(
        store,
        session,
        "r",
        event.model_copy(update={"output": event.output.model_copy(update={"text": text})}),
    )
    assert listed(store) == (40, False)
    assert figures(store.sessions.total(session)) == (40, False, 0.125, False)
    assert figures(store.sessions.used_since(0.0)) == (40, False, 0.125, False)


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["cancelled", "interrupted"])
def test_a_run_that_was_stopped_leaves_a_lower_bound(
    store: SessionStore, session: str, outcome: RunOutcome
) -> None:
    planned(store, session, 900, cost=0.5)
    ended(store, session, "r", answered("r", 40, cost=0.125), outcome=outcome)
    ended(store, session, "s", answered("s", 2, cost=0.25))
    assert listed(store) == (942, True)
    assert figures(store.sessions.total(session)) == (942, True, 0.875, True)
    assert {run: figures(total) for run, total in store.runs.totals(session).items()} == {
        "r": (40, True, 0.125, True),
        "s": (2, False, 0.25, False),
    }


@pytest.mark.slow
def test_a_call_that_did_not_report_its_tokens_leaves_a_lower_bound(
    store: SessionStore, session: str
) -> None:
    ended(store, session, "r", answered("r", 40), answered("r", None, seq=1))
    planned(store, session, None)
    assert listed(store) == (40, True)


@pytest.mark.slow
def test_a_run_under_way_is_a_lower_bound(store: SessionStore, session: str) -> None:
    begin(store, session, "r")
    assert listed(store) == (None, False)
    keep(store, answered("r", 40))
    assert listed(store) == (40, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "realities"),
    [
        (None, ["real"]),
        ("simulated workers; only the Conductor is a model", ["real"]),
        ("my workers, tiny, on this machine, often wrong", ["real"]),
        (f"simulated workers; {SMALL_CONDUCTOR}", ["embedded"]),
        (EMBEDDED_LABEL, ["embedded"]),
        (SIMULATED_LABEL, ["simulated"]),
        (OFFLINE_LABEL, []),
    ],
)
def test_a_run_under_way_makes_only_the_sum_of_its_pool_a_lower_bound(
    store: SessionStore, session: str, label: str | None, realities: list[Reality]
) -> None:
    head = store.revisions.add(session, chain("do"), origin="human")
    store.runs.start(run="r", session=session, revision=head.id, pool_label=label)
    bounds = [each for each in get_args(Reality) if store.sessions.used_since(0.0, each) != Total()]
    assert bounds == realities


@pytest.mark.slow
def test_what_nothing_is_known_of_is_unknown_and_not_nothing(store: SessionStore, session: str) -> None:
    nothing = (None, False, None, False)
    assert (listed(store), figures(store.sessions.total(session))) == (nothing[:2], nothing)
    planned(store, session, None)
    ended(store, session, "r", answered("r", None))
    assert (listed(store), figures(store.sessions.total(session))) == (nothing[:2], nothing)


@pytest.mark.slow
def test_a_run_that_needed_no_request_took_nothing(store: SessionStore, session: str) -> None:
    ended(store, session, "r")
    assert listed(store) == (0, False)
    assert figures(store.sessions.total(session)) == (0, False, 0.0, False)


@pytest.mark.slow
def test_built_in_experts_are_no_calls(store: SessionStore, session: str) -> None:
    planned(store, session, None, kind="offline")
    head = store.revisions.add(session, chain("do"), origin="human")
    store.runs.start(run="o", session=session, revision=head.id, pool_label=OFFLINE_LABEL)
    keep(store, answered("o", None, kind="offline").model_copy(update=UNCHARGED), finished("o", seq=1))
    assert listed(store) == (None, False)
    ended(
        store,
        session,
        "r",
        answered("r", 40),
        answered("r", None, seq=1, kind="offline").model_copy(update=UNCHARGED),
    )
    assert listed(store) == (40, False)


@pytest.mark.slow
def test_simulated_workers_and_planners_use_nothing_today(store: SessionStore, session: str) -> None:
    planned(store, session, 900, kind="simulated")
    ended(store, session, "r", answered("r", 40, cost=0.5), answered("r", 7, seq=1, kind="simulated"))
    assert listed(store) == (947, False)
    assert figures(store.sessions.used_since(0.0)) == (40, False, 0.5, False)


@pytest.mark.slow
def test_sessions_are_found_by_what_is_figures(store: SessionStore, session: str) -> None:
    planned(store, session, 900)
    other = store.sessions.create("q", title="stopped").id
    planned(store, other, 500)
    ended(store, other, "r", outcome="interrupted")

    def ids(**limits: int) -> set[str]:
        return {summary.id for summary in store.sessions.listed(SessionFilter.model_validate(limits))}

    assert ids(least_tokens=500) == {session, other}
    assert ids(least_tokens=501) == {session}
    assert ids(most_tokens=1000) == {session}
    assert ids(most_tokens=899) == set()


@pytest.mark.slow
def test_what_was_used_since_a_moment_counts_planning_runs_and_deleted_sessions(url: str) -> None:
    now = [900.0]
    with SessionStore.open(url, clock=lambda: now[0]) as store:
        assert store.sessions.used_since(0.0) == Total()
        session = store.sessions.create("q").id
        planned(store, session, 1000, cost=0.5)
        planned(store, session, 7, kind="offline")
        now[0] = 1800.0
        planned(store, session, 30, cost=0.25)
        ended(store, session, "r", answered("r", 40, cost=0.125), answered("r", None, seq=1))
        store.sessions.delete(session)
        assert figures(store.sessions.used_since(1800.0)) == (30, False, 0.25, False)
        assert figures(store.sessions.used_since(0.0)) == (1070, True, 0.875, True)
        assert store.housekeeping.remove_session(session)
        assert figures(store.sessions.used_since(0.0)) == (1070, True, 0.875, True)
        assert store.sessions.used_since(2700.0) == Total()
