"""The API on a real socket, over a real store, with an orchestra that a test can exchange."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from conductor_cases import ScriptedConductor
from openai import AsyncOpenAI, OpenAI

from conductor.api.app import api
from conductor.api.caller import Caller
from conductor.api.server import ApiServer
from conductor.errors import ConductorError
from conductor.messages import Usage
from conductor.planner.conductor import Conductor
from conductor.workers.endpoint import Endpoint
from conductor.workers.openai import OpenAIWorker
from conductor.workers.pool import Pool
from conductor.workers.protocol import Price, Worker
from storage import SessionStore
from storage.ensemble import Ensemble
from storage.serving import WorkbenchOrchestra
from storage.workbench import Workbench

UPSTREAM_KEY = "sk-upstream-secret-1234567890"
APP = "http://localhost:8501"


class CountingGate:
    """Lets everybody in as `caller`, and remembers what was spent."""

    def __init__(self) -> None:
        self.caller = Caller()
        self.used: list[Usage] = []

    async def admit(self, headers: Any, client: str | None) -> Caller:  # noqa: ARG002
        return self.caller

    async def spent(self, caller: Caller, usage: Usage) -> None:  # noqa: ARG002
        self.used.append(usage)


class Stage:
    """`workbench` is what the API stands on; `plays` sets who plans and answers from now on.

    `faults` are met with first, by whoever asks for the pool, one after another.
    """

    def __init__(self, store: SessionStore) -> None:
        self.gate = CountingGate()
        self.faults: list[ConductorError] = []
        self.workbench = Workbench.following(store, self._playing)
        self.api = api(WorkbenchOrchestra(lambda: self.workbench), self.gate, app_url=APP)
        self.server = ApiServer(self.api)
        self.base_url = self.server.base_url

    def plays(self, *workers: Worker, plans: tuple[str, ...] | Conductor = ("no plan",)) -> ScriptedConductor:
        """Exchange the orchestra; the Conductor says `plans` one after another."""
        conductor = ScriptedConductor(plans) if isinstance(plans, tuple) else plans
        self._ensemble = Ensemble(workers=Pool(workers=workers), conductor=conductor)
        self.gate.caller = Caller()
        self.gate.used.clear()
        return conductor  # type: ignore[return-value]

    def _playing(self) -> Ensemble:
        if self.faults:
            raise self.faults.pop()
        return self._ensemble

    def settle(self, *, requests: int = 1) -> None:
        """Wait until nothing of so many requests is left to be done behind their answers."""
        deadline = time.monotonic() + 5
        while len(self.gate.used) < requests or self.api.state.afterwards.busy:
            assert time.monotonic() < deadline, "something still goes on"
            time.sleep(0.005)

    def client(self, **options: Any) -> OpenAI:
        """OpenAI's own client, which asks once."""
        return OpenAI(base_url=self.base_url, api_key="none", **{"max_retries": 0, "timeout": 20, **options})

    def async_client(self, **options: Any) -> AsyncOpenAI:
        """The same for coroutines."""
        return AsyncOpenAI(
            base_url=self.base_url, api_key="none", **{"max_retries": 0, "timeout": 20, **options}
        )


@contextmanager
def staged(store: SessionStore) -> Iterator[Stage]:
    """Serve until the block is left."""
    stage = Stage(store)
    thread = Thread(target=stage.server.run, name="api", daemon=True)
    thread.start()
    assert stage.server.ready.wait(30), "the API did not start"
    try:
        yield stage
    finally:
        stage.server.should_exit = True
        thread.join(30)
        stage.workbench.close()
        assert not thread.is_alive(), "the API did not stop"


def model(name: str, base_url: str, *, price: Price | None = None, served: str = "simulated") -> OpenAIWorker:
    """A worker at the simulated endpoint."""
    return OpenAIWorker(Endpoint(base_url=base_url, model=served, retries=0), name=name, price=price)
