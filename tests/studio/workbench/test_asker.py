"""Who asks is stored with each request that is begun on a workbench, whatever begins it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident

import pytest

from conductor.runs.request import Asker
from studio.workbench import Workbench
from tests.studio.workbench.beginnings import DOORS, FIRST, OTHER, evaluation, with_a_run, workbench

pytestmark = pytest.mark.slow


@pytest.fixture
def people() -> dict[int, str]:
    """Who uses the workbench, by thread."""
    return {}


@pytest.fixture
def bench(url: str, people: dict[int, str]) -> Iterator[Workbench]:
    with workbench(url, person=lambda: people.get(get_ident())) as bench:
        yield bench


@pytest.mark.parametrize("begin", DOORS)
def test_a_request_is_for_the_person_in_whose_thread_it_is_begun(
    bench: Workbench, people: dict[int, str], begin: Callable[[Workbench, str], None]
) -> None:
    session = with_a_run(bench)
    before = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert before == {(None,): 1}
    people[get_ident()] = "Ada"
    begin(bench, session)
    bench.activities.wait(session)
    after = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert after.pop(("Ada",), 0) > 0
    assert after == before


def test_what_a_person_makes_has_their_name(bench: Workbench, people: dict[int, str]) -> None:
    session = bench.ask("Which?").id
    first = bench.editing.edit(session, FIRST, note="Written")
    assert first.author is None
    people[get_ident()] = "Ada"
    edited = bench.editing.edit(session, OTHER, note="Edited", head=first)
    branch = bench.editing.keep_branch(session, OTHER.with_gate(0, True), note="Mine", edited=first)
    change = bench.changing.ask(session, "use another worker")
    names = [each.author for each in (edited, branch, change.record)]
    assert names == ["Ada", "Ada", "Ada"]


def test_an_evaluation_is_for_the_token_that_asks_for_it(bench: Workbench, people: dict[int, str]) -> None:
    people[get_ident()] = "Ada"
    evaluation(bench, Asker(token="t"))
    assert {use.names for use in bench.store.ledger.used("token", "person")} == {("t", None)}
