"""The pieces of a finished run's texts take few rows, and read as the events that they were."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine, text

from conductor.runs.events import Event, StepDelta, StepThought
from conductor.values.message_parts.token_logprobs import TokenLogprob, TopLogprob
from storage import SessionStore
from storage.tables.text_pieces import MOST
from tests.support.stores.store_scenario import (
    begin,
    chain,
    finished,
    keep,
    started,
    step_finished,
    step_started,
)

RUN = "run"
START = 1_795_397_381.3911726
"""Unix seconds as a clock gives them; others cannot be written in ticks to the last bit."""


def pieces(count: int, *, seq: int) -> list[Event]:
    """Of two steps, and of two kinds, one after another."""
    kinds = (StepDelta, StepThought, StepDelta)
    return [
        kinds[at % 3](
            run=RUN,
            seq=seq + at,
            at=START + at / 7 if at % 5 else at / 3,
            step=at % 2,
            text=f'{at} "\\{{\u00e9$text\n',
        )
        for at in range(count)
    ]


@pytest.fixture
def events(store: SessionStore) -> list[Event]:
    """A run in the store, which is over: two stretches of pieces, and a single one."""
    session = store.sessions.create("q").id
    workflow = chain("a", "b")
    store.revisions.add(session, workflow, origin="human")
    begin(store, session, RUN)
    last = MOST + 41
    history = [
        started(RUN, workflow),
        step_started(RUN, seq=1),
        *pieces(MOST + 39, seq=2),
        step_finished(RUN, "first", seq=last),
        step_started(RUN, seq=last + 1, step=1),
        *pieces(1, seq=last + 2),
        step_finished(RUN, "second", seq=last + 3, step=1, fingerprint="g"),
        finished(RUN, seq=last + 4),
    ]
    keep(store, *history)
    return history


def rows(url: str) -> int:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        count: int = connection.scalar(text("SELECT count(*) FROM events")) or 0
    engine.dispose()
    return count


def packed(store: SessionStore) -> None:
    store.runs.pack(RUN)
    # What is written later waits for it.
    store.sessions.create("another")


@pytest.mark.slow
def test_a_packed_run_has_the_same_events_in_few_rows(
    store: SessionStore, events: list[Event], url: str
) -> None:
    assert rows(url) == len(events)
    for _ in range(2):
        packed(store)
        assert list(store.runs.events(RUN)) == events
        # Two rows for the long stretch: no more than `MOST` pieces are in one.
        assert rows(url) == len(events) - (MOST + 39) + 2


@pytest.mark.slow
def test_a_reader_finds_the_rest_of_a_run_that_was_packed_meanwhile(
    store: SessionStore, events: list[Event]
) -> None:
    packed(store)
    for seq in (-1, 0, 1, 2, 3, MOST, MOST + 1, MOST + 2, MOST + 40, MOST + 41, events[-1].seq):
        assert list(store.runs.events(RUN, after=seq)) == [event for event in events if event.seq > seq]
    middle = store.runs.state(RUN)
    assert middle.steps[1].output is not None
    assert middle.steps[1].output.text == "second"


@pytest.mark.slow
def test_a_packed_run_is_copied_with_all_its_events(store: SessionStore, events: list[Event]) -> None:
    packed(store)
    session = store.runs.find(RUN).session
    assert [entry for kind, entry in store.files.entries(session) if kind == "event"] == events


LIKELY = (TokenLogprob("a", -0.5, (97,), (TopLogprob("b", -2.0),)),)


@pytest.mark.parametrize(
    ("piece", "more"),
    [
        (StepDelta, {"logprobs": LIKELY}),
        (StepThought, {"recalls": 3}),
        (StepThought, {"members": ("think",)}),
    ],
)
def test_pieces_with_more_than_a_text_stay_as_they_are(
    store: SessionStore, session: str, url: str, piece: type[StepDelta | StepThought], more: dict[str, Any]
) -> None:
    store.revisions.add(session, chain("a"), origin="human")
    begin(store, session, RUN)
    with_more = [piece(run=RUN, seq=seq, at=START, step=0, text="a", **more) for seq in range(4, 6)]
    history = [started(RUN, chain("a")), step_started(RUN, seq=1), *pieces(2, seq=2), *with_more]
    keep(store, *history, finished(RUN, seq=6))
    packed(store)
    assert list(store.runs.events(RUN))[:-1] == history
    assert rows(url) == len(history)


def test_a_run_without_pieces_stays_as_it_is(store: SessionStore, session: str, url: str) -> None:
    store.revisions.add(session, chain("a"), origin="human")
    begin(store, session, RUN)
    keep(store, started(RUN, chain("a")), finished(RUN, seq=1))
    packed(store)
    assert rows(url) == 2
