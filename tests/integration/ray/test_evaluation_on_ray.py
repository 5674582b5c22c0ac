"""An evaluation on a cluster of two nodes, one of which is killed in the middle, beside one here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI, Served, serving
from ray.cluster_utils import Cluster

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.table import Table, row_values
from studio.cluster.connection import connected
from studio.cluster.crew import RayCrew
from studio.composition import open_workbench
from studio.evaluation.evaluation_run import Progress
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import table_of_evaluation

ROOT = Path(__file__).parents[3]
ITEMS, KILLED_AT = 200, 60
PLANNERS = ("worker:mathematics", "worker:model")
SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS, parallel=4)
# Of memory for values, which are small here.
SMALL = {"object_store_memory": 80_000_000}
HEAD = {"num_cpus": 0, "include_dashboard": False, **SMALL}
KEY = "sk-marked-0123456789abcdef"
POOL = """
workers = "offline"

[[worker]]
name = "model"
base_url = "{url}"
model = "small"
api_key_env = "CONDUCTOR_KEY"
"""
NOT_EQUAL = {"seconds", "paid"}
"""Of a row: what depends on the machine, and what a killed process may have paid for in vain."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("CONDUCTOR_KEY", KEY)
        patch.setenv("PYTHONPATH", str(ROOT))
        cluster = Cluster(initialize_head=True, head_node_args=HEAD)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(FakeOpenAI(key=KEY)) as served:
        yield served


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


def _rows(table: Table) -> list[dict[str, Any]]:
    return [{k: v for k, v in row_values(row).items() if k not in NOT_EQUAL} for row in table.rows]


def test_a_node_that_is_killed_in_the_middle_changes_nothing_in_the_table(
    cluster: Cluster, served: Served, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDUCTOR_KEY", KEY)
    pool = tmp_path / "pool.toml"
    pool.write_text(POOL.format(url=served.base_url))
    nodes = [cluster.add_node(num_cpus=1, **SMALL) for _ in range(2)]
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.done >= KILLED_AT and not killed:
            killed.append(progress.done)
            cluster.remove_node(nodes[1], allow_graceful=False)

    with closing(open_workbench(pool=pool, database=database)) as bench:
        evaluations, store = Evaluations(bench), bench.store
        here = evaluations.add(_data(), PLANNERS, SPEC)
        assert evaluations.run(here.id).failure is None
        there = evaluations.add(_data(), PLANNERS, SPEC)
        usable = [name for name in bench.pool.names if name not in bench.pool.unusable]
        with connected(cluster.address):
            crew = RayCrew(pool=str(pool), database=database, usable=usable)
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
    cluster: Cluster, database: str, tmp_path: Path
) -> None:
    node = cluster.add_node(num_cpus=1, **SMALL)
    command = ["evaluate", "run", "arithmetic", "--limit", "6", "-p", "worker:mathematics", "--json"]
    place = ["--pool", "offline", "--database", database, "--ray", cluster.address]
    done = subprocess.run(
        [sys.executable, "-m", "conductor", *command, *place],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shape = json.loads(done.stdout)
    assert shape["failure"] is None
    row = shape["planners"][0]
    assert (row["planner"], row["questions"]) == ("worker:mathematics", 6)
    cluster.remove_node(node)
