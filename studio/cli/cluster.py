"""`--ray` of the commands that have it: the cluster, and who works on it.

Without the option nothing of a cluster is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from storage import default_url
from studio.cli.options import Configured, Pooled

if TYPE_CHECKING:
    from conductor.learning.grpo.recipe import GrpoRecipe
    from conductor.learning.reward import WorkflowJudge
    from conductor.workers.pool.pool import Pool
    from studio.evaluation.execution.crew import Crew
    from studio.workbench import Workbench


def on_cluster(address: str | None) -> AbstractContextManager[None]:
    """The connection to the cluster; without an address nothing. Raises `ClusterError`."""
    if address is None:
        return nullcontext()
    from studio.cluster.connection import connected  # noqa: PLC0415

    return connected(address)


def on_store_and_cluster(address: str | None, options: Configured) -> AbstractContextManager[None]:
    """As `on_cluster`; raises `ClusterError` also for a store that the cluster cannot use."""
    if address is not None:
        _ = database_for_machines(options)
    return on_cluster(address)


def crew_of(address: str | None, bench: Workbench, options: Configured) -> Crew | None:
    """Who answers on the cluster that is connected to; None without an address."""
    if address is None:
        return None
    from studio.cluster.brief import Brief  # noqa: PLC0415
    from studio.cluster.ray_crew import RayCrew  # noqa: PLC0415

    brief = Brief.of(bench.pool, options.pool)
    return RayCrew(brief, database=database_for_machines(options), by=bench.asker)


@contextmanager
def judge_on(
    address: str | None, pool: Pool, options: Pooled, recipe: GrpoRecipe, *, allow_code: bool
) -> Iterator[WorkflowJudge | None]:
    """Who runs a training's workflows on the cluster that is connected to; None without an address.

    Raises `ClusterError` where no process can be used there.
    """
    if address is None:
        yield None
        return
    from studio.cluster.brief import Brief  # noqa: PLC0415
    from studio.cluster.rollouts import RayJudge, judge_settings  # noqa: PLC0415

    settings = judge_settings(pool, fresh=recipe.fresh, max_steps=recipe.max_steps, allow_code=allow_code)
    # Each process of `accelerate launch` has a judge of its own, for its share of the questions.
    judge = RayJudge(
        Brief.of(pool, options.pool),
        settings,
        most=recipe.questions,
        sharers=int(os.environ.get("WORLD_SIZE", "1")),
    )
    try:
        judge.begin()
        yield judge
    finally:
        judge.end()


def database_for_machines(options: Configured) -> str | None:
    """What the machines are sent of the store. Raises `ClusterError` for one that they cannot use."""
    from studio.cluster.connection import url_for_machines  # noqa: PLC0415

    return url_for_machines(options.database or default_url(), from_command_line=options.database is not None)
