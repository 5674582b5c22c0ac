"""The trial as a whole: what is started, who works, and what is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.balancer import balanced
from storage import SessionStore
from tests.browser.browser_settings import PASSWORD
from tests.faults.trial.browsers import browse
from tests.faults.trial.comparison import Comparison
from tests.faults.trial.counting_worker import CountingWorker
from tests.faults.trial.outcomes import Outcomes
from tests.faults.trial.people import People
from tests.faults.trial.programs import Programs
from tests.faults.trial.servers import Kill, Server
from tests.support.processes.api_processes import POOL, owners
from tests.support.processes.served_app import serving
from tests.support.runs.waiting import until
from tests.support.stores import postgres_server

_EACH, _AWAY = 30.0, 4.0
"""Seconds from a kill to the next one, and until the killed process is started again."""

_PEOPLE, _STREAMS, _BACKGROUND = 14, 7, 7
"""Beside two people with browsers."""


@dataclass
class Trial:
    """So many seconds of work, with the files of all processes in `folder`."""

    folder: Path
    seconds: float
    worker: CountingWorker = field(default_factory=CountingWorker)
    outcomes: Outcomes = field(default_factory=Outcomes)
    kills: list[Kill] = field(default_factory=list)

    def run(self) -> tuple[dict[str, Any], list[str]]:
        """The figures, and what is not as it is promised."""
        with ExitStack() as opened:
            postgres = opened.enter_context(postgres_server.serving(durable=True))
            database = postgres.url(postgres.database())
            port = opened.enter_context(serving(self.worker.app()))
            store = opened.enter_context(SessionStore.open(database))
            servers = self._servers(database, port)
            for server in servers:
                opened.callback(server.stop)
                server.start()
            until(lambda: all(server.ready() for server in servers), what="all servers answer", every=0.5)
            apps, apis = ([own.url for own in servers if own.app is app] for app in (True, False))
            url = opened.enter_context(balanced(self.folder, apps, apis))
            _, token = store.tokens.create("trial")
            asyncio.run(self._work(url, token, store, servers))
            # A run that goes on is found by the comparison.
            with suppress(AssertionError):
                until(lambda: not owners(database), every=0.5)
            comparison = Comparison(self.worker.calls, self.outcomes, self.kills, self.folder / "requests")
            figures = comparison.compare(database, store)
            (self.folder / "compared.json").write_text(json.dumps(vars(comparison), default=_plain))
            return figures, comparison.faults

    def _servers(self, database: str, port: int) -> list[Server]:
        """In the order of their kills."""
        pool = self.folder / "pool.toml"
        pool.write_text(POOL.format(url=f"http://127.0.0.1:{port}/v1"), encoding="utf-8")
        environment = {
            "CONDUCTOR_DATABASE_URL": database,
            "CONDUCTOR_POOL": str(pool),
            "CONDUCTOR_PASSWORD": PASSWORD,
            "CONDUCTOR_RESUME": "on",
            "FORWARDED_ALLOW_IPS": "127.0.0.1",
        }
        names = ("api-1", "app-1", "api-2", "app-2", "api-3")
        return [Server(self.folder / name, environment, app=name.startswith("app")) for name in names]

    async def _work(self, url: str, token: str, store: SessionStore, servers: list[Server]) -> None:
        ends, rng = time.time() + self.seconds, Random(3)
        people = People(url, store, ends, self.outcomes, rng)
        programs = Programs(url, token, ends, self.outcomes, rng)
        await asyncio.gather(
            self._kill(servers, ends),
            asyncio.to_thread(browse, url, store, ends, self.outcomes),
            *(people.work(number) for number in range(_PEOPLE)),
            *(programs.stream(number) for number in range(_STREAMS)),
            *(programs.background(number) for number in range(_BACKGROUND)),
        )

    async def _kill(self, servers: list[Server], ends: float) -> None:
        await asyncio.sleep(_EACH / 2)
        while time.time() < ends:
            server = servers[len(self.kills) % len(servers)]
            self.kills.append(await asyncio.to_thread(server.kill))
            await asyncio.sleep(_AWAY)
            await asyncio.to_thread(server.start)
            await asyncio.sleep(_EACH - _AWAY)


def _plain(value: object) -> object:
    return getattr(value, "__dict__", None) or str(value)
