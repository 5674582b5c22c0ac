"""Text comes out in batches, whole and in order."""

from __future__ import annotations

import asyncio

from simulated_time import in_simulated_time

from conductor.engine.deltas import BATCH_SECONDS, DeltaBatch


def test_the_first_piece_is_handed_on_at_once_and_the_next_are_gathered() -> None:
    async def told() -> None:
        heard: list[str] = []
        batch = DeltaBatch(heard.append)
        for piece in ("a", "", "b", "c"):
            batch.add(piece)
        await asyncio.sleep(BATCH_SECONDS * 0.9)
        assert heard == ["a"]
        await asyncio.sleep(BATCH_SECONDS * 0.2)
        assert heard == ["a", "bc"]

    in_simulated_time(told())


def test_what_is_gathered_can_be_had_before_its_time_and_comes_once() -> None:
    async def told() -> None:
        heard: list[str] = []
        batch = DeltaBatch(heard.append)
        batch.add("a")
        batch.add("b")
        batch.flush()
        batch.flush()
        assert heard == ["a", "b"]
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert heard == ["a", "b"]

    in_simulated_time(told())
