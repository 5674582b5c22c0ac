"""An evaluation on a Ray cluster, as `--ray` asks for it. Without that nothing of a cluster is loaded."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from conductor.workers.pool.built_in import BUILT_IN
from conductor.workers.pool.pool import configured_path
from storage import default_url
from studio.cli.options import Configured
from studio.evaluation.crew import Crew
from studio.workbench import Workbench


def on_cluster(address: str | None, options: Configured) -> AbstractContextManager[None]:
    """The connection to the cluster; without an address nothing.

    Raises `ClusterError` before anything is stored, also for a store that the cluster cannot use.
    """
    if address is None:
        return nullcontext()
    from studio.cluster.connection import connected  # noqa: PLC0415

    _ = _database(options)
    return connected(address)


def crew_of(address: str | None, bench: Workbench, options: Configured) -> Crew | None:
    """Who answers on the cluster that is connected to; None without an address."""
    if address is None:
        return None
    from studio.cluster.crew import RayCrew  # noqa: PLC0415

    path = configured_path(options.pool)
    pool = "offline" if path is None else str(path if str(path) in BUILT_IN else path.absolute())
    usable = [name for name in bench.pool.names if name not in bench.pool.unusable]
    return RayCrew(pool=pool, database=_database(options), usable=usable)


def _database(options: Configured) -> str | None:
    from studio.cluster.connection import url_for_machines  # noqa: PLC0415

    return url_for_machines(options.database or default_url(), from_command_line=options.database is not None)
