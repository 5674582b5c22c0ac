"""The benchmark of a cluster measures what it names; how fast anything is, is no test's business."""

from __future__ import annotations

from benchmarks.cluster import Effort, as_text, measured
from tests.integration.ray.local_cluster import LocalCluster


def test_both_kinds_of_plans_are_measured_here_and_there(cluster: LocalCluster, database: str) -> None:
    with cluster.nodes(1):
        report = measured(cluster.address, database, Effort(questions=3, step=2, rollouts=2, rounds=1))
    assert report.processes == 1
    for costs in (report.evaluation, report.rollouts):
        assert costs.here.minimum > 0
        assert costs.start.minimum > 0
        assert costs.ratio == costs.there.median / costs.here.median
    rows = [
        line for line in as_text([report]).splitlines() if line.startswith(("| evaluation", "| rollouts"))
    ]
    assert [row.split(" | ")[1] for row in rows] == ["1", "1"]
