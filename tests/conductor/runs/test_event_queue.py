"""The events of a run are numbered and in order, and wake its readers."""

from __future__ import annotations

import asyncio

from conductor.runs.event_queue import Record
from conductor.runs.events import StepDelta
from tests.support.runs.simulated_time import in_simulated_time


def delta(record: Record, text: str) -> StepDelta:
    return record.emit(StepDelta, step=0, text=text)


def test_events_are_numbered_from_zero_and_read_once_in_order() -> None:
    record = Record("r")
    sent = [delta(record, text) for text in "abc"]
    assert [record.take() for _ in range(4)] == [*sent, None]
    assert [event.seq for event in sent] == [0, 1, 2]
    assert {event.run for event in sent} == {"r"}
    assert sent[0].at <= sent[1].at <= sent[2].at


def test_a_reader_is_woken_by_the_next_event() -> None:
    async def sent() -> None:
        record = Record("r")
        waiting = asyncio.create_task(record.more())
        await asyncio.sleep(1)
        assert not waiting.done()
        delta(record, "a")
        delta(record, "b")
        await asyncio.wait_for(waiting, 60)
        assert [event.text for event in (record.take(), record.take()) if isinstance(event, StepDelta)] == [
            "a",
            "b",
        ]

    in_simulated_time(sent())


def test_a_reader_that_gave_up_keeps_no_one_from_writing_more() -> None:
    async def sent() -> None:
        record = Record("r")
        waiting = asyncio.create_task(record.more())
        await asyncio.sleep(0)
        waiting.cancel()
        # The reader was cancelled and has not had its turn yet.
        delta(record, "a")
        await asyncio.wait([waiting])
        delta(record, "b")
        assert waiting.cancelled()
        assert [record.take() is None for _ in range(3)] == [False, False, True]

    in_simulated_time(sent())
