"""A process that answers an evaluation's items, without the cluster: for whom it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.runs.request import Asker
from conductor.values.messages import Usage
from storage.limits import Limits
from studio.cluster.brief import Brief
from studio.cluster.ray_crew import Answerer
from studio.composition import open_workbench
from studio.evaluation.evaluations import Evaluations
from studio.sessions.notes import AUTHOR
from tests.support.runs.charges import took

POOL = """
[[worker]]
name = "alpha"
kind = "simulated"
tokens = 4
"""


@pytest.mark.slow
@pytest.mark.parametrize("spent", [0, 100])
def test_items_are_answered_for_who_began_the_evaluation_and_within_their_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spent: int
) -> None:
    file, url, ada = tmp_path / "pool.toml", f"sqlite:///{tmp_path}/conductor.db", Asker(person="Ada")
    file.write_text(POOL, encoding="utf-8")
    bench = open_workbench(pool=file, database=url)
    items = (Item(id="1", input="1?", target=("1",)),)
    spec = EvaluationSpec(data="", digest="", planners=("worker:alpha",))
    evaluation = Evaluations(bench).add(DataSet("ones", items), ["worker:alpha"], spec).id
    bench.store.people.set_limits("Ada", Limits(tokens=1_000))
    bench.store.ledger.add(took(Usage(prompt_tokens=10 * spent, completion_tokens=0)), by=ada)
    monkeypatch.setenv(AUTHOR, "the machine's own")
    answerer = Answerer(Brief.of(bench.pool, file), evaluation, url, ada)
    assert answerer.begin() is None
    part = answerer.answer([(0, 0)], again=False)
    runs = [
        run
        for cell in bench.store.evaluations.cells(evaluation)
        for run in bench.store.runs.of_session(cell.answered_in)
    ]
    bench.close()
    assert (part.failure is None) == (spent == 0)
    assert {run.person for run in runs} <= {"Ada"}
    assert len(runs) == 1 or spent
