"""The way into nested workflows: the steps that are open, and in which round.

Knows runs and what the tab remembers; draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import streamlit as st

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Level:
    """An opened step (from 0) and which of its rounds is looked at, None: the newest."""

    step: int
    round: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """An opened step of the run `outer`, and the one of its `rounds` that is looked at."""

    outer: RunState
    step: int
    rounds: tuple[RunState, ...]
    round_index: int

    @property
    def inner(self) -> RunState:
        return self.rounds[self.round_index]


Way = tuple[Level, ...]
"""From the outermost opened step to the innermost; () if no step is open."""


def places(run: RunState, way: Way) -> tuple[Place, ...]:
    """The places along `way`, as far as there is something: another run may have nothing there."""
    path: list[Place] = []
    for level in way:
        rounds = run.steps[level.step].inner if level.step < len(run.steps) else ()
        if not rounds:
            break
        index = len(rounds) - 1 if level.round is None else min(level.round, len(rounds) - 1)
        path.append(Place(outer=run, step=level.step, rounds=rounds, round_index=index))
        run = rounds[index]
    return tuple(path)


def with_kept_inside(bench: Workbench, state: RunState | None) -> RunState | None:
    """`state` with the insides of reused steps, which the runs hold that made their outputs."""
    if state is None or state.workflow is None or not any(step.reused for step in state.steps):
        return state
    cards = bench.pool.cards
    nested = [step.worker in cards and cards[step.worker].nested for step in state.workflow.steps]
    steps = (
        _with_inside(bench, step) if nests and step.reused else step
        for step, nests in zip(state.steps, nested, strict=True)
    )
    return replace(state, steps=tuple(steps)) if any(nested) else state


def _with_inside(bench: Workbench, step: StepState) -> StepState:
    output = step.output
    if output is None:
        return step
    maker = bench.state(bench.store.runs.find(output.run))
    return replace(step, inner=maker.steps[output.step].inner)


def round_names(rounds: Sequence[RunState]) -> list[str]:
    """Each by its round, and by its attempt where a round's plan was requested more than once."""
    numbers = [inner.round for inner in rounds]
    return [
        f"Round {inner.round}, attempt {inner.attempt}"
        if numbers.count(inner.round) > 1
        else f"Round {inner.round}"
        for inner in rounds
    ]


class Inside:
    """What one tab has open of a session's nested workflows."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._key = f"inside-{session}"

    @property
    def way(self) -> Way:
        return cast("Way", st.session_state.get(self._key, ()))

    @property
    def reveal(self) -> str | None:
        """Another one after each opening, for the page to scroll there; None before the first."""
        count = st.session_state.get(f"{self._key}-opened", 0)
        return f"{self.session}-{count}" if count else None

    def open(self, way: Way) -> None:
        """Show what is inside the last step of `way`; () closes."""
        st.session_state[self._key] = way
        if way:
            count = st.session_state.get(f"{self._key}-opened", 0)
            st.session_state[f"{self._key}-opened"] = count + 1

    def look_at(self, round: int | None) -> None:
        """Look at another round of what is open."""
        st.session_state[self._key] = (*self.way[:-1], replace(self.way[-1], round=round))

    def carry_out(self, wish: Any, *, above: Way) -> None:
        """Carry out what a graph asks whose steps lie below `above`; it comes from the browser."""
        match wish:
            case {"step": int(step), "open": True} if step >= 0:
                self.open((*above, Level(step)))
            case {"step": int(), "open": False}:
                self.open(above)
