"""The API on a free port of the loopback address, over a workbench and a store of its own, with its gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Semaphore

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from storage import SessionStore
from storage.api_token import new_secret
from storage.store.parts import Tokens
from studio.access.auth import Principal, TokenAuthenticator
from studio.access.origin_check import OwnOrigin
from studio.api.app import api
from studio.workbench import Workbench
from tests.support.processes.served_app import serving


class ObservedAuthenticator(TokenAuthenticator):
    """Lets others wait until the usage of requests is recorded, which is after they are answered."""

    def __init__(self, tokens: Callable[[], Tokens], *, machine: str) -> None:
        super().__init__(tokens, machine=lambda: machine)
        self.paid = Semaphore(0)

    async def record_usage(self, principal: Principal, tokens: int, *, repeats: bool = False) -> None:
        await super().record_usage(principal, tokens, repeats=repeats)
        self.paid.release()


@dataclass(frozen=True)
class ServedApi:
    """A running API; `base_url` ends with /v1, `key` is its machine's token."""

    base_url: str
    key: str
    bench: Workbench
    auth: ObservedAuthenticator

    def paid(self, requests: int = 1) -> None:
        """Wait until what so many requests have used is kept."""
        for _ in range(requests):
            assert self.auth.paid.acquire(timeout=60), "a request was not paid for"


@contextmanager
def serving_api(file: Path, pool: Pool) -> Iterator[ServedApi]:
    """Serve it over the SQLite store in `file` until the block is left."""
    bench = Workbench.over(SessionStore.open(f"sqlite:///{file}"), pool=pool, conductor=OfflineConductor())
    key = new_secret().text
    auth = ObservedAuthenticator(lambda: bench.store.tokens, machine=key)
    app = api(lambda: bench, auth, beside_app=True)
    try:
        served = Starlette(routes=[Mount("/v1", app)], middleware=[Middleware(OwnOrigin, hosts=())])
        with serving(served) as port:
            yield ServedApi(f"http://127.0.0.1:{port}/v1", key, bench, auth)
    finally:
        bench.close()
