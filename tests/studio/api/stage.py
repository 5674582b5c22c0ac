"""The API on a real socket, over a real store, with an backend that a test can exchange."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from openai import AsyncOpenAI, OpenAI

from conductor.errors import ConductorError
from conductor.orchestration.runtime import Runtime
from conductor.planner.conductor import Conductor
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, Worker
from storage import SessionStore
from studio.access.auth import Principal
from studio.api.app import api
from studio.api.serving.server import ApiServer
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import ScriptedConductor
from tests.support.runs.waiting import until

UPSTREAM_KEY = "sk-upstream-secret-1234567890"
APP = "http://localhost:8501"


class AnyoneAs:
    """Admits every request as `principal`, and collects the tokens that it is charged."""

    def __init__(self) -> None:
        self.principal = Principal()
        self.used: list[int] = []

    async def authenticate(self, bearer: str | None, client: str | None) -> Principal:  # noqa: ARG002
        return self.principal

    async def record_usage(
        self,
        principal: Principal,  # noqa: ARG002
        tokens: int,
        *,
        repeats: bool = False,  # noqa: ARG002
    ) -> None:
        self.used.append(tokens)


class Stage:
    """`workbench` is what the API stands on; `plays` sets who plans and answers from now on.

    `faults` are met with first, by all who ask for the pool, one after another.
    """

    def __init__(self, store: SessionStore) -> None:
        self.auth = AnyoneAs()
        self.faults: list[ConductorError] = []
        self.workbench = Workbench(store, self._playing)
        self.api = api(lambda: self.workbench, self.auth, app_url=APP)
        self.server = ApiServer(self.api)
        self.base_url = self.server.base_url

    def plays(
        self,
        *workers: Worker,
        plans: tuple[str, ...] | Conductor = ("no plan",),
        nests: bool = False,
        **pool: Any,
    ) -> ScriptedConductor:
        """Exchange the backend; the Conductor writes `plans` one after another. `pool`: more of its pool."""
        conductor = ScriptedConductor(plans) if isinstance(plans, tuple) else plans
        self._runtime = Runtime(workers=Pool(workers=workers, **pool), conductor=conductor, nests=nests)
        self.auth.principal = Principal()
        self.auth.used.clear()
        return conductor  # type: ignore[return-value]

    def _playing(self) -> Runtime:
        if self.faults:
            raise self.faults.pop()
        return self._runtime

    def settle(self, *, requests: int = 1) -> None:
        """Wait until nothing of so many requests is left to be done behind their answers."""
        until(
            lambda: len(self.auth.used) >= requests and not self.api.state.runs.busy,
            what="nothing goes on any more",
            every=0.005,
        )

    def client(self, **options: Any) -> OpenAI:
        """OpenAI's own client, which asks once."""
        return OpenAI(base_url=self.base_url, api_key="none", **{"max_retries": 0, "timeout": 60, **options})

    def async_client(self, **options: Any) -> AsyncOpenAI:
        """The same for coroutines."""
        return AsyncOpenAI(
            base_url=self.base_url, api_key="none", **{"max_retries": 0, "timeout": 60, **options}
        )


@contextmanager
def staged(store: SessionStore) -> Iterator[Stage]:
    """Serve until the block is left."""
    stage = Stage(store)
    thread = Thread(target=stage.server.run, name="api", daemon=True)
    thread.start()
    assert stage.server.ready.wait(60), "the API did not start"
    try:
        yield stage
    finally:
        stage.server.should_exit = True
        thread.join(60)
        stage.workbench.close()
        assert not thread.is_alive(), "the API did not stop"


def model(name: str, base_url: str, *, price: Price | None = None, served: str = "simulated") -> OpenAIWorker:
    """A worker at the simulated endpoint."""
    return OpenAIWorker(Endpoint(base_url=base_url, model=served, retries=0), name=name, price=price)
