"""The app's composition root: one workbench for the process, opened when it is first needed.

Which store, pool and Conductor it has, and how far it is open, is decided by what is configured; no page
builds any of them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

import streamlit as st

from conductor.workers.discovery.local_servers import Finder
from conductor.workers.embedded.model_hub import Downloads
from conductor.workers.health.probe import HealthProbe
from conductor.workers.health.tool_health import ToolProbe
from conductor.workers.tools.connections import connections
from pages.components.streamlit_patches.script_message import runs_a_page
from storage import data_folder, default_url
from studio.access.exposure import Access, configured_access
from studio.access.login import PERSON
from studio.access.machine_token import MachineToken
from studio.access.view_links import ViewLinks
from studio.composition import ConfiguredRuntime, served_workbench
from studio.evaluation.background import BackgroundEvaluations
from studio.learning.trainings import Trainings
from studio.sessions.notes import author
from studio.sessions.retention import apply_daily
from studio.telemetry.metrics import Metrics
from studio.workbench import ViewOnlyWorkbench, Workbench

TIDYING_SECONDS = 2.0
"""How long the store stays open for what removes long deleted sessions; the rest of them goes another day."""


def person() -> str | None:
    """The name of the person who is logged in, else the one that the environment names; None if unknown.

    What a thread does that draws no tab is done for no person of a browser.
    """
    named = st.context.headers.get(PERSON) if runs_a_page() else None
    return author() if named is None else unquote(named)


@dataclass(frozen=True)
class Services:
    """What the pages of all tabs share. The pool file may change: `configured` reads it as it is now."""

    workbench: Workbench
    viewed: ViewOnlyWorkbench
    configured: ConfiguredRuntime
    probe: HealthProbe
    tool_probe: ToolProbe
    finder: Finder
    downloads: Downloads
    evaluations: BackgroundEvaluations
    trainings: Trainings
    tidying: threading.Thread


_lock = threading.Lock()
_opened: list[Services] = []


def services() -> Services:
    """The process's services. Raises `StorageError` while the store cannot be opened.

    A pool that cannot be read is an error only where a pool is needed.
    """
    with _lock:
        if not _opened:
            configured = ConfiguredRuntime()
            bench = served_workbench(configured, metrics(), person=person)
            tidying = threading.Thread(target=apply_daily, args=(bench.store,), name="retention", daemon=True)
            tidying.start()
            spawn = bench.background.spawn
            viewed = ViewOnlyWorkbench(bench)
            evaluations = BackgroundEvaluations(bench)
            probes = HealthProbe(spawn, bench.store.ledger.add), ToolProbe(spawn, connections())
            tools = *probes, Finder(spawn), Downloads()
            trainings = Trainings(data_folder(default_url()) / "learn", person=person)
            _opened.append(Services(bench, viewed, configured, *tools, evaluations, trainings, tidying))
        return _opened[0]


def workbench() -> Workbench:
    """The process's workbench. Raises as `services`."""
    return services().workbench


@cache
def metrics() -> Metrics:
    """The process's metrics, of all its workbenches."""
    return Metrics()


@cache
def access() -> Access:
    """How far this process is open, as it was when it started. Raises `ServeError`."""
    return configured_access(st.get_option("server.address"))


@cache
def view_links() -> ViewLinks:
    """The links with which people look at a session. Raises `ServeError` as `access`."""

    def revoked(session: str) -> int:
        return workbench().store.sessions.view_links_revoked(session)

    return ViewLinks(access().logins, revoked)


def machine_token() -> MachineToken:
    """This machine's token, beside the store. Raises `StorageError` where the store's URL is none."""
    return MachineToken.configured()


def close() -> None:
    """Stop runs and close the store, where they were opened."""
    access.cache_clear()
    view_links.cache_clear()
    with _lock:
        while _opened:
            last = _opened.pop()
            last.tidying.join(timeout=TIDYING_SECONDS)
            last.evaluations.close()
            last.trainings.close()
            last.workbench.close()
