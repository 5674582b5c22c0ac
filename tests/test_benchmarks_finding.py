"""The benchmark of finding asks what it names; how fast anything is, is no test's business."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.finding import CHOICES, QUESTIONS, fill, lines, measure
from storage import SessionFilter, SessionStore

pytestmark = pytest.mark.slow  # it measures a program that measures, at length


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a few of the benchmark's sessions."""
    file = tmp_path_factory.mktemp("finding") / "conductor.db"
    fill(f"sqlite:///{file}", count=60)
    return file


def test_the_sessions_are_found_as_the_apps_own_are(file: Path) -> None:
    with SessionStore.open(f"sqlite:///{file}") as store:
        assert store.sessions.count() == 60
        assert store.sessions.count(QUESTIONS["a word that all have"]) == 60
        assert store.sessions.count(QUESTIONS["a word that 1 in 1,000 has"]) == 1
        assert store.sessions.count(QUESTIONS["a word that none has"]) == 0
        assert 0 < store.sessions.count(QUESTIONS["topology"]) < 60
        assert store.sessions.count(SessionFilter(tags=("tag 5",))) == 2
        assert all(summary.tokens is not None for summary in store.sessions.listed())


@pytest.mark.thorough
def test_every_question_is_measured_and_has_a_line(file: Path) -> None:
    costs = measure(f"sqlite:///{file}", rounds=2)
    assert set(costs) == {*QUESTIONS, CHOICES}
    assert all(cost.window.minimum > 0 for cost in costs.values())
    assert (costs["everything"].count, costs["everything"].has_more) == (60, False)
    table = list(lines((60, 60), (costs, costs)))
    assert [line.split(" | ")[0] for line in table[4:]] == [f"| {name}" for name in costs]
