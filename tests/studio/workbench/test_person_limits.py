"""Limits of a person: what they do not allow is not begun, whatever begins it; what uses them up stops."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.errors import LimitReached
from conductor.runs.request import Asker
from conductor.runs.scope import RunScope
from conductor.values.messages import Usage
from storage import EVERYTHING
from storage.limits import Limits
from storage.tables.people.people_limits import EVERYONE
from studio.evaluation.fitting import fit_on
from studio.sessions.notes import AUTHOR
from studio.sessions.person_limits import PersonLimits
from studio.workbench import Workbench
from tests.studio.workbench.beginnings import DOORS, evaluate, evaluation, with_a_run, workbench
from tests.support.runs.broken_off import broken_off, opened
from tests.support.runs.charges import took

pytestmark = pytest.mark.slow

Begin = Callable[[Workbench, str], None]


@pytest.fixture
def bench(tmp_path: Path, empty_store: Path) -> Iterator[Workbench]:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with workbench(f"sqlite:///{tmp_path}/conductor.db") as bench:
        yield bench


@pytest.fixture
def session(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session that was run by someone unknown; from now on Ada asks."""
    session = with_a_run(bench)
    monkeypatch.setenv(AUTHOR, "Ada")
    return session


def _contents(bench: Workbench, session: str) -> tuple[object, ...]:
    """What there is of all that a door may begin."""
    store = bench.store
    parts = (store.runs, store.plans, store.changes, store.experiments)
    own = tuple(part.of_session(session) for part in parts)  # type: ignore[attr-defined]
    return (*own, store.sessions.count(EVERYTHING), store.evaluations.listed(), store.ledger.used("person"))


@pytest.mark.parametrize(
    "refusal",
    [
        ("Ada", Limits(tokens=100), r"budget of Ada is used up: 120 of 100 tokens in total\. "),
        (EVERYONE, Limits(cost=0.5, period="day"), r"\$0\.6000 of \$0\.5 of today, renewed on 20\d\d-"),
        ("Ada", Limits(requests_per_minute=1), r"Ada may have 1 requests per minute; try again in \d+ s"),
        (EVERYONE, Limits(tokens_per_minute=60), r"Ada may have 60 tokens per minute; try again in \d+ s"),
    ],
)
@pytest.mark.parametrize("begin", DOORS)
def test_what_limits_of_a_person_do_not_allow_is_not_contents(
    session: str, bench: Workbench, begin: Begin, refusal: tuple[str, Limits, str]
) -> None:
    person, limits, reason = refusal
    ada, people = Asker(person="Ada"), bench.store.people
    people.set_limits(person, limits)
    bench.store.ledger.add(took(Usage(prompt_tokens=90, completion_tokens=30, cost=0.6)), by=ada)
    people.take(ada, limits)
    people.spend(ada, limits, 120)
    people.take(ada, limits)
    if begin is evaluate and limits.has_rate:
        begin(bench, session)
        return
    before = _contents(bench, session)
    with pytest.raises(LimitReached, match=reason):
        begin(bench, session)
    with pytest.raises(LimitReached, match=reason):
        bench.ask("Another one?")
    assert _contents(bench, session) == before


@pytest.mark.parametrize("begin", DOORS)
def test_what_begins_takes_one_request_of_a_persons_minute(
    session: str, bench: Workbench, begin: Begin
) -> None:
    ada, limits = Asker(person="Ada"), Limits(requests_per_minute=5, tokens_per_minute=100)
    bench.store.people.set_limits("Ada", limits)
    begin(bench, session)
    bench.activities.wait(session)
    bench.store.people.set_limits("Ada", None)  # a write, behind those that are not waited for
    levels = bench.store.people.look(ada, limits)
    if begin is evaluate:
        assert levels == (True, None, None)
    else:
        assert levels.requests == pytest.approx(4, abs=0.5)
        assert levels.tokens is not None
        assert levels.tokens < 100


def test_a_run_that_uses_up_the_budget_of_a_person_is_stopped(session: str, bench: Workbench) -> None:
    bench.store.people.set_limits("Ada", Limits(tokens=1_000, period="month"))
    bench.store.ledger.add(took(Usage(prompt_tokens=900, completion_tokens=60)), by=Asker(person="Ada"))
    bench.running.start(session, RunScope(kind="force"))
    bench.activities.wait(session)
    run = bench.store.runs.of_session(session)[0]
    crossing = bench.state(run).crossing
    assert run.status == "over_budget"
    assert crossing is not None
    assert crossing.words.startswith("960 of 1,000 tokens used, and the next call takes at least about ")
    assert "(the person's limit of this month, renewed on 20" in crossing.words


def test_a_baseline_is_not_fitted_where_the_budget_of_a_person_is_used_up(
    session: str, bench: Workbench
) -> None:
    evaluation(bench)
    (record,) = bench.store.evaluations.listed()
    bench.store.people.set_limits("Ada", Limits(tokens=100))
    bench.store.ledger.add(took(Usage(prompt_tokens=90, completion_tokens=30)), by=Asker(person="Ada"))
    with pytest.raises(LimitReached, match="budget of Ada is used up"):
        fit_on(bench, record, "baseline:routerdc")


def test_what_goes_on_by_itself_keeps_to_the_budget_and_takes_no_request_of_the_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, ada = f"sqlite:///{tmp_path}/conductor.db", Asker(person="Ada")
    session = broken_off(url, monkeypatch, by=ada)
    with opened(url) as bench:
        (run,) = bench.store.runs.of_session(session)
        work = bench.resuming.work(run)
        assert work is not None
        bench.store.ledger.add(took(Usage(prompt_tokens=90, completion_tokens=30)), by=ada)
        bench.store.people.set_limits("Ada", Limits(tokens=100))
        with pytest.raises(LimitReached, match="budget of Ada is used up"):
            bench.runner.begin_run(session, **work._asdict())
        assert bench.store.runs.of_session(session) == (run,)
        limits = Limits(requests_per_minute=1)
        bench.store.people.set_limits("Ada", limits)
        bench.store.people.take(ada, limits)
        bench.runner.begin_run(session, **work._asdict())
        bench.activities.wait(session)
        newest = bench.store.runs.of_session(session)[0]
        assert (newest.status, newest.person) == ("finished", "Ada")


@pytest.mark.parametrize("person", ["ada@example.org", "Ada@Example.org"])
def test_an_address_has_its_limits_however_it_is_written(bench: Workbench, person: str) -> None:
    bench.store.people.set_limits(" Ada@Example.ORG ", Limits(tokens=100))
    limits = PersonLimits.of(bench.store, Asker(person=person))
    assert limits is not None
    assert limits.limits == Limits(tokens=100)
