"""Who asks is stored with each request that is begun on a workbench, whatever begins it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conductor.runs.request import Asker
from studio.sessions.notes import AUTHOR
from studio.workbench import Workbench
from tests.studio.workbench.beginnings import DOORS, evaluation, with_a_run, workbench

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    with workbench(url) as bench:
        yield bench


@pytest.mark.parametrize("begin", DOORS)
def test_a_request_is_for_the_person_who_is_named(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Workbench, str], None]
) -> None:
    session = with_a_run(bench)
    before = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert before == {(None,): 1}
    monkeypatch.setenv(AUTHOR, "Ada")
    begin(bench, session)
    bench.activities.wait(session)
    after = {use.names: use.total.calls for use in bench.store.ledger.used("person")}
    assert after.pop(("Ada",), 0) > 0
    assert after == before


def test_an_evaluation_is_for_the_token_that_asks_for_it(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AUTHOR, "Ada")
    evaluation(bench, Asker(token="t"))
    assert {use.names for use in bench.store.ledger.used("token", "person")} == {("t", None)}
