"""The API as an application of Ray Serve: its replicas, how many there are, and how they end.

Knows Serve's options; knows no cluster. Serve's own commands deploy `configured` by `deploy/serve.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from conductor.workers.pool.pool import configured_pool
from studio.access.origin_check import configured_hosts
from studio.cluster.api_replica import NAME, ApiReplica, ApiSettings
from studio.cluster.brief import Brief

DRAIN_SECONDS = 3_600.0
"""How long a replica that is no longer needed may take to end its streams."""

MOST_REQUESTS = 1_000
"""Requests that a replica has at a time; Serve holds back what is more."""

LOOK_SECONDS = 0.5
"""How often it is looked whether a replica that is no longer needed has ended its streams."""

_CONSTRUCTIONS = 2
"""How often a replica is tried that cannot be used."""


@dataclass(frozen=True)
class Scaling:
    """From `fewest` to `most` replicas: as many as keep the requests that each has under way at `requests`.

    More are started after `up_seconds` of need, and one that is not needed ends after `down_seconds`; need is
    the mean of the last `mean_seconds`.
    """

    fewest: int
    most: int
    requests: int
    up_seconds: float = 5.0
    down_seconds: float = 300.0
    mean_seconds: float = 20.0

    @property
    def options(self) -> dict[str, Any]:
        """As Serve has them."""
        return {
            "min_replicas": self.fewest,
            "max_replicas": self.most,
            "target_ongoing_requests": self.requests,
            "upscale_delay_s": self.up_seconds,
            "downscale_delay_s": self.down_seconds,
            "look_back_period_s": self.mean_seconds,
        }


def application(brief: Brief, settings: ApiSettings, scaling: Scaling) -> Any:
    """The application, as Serve deploys it."""
    from ray import serve  # noqa: PLC0415 - an extra

    deployment = serve.deployment(
        name=NAME,
        autoscaling_config=scaling.options,
        max_ongoing_requests=MOST_REQUESTS,
        ray_actor_options={"num_cpus": 1},
        graceful_shutdown_timeout_s=DRAIN_SECONDS,
        graceful_shutdown_wait_loop_s=LOOK_SECONDS,
        max_constructor_retry_count=_CONSTRUCTIONS,
        # Those that are replaced answer until the new ones do.
        max_surge_percent=100,
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )
    return deployment(serve.ingress()(ApiReplica)).bind(brief, settings)


def configured(_: Mapping[str, str]) -> Any:
    """The application by the environment of the machine that Serve builds it on, whose file for it has no
    `args`. Raises `PoolError`.
    """
    settings = ApiSettings(token_hex(8), configured_hosts(), {})
    return application(Brief.of(configured_pool(), None), settings, Scaling(1, 8, 50))
