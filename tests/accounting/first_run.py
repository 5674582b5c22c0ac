"""The pool of all cases, and the first run of a case by the workbench, here or in a process that is killed.

Knows the workbench; compares nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from conductor.errors import ConductorError
from conductor.orchestration.runtime import runtime_of
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.pool import parse_pool
from storage import SessionStore
from studio.telemetry.observer import Observer
from studio.workbench import Workbench
from tests.accounting.accounting_cases import MODELS, NEST, Case
from tests.accounting.reporting_upstream import PLANNER
from tests.accounting.truth import PRICES
from tests.faults.victim import Say

_RETRIES = 2
_FALLBACKS = {"e": "b"}


def pool_file(base_url: str, models: Sequence[str] = MODELS) -> str:
    """The text of a pool file: these models, and the Conductor, which is a worker as well."""

    def served(model: str) -> str:
        price, fallback = PRICES[model], _FALLBACKS.get(model)
        lines = [f'base_url = "{base_url}"', f'model = "{model}"', f"retries = {_RETRIES}"]
        if price is not None:
            lines += [f"price_prompt = {price.prompt}", f"price_completion = {price.completion}"]
            lines += [] if price.cached is None else [f"price_cached = {price.cached}"]
        return "\n".join([*lines, *([] if fallback is None else [f'fallback = "{fallback}"'])])

    workers = [f'[[worker]]\nname = "{name}"\n{served(name)}' for name in models]
    conductor = f'[conductor]\n{served(PLANNER)}\nname = "{NEST}"\nas_worker = true\nconstrain = "none"'
    return "\n\n".join([conductor, *workers])


def bench_over(url: str, base_url: str, *observers: Observer) -> Workbench:
    """The workbench over the store at `url`, whose models are at `base_url`."""
    runtime = runtime_of(parse_pool(pool_file(base_url)))
    return Workbench(SessionStore.open(url), lambda: runtime, observers=observers)


def session_of(bench: Workbench, case: Case) -> str:
    """A new session for the case, with its workflow."""
    settings = Settings(rounds=case.rounds, budget=Budget(**case.budget))
    session = bench.ask(case.question, settings=settings).id
    if case.workflow is not None:
        bench.editing.edit(session, case.workflow, note="By hand")
    return session


def begin(bench: Workbench, case: Case, session: str) -> None:
    """Begin the first run, with its planning where the case has no workflow."""
    if case.workflow is not None:
        bench.running.start(session)
    else:
        bench.planning.begin(session, then_run=True)


def work(say: Say, url: str, base_url: str, case: Case) -> None:
    """Play the case up to the end of its first run, and wait to be killed; its session is sent first."""
    bench = bench_over(url, base_url)
    session = session_of(bench, case)
    say(session=session)
    with suppress(ConductorError):
        begin(bench, case, session)
        bench.activities.wait(session)
    threading.Event().wait()
