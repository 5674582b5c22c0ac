"""The API on a free port of the loopback address, over a workbench and a store of its own, with its gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Semaphore

from served_app import serving
from starlette.applications import Starlette
from starlette.routing import Mount

from conductor.api.app import api
from conductor.api.caller import Caller
from conductor.api.gate import TokenGate, Tokens
from conductor.messages import Usage
from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool
from storage import SessionStore
from storage.serving import WorkbenchOrchestra
from storage.workbench import Workbench


class HeardGate(TokenGate):
    """A gate that lets others wait until requests are paid for, which is after they are answered."""

    def __init__(self, tokens: Callable[[], Tokens]) -> None:
        super().__init__(tokens, hosts=())
        self.paid = Semaphore(0)

    async def spent(self, caller: Caller, usage: Usage) -> None:
        """See `Gate.spent`."""
        await super().spent(caller, usage)
        self.paid.release()


@dataclass(frozen=True)
class ServedApi:
    """A running API; `base_url` ends with /v1."""

    base_url: str
    bench: Workbench
    gate: HeardGate

    def paid(self, requests: int = 1) -> None:
        """Wait until what so many requests have used is kept."""
        for _ in range(requests):
            assert self.gate.paid.acquire(timeout=30), "a request was not paid for"


@contextmanager
def serving_api(file: Path, pool: Pool) -> Iterator[ServedApi]:
    """Serve it over the SQLite store in `file` until the block is left."""
    bench = Workbench.over(SessionStore.open(f"sqlite:///{file}"), pool=pool, conductor=OfflineConductor())
    gate = HeardGate(lambda: bench.store)
    app = api(WorkbenchOrchestra(lambda: bench), gate, beside_app=True)
    try:
        with serving(Starlette(routes=[Mount("/v1", app)])) as port:
            yield ServedApi(f"http://127.0.0.1:{port}/v1", bench, gate)
    finally:
        bench.close()
