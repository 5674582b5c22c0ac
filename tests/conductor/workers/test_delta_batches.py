"""Text comes out in batches, whole and in order."""

from __future__ import annotations

import asyncio

from simulated_time import in_simulated_time

from conductor.workers.delta_batches import BATCH_SECONDS, DeltaBatch


def test_the_first_pieces_are_handed_on_in_the_next_turn_and_later_ones_are_gathered() -> None:
    async def told() -> None:
        heard: list[str] = []
        batch = DeltaBatch(heard.append)
        for piece in ("", "a", "b"):
            batch.add(piece)
        assert heard == []
        await asyncio.sleep(0)
        assert heard == ["ab"]
        for piece in ("c", "", "d"):
            batch.add(piece)
        await asyncio.sleep(BATCH_SECONDS * 0.9)
        assert heard == ["ab"]
        await asyncio.sleep(BATCH_SECONDS * 0.2)
        assert heard == ["ab", "cd"]

    in_simulated_time(told())


def test_what_is_gathered_can_be_had_before_its_time_and_comes_once() -> None:
    async def told() -> None:
        heard: list[str] = []
        batch = DeltaBatch(heard.append)
        batch.add("a")
        batch.flush()
        batch.add("b")
        batch.flush()
        batch.flush()
        assert heard == ["a", "b"]
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert heard == ["a", "b"]

    in_simulated_time(told())


def test_what_is_dropped_is_never_handed_on() -> None:
    async def told() -> None:
        heard: list[str] = []
        batch = DeltaBatch(heard.append)
        batch.add("a")
        batch.drop()
        batch.flush()
        batch.add("b")
        batch.drop()
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert heard == []
        batch.add("c")
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert heard == ["c"]

    in_simulated_time(told())
