"""Two runs side by side in time: live, as they ended, or at one moment of both, which a replay drives.

Knows the sides and the tab's replay of them; what is drawn for a moment is the page's matter.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import streamlit as st

from conductor.drawing.marks import Mark
from conductor.errors import ConductorError
from conductor.runs.replay import Recording, Replay, as_of
from conductor.runs.state import RunState
from conductor.text.formatting import duration, quantity
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from pages.components.tab.state import TabState, plain
from pages.components.timeline import run_timeline
from pages.components.view_models.comparable import Side, address_of
from pages.components.view_models.replay import recording
from pages.components.view_models.run_text import run_label
from pages.components.view_models.workflow.card_content import answering, worker_marks
from pages.components.widgets.controls import action, row
from studio.workbench import Workbench

POLL_SECONDS = 0.25
"""How often what moves is drawn again."""

_REPLAY, _MARK = "compare-replay", "compare-replay-mark"

Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Race:
    """Two sides as the page was drawn with them, and as they are at any later moment.

    `recorded` are their runs where both are over and kept whole; `replay` is that of both, which begin
    together in it.
    """

    bench: Workbench
    sides: Sides
    recorded: tuple[Recording, Recording] | None
    replay: Replay | None

    @classmethod
    def of(cls, bench: Workbench, left: Side, right: Side) -> Race:
        """The two, in the tab's replay of them if there is one."""
        runs = [side.address.removeprefix("run:") for side in (left, right) if side.state is not None]
        is_recorded = len(runs) == 2 and not any(side.live for side in (left, right))
        is_recorded = is_recorded and all(bench.unsaved(bench.store.runs.find(run)) is None for run in runs)
        recorded = (recording(bench.store, runs[0]), recording(bench.store, runs[1])) if is_recorded else None
        replay = st.session_state.get(_REPLAY)
        named = _pair(left, right)
        if recorded is None or replay is None or replay.run != named or replay.over(time.time()):
            replay = None
            st.session_state.pop(_REPLAY, None)
        return cls(bench, (left, right), recorded, replay)

    @property
    def live(self) -> bool:
        return any(side.live for side in self.sides)

    @property
    def under_way(self) -> bool:
        """Whether the sides are shown as they are, or were, on their way."""
        return self.live or self.replay is not None

    @property
    def moves(self) -> bool:
        """Whether what is shown changes without a click."""
        return self.live or (self.replay is not None and self.replay.playing)

    @property
    def phase(self) -> tuple[object, ...]:
        """What the page was drawn for: where it differs from before, the whole page is drawn again."""
        return (*(side.live for side in self.sides), self.replay is not None, self.moves)

    def now(self) -> Race:
        """The race as it is by now."""
        left, right = (
            replace(
                side, state=self.bench.state(self.bench.store.runs.find(side.address.removeprefix("run:")))
            )
            if side.live
            else side
            for side in self.sides
        )
        return Race.of(self.bench, left, right)

    def visible_sides(self) -> Sides:
        """The sides at the moment that is shown."""
        if self.recorded is None or self.replay is None:
            return self.sides
        now = time.time()
        position = self.replay.at(now)
        left, right = (
            replace(side, state=as_of(run.at(position), moment=run.began + position, now=now))
            for side, run in zip(self.sides, self.recorded, strict=True)
        )
        return left, right


def _pair(left: Side, right: Side) -> str:
    return f"{left.address} {right.address}"


# -- starting and stopping -----------------------------------------------------------------------------


def run_both(bench: Workbench, tab: TabState, race: Race) -> None:
    """The button that starts both, with what that will take; nothing where they answer two questions."""
    left, right = race.sides
    if left.session.query != right.session.query:
        return
    try:
        estimates = bench.racing.estimates([left.contender, right.contender])
    except ConductorError as error:
        st.caption(plain(f"These cannot be run side by side: {error}"))
        return
    again = left.state is not None and right.state is not None
    with row("race-controls"):
        action(
            "Run both again" if again else "Run both",
            "sports_score",
            _start,
            bench,
            tab,
            race,
            key="race-start",
            type="secondary" if again else "primary",
            place="race",
            help="Start both plans at the same time and see which finishes first",
        )
        forecast = [
            f"{side.name}: {', '.join([quantity(one.calls, 'call'), *one.words])}"
            for side, one in zip(race.sides, estimates, strict=True)
        ]
        st.caption(plain(" · ".join(forecast)), width="stretch")
    tab.show_notice("race")


def stop_both(bench: Workbench, race: Race) -> None:
    """The button that stops what runs."""
    action("Stop both", "stop", _stop, bench, race, key="race-stop", help="Finished steps are kept")


def _start(bench: Workbench, tab: TabState, race: Race) -> None:
    if tab.pressed_again("race"):
        return
    left, right = race.sides
    runs = bench.racing.start(left.contender, right.contender)
    addresses = (address_of(bench.store.runs.find(live.run)) for live in runs)
    st.query_params.from_dict(dict(zip(("left", "right"), addresses, strict=True)))


def _stop(bench: Workbench, race: Race) -> None:
    for side in race.sides:
        if side.live:
            bench.running.stop(side.session.id)


# -- both on one clock ---------------------------------------------------------------------------------


def race_clock(race: Race, cards: Mapping[str, WorkerCard]) -> None:
    """A bar for each run from their common beginning, and the player that replays both; for two runs."""
    left, right = race.sides
    if left.state is None or right.state is None:
        return

    def wished(replay: Replay | None, mark: str) -> None:
        st.session_state[_REPLAY], st.session_state[_MARK] = replay, mark

    took = [_seconds(race, at) for at in range(2)]
    seconds = max(took)
    answered = [at for at, side in enumerate(race.sides) if side.state is not None and side.state.answered]
    first = min(answered, key=took.__getitem__, default=None)
    run_timeline(
        [_row(side, took[at], cards, first=at == first) for at, side in enumerate(race.sides)],
        key="compare-clock",
        run=_pair(left, right),
        seconds=seconds,
        live=race.live,
        recorded=None if race.recorded is None else seconds,
        replay=race.replay,
        mark=st.session_state.get(_MARK),
        moments=_moments(race),
        on_replay=wished,
    )


def _seconds(race: Race, at: int) -> float:
    """How long a side's run took, or has been running."""
    if race.recorded is not None:
        return race.recorded[at].seconds
    state = race.sides[at].state
    return 0.0 if state is None else state.elapsed(time.time()) or 0.0


def _moments(race: Race) -> list[float]:
    """Seconds at which a step of either began or ended."""
    moments: set[float] = set()
    for side in race.sides if race.recorded is not None else ():
        state = side.state
        if state is not None and state.started_at is not None:
            times = (at for step in state.steps for at in (step.started_at, step.finished_at))
            moments |= {at - state.started_at for at in times if at is not None}
    return sorted(moments)


def team(state: RunState, workflow: Workflow, cards: Mapping[str, WorkerCard]) -> dict[str, Mark]:
    """Who answers the steps of a run, in their order, with the marks of the pool's `cards`."""
    workers = [answering(step, own) for step, own in zip(workflow.steps, state.steps, strict=True)]
    marks = worker_marks(cards, *workers)
    return {worker: marks[worker] for worker in workers}


def _row(side: Side, seconds: float, cards: Mapping[str, WorkerCard], *, first: bool) -> Mapping[str, Any]:
    state = side.state
    assert state is not None, "both are runs"
    workers = team(state, side.workflow, cards)
    return {
        "name": side.name,
        "worker": ", ".join(workers),
        "marks": [asdict(mark) for mark in workers.values()],
        "label": f"{duration(seconds)}{' so far' if state.live else ''}",
        "details": [*(["First"] if first else []), side.origin],
        "status": state.status,
        "state": run_label(state),
        "called": True,
        "critical": first,
        "start": 0.0,
        "end": None if state.live else seconds,
        "first": None,
        "retries": [],
        "lanes": 0,
        "calls": [],
        "times": ["0 s", "-" if state.live else duration(seconds), duration(seconds)],
    }
