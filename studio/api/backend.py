"""The workbench and its store, used in threads of their own, so that many requests can wait for the store.

Knows no HTTP and no requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from conductor.workers.pool.pool import Pool
from storage.store import SessionStore
from studio.workbench import Workbench

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 16


class Backend:
    """`workbench` may open the workbench on its first call. Methods raise `ConductorError`."""

    def __init__(self, workbench: Callable[[], Workbench]) -> None:
        self._workbench = workbench
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="conductor-api")

    async def call(
        self, work: Callable[Concatenate[Workbench, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of `work` with the workbench, in one of the threads."""
        called = self._threads.submit(lambda: work(self._workbench(), *args, **kwargs))
        return await asyncio.wrap_future(called)

    async def look_up(
        self, query: Callable[Concatenate[SessionStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of one of the functions in `stored.visible`."""
        return await self.call(lambda bench: query(bench.store, *args, **kwargs))

    async def pool(self) -> Pool:
        return await self.call(lambda bench: bench.pool)
