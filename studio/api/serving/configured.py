"""The API of one process on what the environment configures: its workbench, and who may use it.

Knows settings and parts; knows no socket and no other process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.routing import Route

from conductor.own_settings import setting
from conductor.workers.endpoint.transport.http_connections import load_transport
from studio.access.auth import TokenAuthenticator
from studio.access.exposure import KEEPS_UNSTORED
from studio.api.app import api
from studio.api.operating import Scrape, operating_routes
from studio.composition import ConfiguredRuntime, served_workbench
from studio.gc_tuning import settle
from studio.sessions.retention import apply_daily, unstored_seconds
from studio.telemetry.metrics import Metrics
from studio.workbench import Workbench
from studio.workbench.resuming import resumes_by_itself


@dataclass(frozen=True)
class ConfiguredApi:
    """`api` is for `/v1`, `beside` for the root; `metrics` count what this process does."""

    api: FastAPI
    beside: Sequence[Route]
    workbench: Workbench
    metrics: Metrics


@contextmanager
def configured_api(
    *,
    machine: Callable[[], str | None],
    is_open: bool = False,
    scrape: Scrape | None = None,
) -> Iterator[ConfiguredApi]:
    """The API until the block is left, which closes its store; `machine` and `is_open` are the
    authenticator's. `scrape` reads the metrics of all processes; those of this one where it is None.

    Raises `StorageError` where the store cannot be opened, and for a setting that cannot be read.
    """
    unstored_seconds()
    resumes_by_itself()
    configured, metrics = ConfiguredRuntime(), Metrics()
    with closing(served_workbench(configured, metrics)) as workbench:
        store = workbench.store
        auth = TokenAuthenticator(
            lambda: store.tokens,
            machine=machine,
            is_open=is_open,
            keeps_unstored=setting(KEEPS_UNSTORED) == "1",
        )
        app_url = setting("CONDUCTOR_APP_URL") or None
        served = api(lambda: workbench, auth, app_url=app_url, metrics=metrics)
        beside = operating_routes(lambda: workbench, auth, scrape or metrics.scrape)
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        # Reads the pool before the first request.
        configured.fault  # noqa: B018
        load_transport()
        settle()
        yield ConfiguredApi(served, beside, workbench, metrics)
