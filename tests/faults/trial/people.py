"""People who run, edit and rerun sessions on the pages of the app, and reload a page that is lost."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from random import Random

import aiohttp

from storage import SessionStore
from tests.faults.trial.app_client import AppClient
from tests.faults.trial.outcomes import PATIENCE, Outcomes, plant

_LOST = (aiohttp.ClientError, OSError)
"""What a page meets whose server is killed."""


@dataclass
class People:
    """As many as call `work`, until the clock shows `ends`."""

    url: str
    store: SessionStore
    ends: float
    outcomes: Outcomes
    rng: Random

    async def work(self, number: int) -> None:
        """Take one session after another."""
        client, turn = AppClient(self.url), 0
        await asyncio.sleep(self.rng.uniform(0, 6))
        while time.time() < self.ends:
            turn += 1
            tag = f"p{number}-{turn}"
            session = await asyncio.to_thread(plant, self.store, tag)
            await self._load(client, session)
            await self._run(client, session, f"{tag}-1")
            if await self._edit(client, session, f"{tag}-1b"):
                await self._run(client, session, f"{tag}-1b")
            await asyncio.sleep(self.rng.uniform(3, 10))
        await client.disconnect()

    async def _load(self, client: AppClient, session: str) -> None:
        """Load a page as often as a person would who sees none."""
        began = time.time()
        while True:
            try:
                await client.open(session)
                break
            except _LOST:
                self.outcomes.counts["pages loaded in vain"] += 1
                if time.time() - began > PATIENCE:
                    raise
                await asyncio.sleep(0.5)
        self.outcomes.loaded(began, session, client.exceptions)

    async def _reload(self, client: AppClient, session: str) -> None:
        self.outcomes.counts["pages lost"] += 1
        await self._load(client, session)

    async def _run(self, client: AppClient, session: str, task: str) -> None:
        """Press Run and wait for the answer."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            try:
                if client.runs or client.is_up_to_date:
                    self.outcomes.runs[session] = task
                if client.is_up_to_date:
                    self.outcomes.counts["runs of people"] += 1
                    return
                if client.can_run and not client.runs:
                    self.outcomes.counts["presses of Run"] += 1
                    await client.press_run()
                else:
                    await asyncio.sleep(2)
                    await client.look()
            except _LOST:
                await self._reload(client, session)
            self._heed(client, session)
        self.outcomes.faults.append(f"{session}: {task} did not end in {PATIENCE:.0f} s")

    async def _edit(self, client: AppClient, session: str, task: str) -> bool:
        """Whether the edit was taken."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            try:
                if not client.can_run and await client.select(1):
                    await client.instruct(f"Do {task}.")
                    self._heed(client, session)
                if client.can_run:
                    self.outcomes.edits[session] = task
                    return True
                await client.look()
            except _LOST:
                # The edit may be stored, and the page lost before it showed that.
                await self._reload(client, session)
        self.outcomes.faults.append(f"{session}: the edit to {task} was not taken")
        return False

    def _heed(self, client: AppClient, session: str) -> None:
        if client.exceptions:
            self.outcomes.broke(time.time(), f"page {session}: {client.exceptions}")
