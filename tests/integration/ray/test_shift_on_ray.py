"""Processes on machines that have what this program requires, and not the program: what they run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from conductor.errors import ClusterError
from conductor.workers.pool.pool import orchard_pool
from studio.cluster.brief import Brief
from studio.cluster.connection import connected
from studio.cluster.rollouts import RolloutJudge, judge_settings
from studio.cluster.shift import ALONE_SECONDS, Shift
from tests.integration.ray.local_cluster import LocalCluster


class AbsentMember:
    """No machine has its module: the folder of tests is not sent there."""

    def begin(self) -> str | None:
        """See `Member.begin`."""
        return None

    def answer(self, work: int, *, again: bool) -> int:  # noqa: ARG002
        """See `Member.answer`."""
        return work


def test_a_process_that_cannot_be_made_ends_the_work_at_once_with_its_cause(cluster: LocalCluster) -> None:
    cause = "can be made on the Ray cluster: ModuleNotFoundError: No module named 'tests'"
    with cluster.nodes(1), connected(cluster.address):
        start = time.monotonic()
        shift: Shift[int, int] = Shift(AbsentMember, processes=1, named=str)
        with pytest.raises(ClusterError, match=cause):
            shift.begin()
        shift.end()
    assert time.monotonic() - start < ALONE_SECONDS / 2


def test_processes_run_the_sources_that_are_sent_also_where_their_machine_has_others(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studio").mkdir()
    (tmp_path / "studio" / "__init__.py").write_text("raise ImportError('another version')")
    monkeypatch.chdir(tmp_path)
    pool = orchard_pool()
    settings = judge_settings(pool, fresh=False, max_steps=5, allow_code=False)
    with cluster.nodes(1), connected(cluster.address):
        shift = Shift(RolloutJudge, Brief.of(pool, Path("orchard")), settings, processes=1, named=str)
        shift.begin()
        shift.end()
    assert Path.cwd() == tmp_path
