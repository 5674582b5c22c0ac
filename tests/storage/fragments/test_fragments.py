"""A session's long texts are stored once, and what shows them is read back letter for letter."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.errors import StorageError
from conductor.runs.events import (
    Event,
    RunFinished,
    RunStarted,
    StepFinished,
    StepInner,
    StepKept,
    StepReused,
    StepStarted,
)
from conductor.values.conversation import Conversation, Turn
from conductor.values.messages import Sampling, SeenResponse, Usage
from conductor.values.output import HandEdit, Output
from conductor.workers.protocol import PromptStyle
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.fragments.reading import MARK
from storage.fragments.writing import LEAST
from tests.support.cases.property_cases import cases
from tests.support.stores.session_files import exported, imported, lines_of
from tests.support.stores.store_scenario import by_fingerprint, chain, finished, keep, ticking

_RUNS = count()


@dataclass
class Playing:
    """Makes the events of one session's runs as the engine makes them, for any texts."""

    style: PromptStyle = "ours"
    conversation: Conversation = Conversation()
    previous: tuple[SeenResponse, ...] = ()
    thinks: bool = True
    """Whether what a step answers comes with a reasoning, and something happens inside of it."""

    def __post_init__(self) -> None:
        self.cache: dict[str, Output] = {}

    def run(self, workflow: Workflow, texts: Sequence[str], *, query: str = "why?") -> list[Event]:
        """The events of a run in which step `i` answers `texts[i]`, unless its output is known or pinned."""
        run = f"run-{next(_RUNS)}"
        card = SimulatedWorker(name="w").card.model_copy(
            update={"prompt_style": self.style, "sampling": Sampling(temperature=1)}
        )
        bound = BoundWorkflow(workflow, query, {"w": card}, self.previous, self.conversation)
        stamps = ({"run": run, "seq": seq, "at": 7.0 + seq / 3} for seq in count())
        began = RunStarted(
            **next(stamps),
            query=query,
            workflow=workflow,
            previous=self.previous,
            conversation=self.conversation,
        )
        events: list[Event] = [began]
        outputs: dict[int, Output] = {}
        for at, step in enumerate(workflow.steps):
            if step.pin is not None:
                outputs[at] = step.pin
                events.append(StepKept(**next(stamps), step=at, output=step.pin, because="pinned"))
                continue
            address, request = bound.call(at, outputs)
            earlier = self.cache.get(address)
            if earlier is not None:
                outputs[at] = earlier
                events.append(StepReused(**next(stamps), step=at, output=earlier, request=request))
                continue
            outputs[at] = self.cache[address] = output(
                run, at, address, texts[at], reasoning=texts[at][::-1] if self.thinks else ""
            )
            start = StepStarted(
                **next(stamps),
                step=at,
                worker="w",
                worker_kind="model",
                fingerprint=address,
                request=request,
            )
            events.append(start)
            if self.thinks:
                inner = start.model_copy(update={"run": "inner"})
                events.append(StepInner(**next(stamps), step=at, event=inner))
            events.append(StepFinished(**next(stamps), step=at, output=outputs[at]))
        answer = outputs[workflow.final]
        events.append(
            RunFinished(**next(stamps), outcome="finished", answer=answer.text, answer_step=workflow.final)
        )
        return events


def output(run: str, step: int, fingerprint: str, text: str, *, reasoning: str = "") -> Output:
    return Output(
        fingerprint=fingerprint,
        text=text,
        reasoning=reasoning,
        thoughts=reasoning or None,
        worker="w",
        worker_kind="model",
        usage=Usage(prompt_tokens=3, cost=0.1),
        seconds=0.3,
        run=run,
        step=step,
    )


def played(store: SessionStore, session: str, workflow: Workflow, events: Sequence[Event]) -> None:
    """Keep the events as a run of a new revision."""
    revision = store.revisions.add(session, workflow, origin="human").id
    store.runs.start(run=events[0].run, session=session, revision=revision)
    keep(store, *events)


def everything(steps: int) -> Workflow:
    """Every step sees all earlier ones."""
    return Workflow.of(
        Step(instruction=f"Do part {at + 1} with care.", worker="w", access=tuple(range(at)))
        for at in range(steps)
    )


def long_text(name: str, characters: int = 8_000) -> str:
    """A text like no other."""
    words = (f"{name}{number * 7919 % 10_007}" for number in count())
    text = ""
    while len(text) < characters:
        text += f"{next(words)} "
    return text[:characters]


# -- any history -----------------------------------------------------------------------------------

ODD = st.sampled_from(
    ["", "x", '"', "\\", "\n", "\0", "☃", "🜲", MARK, '{"$text":"', "</response-", "<step-", "  "]
)
TEXTS = st.builds(lambda odd, times, more: odd * times + more, ODD, st.sampled_from([1, 60, 400]), ODD)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """Up to five steps; each sees some of the steps before it."""
    steps = []
    for at in range(draw(st.integers(1, 5))):
        access = tuple(sorted(draw(st.sets(st.integers(0, at - 1))))) if at else ()
        instruction = draw(TEXTS.filter(str.strip))
        steps.append(
            Step(instruction=instruction, worker="w", access=access, sees_previous=draw(st.booleans()))
        )
    return Workflow.of(steps)


@st.composite
def edits(draw: st.DrawFn, workflow: Workflow) -> Workflow:
    """The workflow with another instruction, or with a step pinned as a person wrote it."""
    at = draw(st.integers(0, len(workflow) - 1))
    if draw(st.booleans()):
        return workflow.with_instruction(at, draw(TEXTS.filter(str.strip)))
    original = output("earlier", at, "f", draw(TEXTS))
    return workflow.with_pin(at, original.by_hand(draw(TEXTS), edit=HandEdit(at=1.5)))


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Workflow, list[Event]]]:
    """Workflows, each an edit of the one before, with the events of a run of each."""
    turns = st.builds(
        Turn,
        role=st.sampled_from(["user", "assistant", "system"]),
        text=TEXTS,
        thoughts=st.none() | TEXTS,
        worker=st.just("w"),
    )
    seen = st.builds(
        SeenResponse, step=st.just(0), worker=ODD, instruction=TEXTS, response=TEXTS, round=st.just(1)
    )
    playing = Playing(
        style=draw(st.sampled_from(["ours", "research"])),
        conversation=draw(
            st.builds(Conversation, instructions=TEXTS, turns=st.tuples(turns), verbatim=st.booleans())
        ),
        previous=draw(st.lists(seen, max_size=2).map(tuple)),
    )
    workflow = draw(workflows())
    query = draw(TEXTS)
    runs = []
    for _ in range(draw(st.integers(1, 3))):
        texts = draw(st.lists(TEXTS, min_size=len(workflow), max_size=len(workflow)))
        runs.append((workflow, playing.run(workflow, texts, query=query)))
        workflow = draw(edits(workflow))
    return runs


@pytest.mark.thorough
@pytest.mark.slow
@cases(60)
@given(history=histories())
def test_whatever_is_run_is_read_back_letter_for_letter(
    empty_store: Path, history: list[tuple[Workflow, list[Event]]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        SessionStore.open(
            f"sqlite:///{copyfile(empty_store, Path(folder) / 'c.db')}", clock=ticking().__next__
        ) as store,
    ):
        session = store.sessions.create("why?").id
        for workflow, events in history:
            played(store, session, workflow, events)
        check(store, session, history)
        assert store.housekeeping.clean_up(older_than=0).outputs == 0
        check(store, session, history)
        file = exported(store, session)
        copy = imported(store, file).id
        store.sessions.delete(session)
        store.housekeeping.clean_up(older_than=0)
        assert contents(exported(store, copy)) == contents(file)


def contents(file: bytes) -> str:
    """The texts, outputs and events in a session's file, with the places of runs for their ids."""
    lines = lines_of(file)
    text = json.dumps([line for line in lines if {"text", "output", "event"} & line.keys()])
    runs = [line["run"]["id"] for line in lines if "run" in line]
    for place, run in enumerate(runs):
        text = text.replace(json.dumps(run), str(place))
    return text


def check(store: SessionStore, session: str, history: list[tuple[Workflow, list[Event]]]) -> None:
    """All of it is read as it was written."""
    assert [revision.workflow for revision in store.revisions.of_session(session)] == [
        workflow for workflow, _ in history
    ]
    outputs: dict[str, Output] = {}
    for _, events in history:
        assert store.runs.events(events[0].run) == tuple(events)
        outputs |= {
            event.output.fingerprint: event.output for event in events if isinstance(event, StepFinished)
        }
    assert by_fingerprint(store.runs.outputs(session)) == outputs


# -- what is stored --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_text_is_in_one_row_however_many_steps_see_it(
    store: SessionStore, session: str, file: Path
) -> None:
    playing, workflow = Playing(), everything(10)
    texts = [long_text(name) for name in "abcdefghij"]
    played(store, session, workflow, playing.run(workflow, texts))
    edited = workflow.with_instruction(9, "Do it in another way.")
    texts[9] = long_text("k")
    played(store, session, edited, playing.run(edited, texts))
    with closing(sqlite3.connect(file)) as connection:
        rows = [
            (table, text)
            for table, column in (
                ("events", "event"),
                ("outputs", "output"),
                ("revisions", "workflow"),
                ("fragments", "text"),
                ("long_texts", "text"),
            )
            for (text,) in connection.execute(f"SELECT {column} FROM {table}")
        ]
    for text in texts[:9]:
        assert [table for table, stored in rows if text[:500] in stored] == ["long_texts"]


def occupied_bytes(file: Path) -> int:
    """Bytes of the pages that hold anything."""
    with closing(sqlite3.connect(file)) as connection:
        ((pages,), (free,), (size,)) = (
            connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chain", "everything"])
def test_sixty_steps_take_little_more_than_their_texts(store: SessionStore, file: Path, shape: str) -> None:
    steps = 60
    workflow = everything(steps) if shape == "everything" else chain(*(f"Do part {at}." for at in range(60)))
    texts = [long_text(f"step{at}x") for at in range(steps)]
    session = store.sessions.create("why?").id
    empty, playing = occupied_bytes(file), Playing(thinks=False)
    played(store, session, workflow, playing.run(workflow, texts))
    first = occupied_bytes(file)
    assert first - empty < 1.5 * sum(map(len, texts))
    edited = workflow.with_instruction(steps - 1, "Do it in another way.")
    texts[-1] = long_text("last")
    played(store, session, edited, playing.run(edited, texts))
    # Its text, what the session is found by, and two rows for each step that was not called.
    assert occupied_bytes(file) - first < 0.25 * sum(map(len, texts))


@pytest.mark.slow
def test_a_request_stays_as_it_was_sent_when_the_output_it_shows_is_replaced(
    store: SessionStore, session: str
) -> None:
    workflow = everything(3)
    events = Playing().run(workflow, [long_text(name, LEAST * 8) for name in "abc"])
    played(store, session, workflow, events[:-1])
    replaced = next(event for event in events if isinstance(event, StepFinished))
    other = replaced.output.model_copy(update={"text": long_text("other")})
    seq = events[-1].seq
    later = replaced.model_copy(update={"seq": seq, "output": other})
    keep(store, later, finished(events[0].run, seq=seq + 1))
    assert by_fingerprint(store.runs.outputs(session))[other.fingerprint] == other
    assert store.runs.events(events[0].run)[:-2] == tuple(events[:-1])


@pytest.mark.slow
def test_events_share_the_texts_that_they_show_in_memory(store: SessionStore, session: str) -> None:
    workflow = everything(4)
    events = Playing().run(workflow, [long_text(name) for name in "abcd"])
    played(store, session, workflow, events)
    texts = [
        part.text
        for event in store.runs.events(events[0].run)
        if isinstance(event, StepStarted)
        for part in event.request.messages[0].parts
        if part.kind == "response"
    ]
    assert len(texts) == 6
    assert len(set(map(id, texts))) == 3


@pytest.mark.slow
def test_a_fork_has_the_texts_that_it_refers_to(store: SessionStore, session: str) -> None:
    workflow = everything(3)
    events = Playing().run(workflow, [long_text(name) for name in "abc"])
    played(store, session, workflow, events)
    outputs = by_fingerprint(store.runs.outputs(session))
    pinned = workflow.with_pin(1, outputs[step_finished(events)[1]].by_hand("x" * 999, edit=HandEdit(at=1.0)))
    revision = store.revisions.add(session, pinned, origin="human")
    fork = store.sessions.fork(session, revision.id)
    store.sessions.delete(session)
    store.housekeeping.clean_up(older_than=0)
    assert by_fingerprint(store.runs.outputs(fork.id)) == outputs
    assert [each.workflow for each in store.revisions.of_session(fork.id)] == [pinned]


def step_finished(events: Sequence[Event]) -> list[str]:
    """The fingerprints of the outputs that were given."""
    return [event.output.fingerprint for event in events if isinstance(event, StepFinished)]


def test_an_event_whose_text_is_missing_is_refused_by_name(
    store: SessionStore, session: str, file: Path
) -> None:
    workflow = everything(2)
    events = Playing().run(workflow, [long_text(name) for name in "ab"])
    played(store, session, workflow, events)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM long_texts")
    with pytest.raises(
        StorageError, match=r"cannot read .*the text '[\w-]{22}' that it refers to is missing"
    ):
        store.runs.events(events[0].run)
