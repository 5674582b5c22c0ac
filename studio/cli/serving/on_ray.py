"""`serve --ray`: the API deployed on a Ray cluster, taken down where the command ends.

Knows options and prints; `studio.cluster` deploys.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from typer import BadParameter

from conductor.errors import ServeError
from conductor.own_settings import command_name, setting
from conductor.workers.pool.pool import configured_pool
from studio.access.exposure import EVERY_ADDRESS, PATH, configured_access, url_at
from studio.api.serving.stop_signals import ignore_stop_signals, until_stop_signal
from studio.cli.cluster import database_for_machines, on_cluster
from studio.cli.options import Configured, count, option
from studio.cli.output.terminal import print_remark

_OWN_SETTINGS = ("CONDUCTOR_APP_URL", "CONDUCTOR_LOG", "CONDUCTOR_USAGE")
"""Of this command's environment; all others, such as keys, are those of each machine."""

_PANEL = "On a Ray cluster"


@dataclass(frozen=True)
class Replicas:
    """From the fewest to the most."""

    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest}-{self.most}"


_REPLICAS, _REQUESTS = Replicas(1, 8), 50
"""Where the options leave it open."""


def replicas(text: str) -> Replicas:
    """A number of replicas, or two: 4, or 1-8."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})(?:-([1-9][0-9]{0,3}))?", text)
    read = None if match is None else Replicas(int(match[1]), int(match[2] or match[1]))
    if read is None or read.fewest > read.most:
        raise BadParameter(f"{text!r} is no number of replicas; write 4, or 1-8 for one to eight")
    return read


@dataclass(frozen=True)
class OnRay:
    """Whether and how the API is deployed on a Ray cluster."""

    ray: Annotated[
        str | None,
        option("Deploy the API on the Ray cluster whose head is there.", "HOST:PORT", str, panel=_PANEL),
    ] = None
    replicas: Annotated[
        Replicas | None,
        option(f"Processes that answer. Default: {_REPLICAS}.", "N-M", replicas, panel=_PANEL),
    ] = None
    requests_per_replica: Annotated[
        int | None,
        count(f"Start another one above N requests at once for each. Default: {_REQUESTS}.", panel=_PANEL),
    ] = None

    def check(self, *, processes: int, port: int) -> None:
        """Raises `ServeError` for options that do not go together."""
        if self.ray is None and (self.replicas or self.requests_per_replica):
            raise ServeError(
                "--replicas and --requests-per-replica are for a Ray cluster: name it with --ray."
            )
        if self.ray is not None and processes > 1:
            raise ServeError(
                "--processes and --app-processes are for one machine; with --ray, set --replicas."
            )
        if self.ray is not None and port == 0:
            raise ServeError("All machines of a Ray cluster listen at one port: name it with --port.")


def serve_on_ray(ray_options: OnRay, options: Configured, *, host: str, port: int) -> int:
    """Deploy the API, print its address, and take it down at SIGTERM or SIGINT.

    Raises `ServeError`, `PoolError`, `ClusterError`, and `StorageError` where the store cannot be opened.
    """
    from storage import SessionStore, default_url  # noqa: PLC0415
    from studio.cluster.application import Scaling  # noqa: PLC0415
    from studio.cluster.brief import Brief  # noqa: PLC0415
    from studio.cluster.connection import place  # noqa: PLC0415
    from studio.cluster.serving import Deployment  # noqa: PLC0415

    assert ray_options.ray is not None, "the caller looks"
    access = configured_access(host)
    if access.api_open:
        raise ServeError(
            "On a Ray cluster the API cannot be open: leave --api-open and CONDUCTOR_API_OPEN out."
        )
    database = database_for_machines(options)
    brief = Brief.of(configured_pool(), options.pool)
    number = ray_options.replicas or _REPLICAS
    scaling = Scaling(number.fewest, number.most, ray_options.requests_per_replica or _REQUESTS)
    environment = {name: value for name in _OWN_SETTINGS if (value := setting(name)) is not None}
    environment |= {"CONDUCTOR_POOL": brief.pool}
    environment |= {} if database is None else {"CONDUCTOR_DATABASE_URL": database}
    url = url_at(place(ray_options.ray)[0] if host in EVERY_ADDRESS else host, port, path=PATH)
    # Within the connection, which sets another handler.
    with suppress(KeyboardInterrupt), on_cluster(ray_options.ray), until_stop_signal():
        # Made or brought up to date here, so that what is wrong with it ends the command.
        SessionStore.open(default_url()).close()
        deployment = Deployment(host=host, port=port)
        try:
            deployment.deploy(brief, scaling, hosts=access.hosts, environment=environment)
            options.show(
                {"url": url, "token_file": None},
                f"The API is at {url}. Ctrl+C takes it down.",
                f"Every request needs a token; `{command_name()} tokens create NAME` makes one.",
            )
            deployment.watch()
        finally:
            ignore_stop_signals()
            if not deployment.take_down():
                print_remark("The API on the cluster is that of another command, and stays.")
    return 0
