"""What a Ray cluster costs a plan: `python benchmarks/cluster.py --database URL`, where Ray is installed.

The same plans, which call an endpoint that answers at once, in this process and in those of a local cluster:
of an evaluation, which stores each of them, and of a training's step, which stores none. How each number
comes about stands in README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.api_load import POOL
from benchmarks.measure import Spread
from benchmarks.report import machine
from benchmarks.upstream import Pace, upstream
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.learning.reward import Judge, WorkflowJudge
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from studio.cluster.brief import Brief
from studio.cluster.connection import connected
from studio.cluster.ray_crew import RayCrew
from studio.cluster.rollouts import RayJudge, judge_settings
from studio.cluster.shift import places
from studio.composition import open_workbench
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Crew
from studio.workbench import Workbench

AT_ONCE = Pace(latency=0.0, tokens=1, tokens_per_second=10_000)
PLANNER = "worker:served"


@dataclass(frozen=True)
class Effort:
    """The questions of an evaluation, those of a training's step with the rollouts of each, and how often
    both are done.
    """

    questions: int = 200
    step: int = 4
    rollouts: int = 64
    rounds: int = 3


@dataclass(frozen=True)
class Costs:
    """Seconds a plan in this process and on the cluster, and until a cluster's process can begin one."""

    here: Spread
    there: Spread
    start: Spread

    @property
    def ratio(self) -> float:
        """Of the medians: below 1 the cluster is faster."""
        return self.there.median / self.here.median


@dataclass(frozen=True)
class Report:
    """With so many processes on the cluster."""

    processes: int
    evaluation: Costs
    rollouts: Costs


def measured(address: str, database: str, effort: Effort) -> Report:
    """This process and a cluster's, one for each of its CPUs, in turn."""
    with tempfile.TemporaryDirectory() as folder, upstream(AT_ONCE) as url:
        pool = Path(folder) / "pool.toml"
        pool.write_text(POOL.format(url=url), encoding="utf-8")
        with closing(open_workbench(pool=pool, database=database)) as bench, connected(address):
            return Report(
                processes=places(),
                evaluation=_evaluations(
                    bench, RayCrew(Brief.of(bench.pool, pool), database=database), effort
                ),
                rollouts=_rollouts(pool, effort),
            )


# -- an evaluation ---------------------------------------------------------------------------------


def _evaluations(bench: Workbench, crew: Crew, effort: Effort) -> Costs:
    here, there, start = [], [], []
    for _ in range(effort.rounds):
        own = _evaluation(bench, None, effort.questions)
        # What one question takes there beyond its own time, before it and after it.
        first = _evaluation(bench, crew, 1)
        all_of_them = _evaluation(bench, crew, effort.questions)
        here.append(own / effort.questions)
        there.append((all_of_them - first) / (effort.questions - 1))
        start.append(first)
    return Costs(Spread.of(here), Spread.of(there), Spread.of(start))


def _evaluation(bench: Workbench, crew: Crew | None, questions: int) -> float:
    """Seconds for an evaluation with one planner, eight questions at a time in each process."""
    items = tuple(Item(id=str(n), input=f"What is {n}?", target=("0",)) for n in range(questions))
    evaluations = Evaluations(bench)
    spec = EvaluationSpec(data="", digest="", planners=(PLANNER,), parallel=8)
    record = evaluations.add(DataSet("numbers", items), (PLANNER,), spec)
    start = time.perf_counter()
    progress = evaluations.run(record.id, crew=crew)
    seconds = time.perf_counter() - start
    assert progress.failure is None, progress.failure
    return seconds


# -- rollouts --------------------------------------------------------------------------------------


def _rollouts(file: Path, effort: Effort) -> Costs:
    pool = configured_pool(file)
    here, there, start = [], [], []
    settings = judge_settings(pool, fresh=False, max_steps=MAX_PLANNED_STEPS, allow_code=False)
    for _ in range(effort.rounds):
        judge = RayJudge(Brief.of(pool, file), settings, most=effort.step)
        try:
            start.append(_seconds(judge.begin))
            # Once, so that all processes have begun and both have imported what they need.
            for each in (judge, Judge(pool)):
                _step(each, effort)
            there.append(_step(judge, effort))
            here.append(_step(Judge(pool), effort))
        finally:
            judge.end()
    return Costs(Spread.of(here), Spread.of(there), Spread.of(start))


def _step(judge: WorkflowJudge, effort: Effort) -> float:
    """Seconds per rollout; no two rollouts share a call."""
    items = [
        Item(id=str(n), input=f"What is {n}?", target=("0",))
        for n in range(effort.step)
        for _ in range(effort.rollouts)
    ]
    workflows = [
        Workflow.of(
            [
                Step(instruction=f"Read it, {at}.", worker="served"),
                Step(instruction="Answer it.", worker="served", access=(0,)),
            ]
        )
        for at in range(len(items))
    ]
    calls = judge.calls
    seconds = _seconds(lambda: asyncio.run(judge.run(workflows, items)))
    assert judge.calls - calls == 2 * len(items)
    return seconds / len(items)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# -- as text ---------------------------------------------------------------------------------------


def as_text(reports: Sequence[Report]) -> str:
    """The reports as a table in Markdown."""
    lines = [
        f"{machine()}. Medians, with the least in parentheses.",
        "",
        "| of | processes there | a plan here | a plan there | ratio | until the first one |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in ("evaluation", "rollouts"):
        for report in reports:
            costs: Costs = getattr(report, name)
            lines.append(
                f"| {name} | {report.processes} | {_ms(costs.here)} | {_ms(costs.there)} | {costs.ratio:.2f} "
                f"| {costs.start.median:.1f} s ({costs.start.minimum:.1f}) |"
            )
    return "\n".join(lines)


def _ms(spread: Spread) -> str:
    return f"{spread.median * 1e3:,.1f} ms ({spread.minimum * 1e3:,.1f})"


def main() -> None:
    """Measure with one process there and with two, and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description="Measure what a Ray cluster costs a plan.")
    parser.add_argument("--database", required=True, help="an empty PostgreSQL database")
    parser.add_argument("--questions", type=int, default=Effort.questions, help="of each evaluation")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        reports = []
        for _ in range(2):
            cluster.add_node(num_cpus=1)
            reports.append(measured(cluster.address, options.database, Effort(questions=options.questions)))
    finally:
        cluster.shutdown()
    print(json.dumps([asdict(each) for each in reports], indent=2) if options.json else as_text(reports))


if __name__ == "__main__":
    main()
