"""An evaluation on a cluster that loses one of two nodes in the middle, beside one here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.report.exports import row_values
from conductor.evaluation.spec import EvaluationSpec
from studio.cluster.brief import Brief
from studio.cluster.connection import connected
from studio.cluster.ray_crew import RayCrew
from studio.composition import open_workbench
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.results import table_of_evaluation
from tests.integration.ray.local_cluster import COMMAND, LocalCluster
from tests.support.endpoints.fake_openai import Served

ITEMS, KILLED_AT = 200, 60
PLANNERS = ("worker:mathematics", "worker:model")
SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS, parallel=4)
NOT_EQUAL = {"seconds", "seconds_known", "paid"}
"""Of a row: what depends on the machine, how many answers have a time, which those that a killed process had
under way lack, and what that may have paid for in vain.
"""


def _data() -> DataSet:
    items = [
        Item(
            id=f"q{n}",
            input=f"What is {n} * 7?",
            target=(str(n * 7 + (n % 3 == 0)),),
            scorer="number",
            metadata={"category": "even" if n % 2 == 0 else "odd"},
        )
        for n in range(ITEMS)
    ]
    return DataSet("products", tuple(items))


def _rows(table: EvaluationTable) -> list[dict[str, Any]]:
    return [{k: v for k, v in row_values(row).items() if k not in NOT_EQUAL} for row in table.rows]


def test_a_node_that_is_killed_in_the_middle_changes_nothing_in_the_table(
    cluster: LocalCluster, served: Served, pool: Path, database: str
) -> None:
    served.fake.tokens_per_second = None
    killed: list[int] = []
    with cluster.nodes(2) as nodes, closing(open_workbench(pool=pool, database=database)) as bench:

        def kill(progress: Progress) -> None:
            if progress.done >= KILLED_AT and not killed:
                killed.append(progress.done)
                cluster.kill(nodes[1])

        evaluations, store = Evaluations(bench), bench.store
        here = evaluations.add(_data(), PLANNERS, SPEC)
        assert evaluations.run(here.id).failure is None
        there = evaluations.add(_data(), PLANNERS, SPEC)
        with connected(cluster.address):
            crew = RayCrew(Brief.of(bench.pool, pool), database=database, by=bench.asker)
            progress = evaluations.run(there.id, listen=kill, crew=crew)
        assert killed
        assert killed[0] < progress.cells
        assert (progress.failure, progress.done) == (None, ITEMS * len(PLANNERS))
        cells = store.evaluations.cells(there.id)
        assert all(cell.result is not None for cell in cells)
        assert max(Counter((c.item, c.planner, c.repeat) for c in cells).values()) == 1
        own, others = (table_of_evaluation(store, record) for record in (here, there))
        assert _rows(own) == _rows(others)
        assert own.categories == others.categories


def test_the_command_answers_on_the_cluster_that_it_is_given(
    cluster: LocalCluster, database: str, tmp_path: Path
) -> None:
    command = ["evaluate", "run", "arithmetic", "--limit", "6", "-p", "worker:solver", "--json"]
    place = ["--pool", "orchard", "--database", database, "--ray", cluster.address]
    with cluster.nodes(1):
        done = subprocess.run(
            [sys.executable, "-m", "conductor", *command, *place],
            cwd=tmp_path,
            env=os.environ | COMMAND,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    shape = json.loads(done.stdout)
    assert shape["failure"] is None
    row = shape["planners"][0]
    assert (row["planner"], row["questions"]) == ("worker:solver", 6)
