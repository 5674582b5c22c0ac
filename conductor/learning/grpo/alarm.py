"""The watch over a large Conductor's training: its gauges as the log has them, and what helps.

Pure: knows lines of the log, and no library that trains.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from conductor.evaluation.items import Item
from conductor.learning.gauges import NEED_SEVERAL, WINDOW, Alarm, CollapseWatch, Gauges, Stopped, Watched

METRICS = {"entropy": "routing_entropy", "tokens": "worker_tokens", "one_step": "one_step_of_more"}
"""What a gauge is called in the log, where its name would be one of TRL's, or short of its sense."""

ONE_STEP_SHARE = "one_step_share"
"""The share of plans with one step among all valid ones, whatever their questions need."""

_ROUTER = (
    "begin from a model whose plans take questions apart (--model), or learn from questions that one worker "
    "alone gets wrong; lower --learning-rate, or raise --rollouts"
)
_FORM = "lower --learning-rate, or raise --completion-tokens where plans are cut off"


def steps_needed(item: Item) -> int | None:
    """How many steps the question needs, None if its metadata has no number of them."""
    steps = item.metadata.get("steps")
    return steps if isinstance(steps, int) else None


class LogWatch:
    """Reads the log of a training on these items, and warns once for each kind of collapse.

    Where no item names how many steps it needs, all valid plans count. A form that is still to be learnt
    gives no alarm. `before` are lines of steps that were taken earlier.
    """

    def __init__(self, items: Sequence[Item], *, before: Iterable[Mapping[str, Any]] = ()) -> None:
        is_known = any((steps_needed(item) or 1) > 1 for item in items)
        self._names = METRICS if is_known else METRICS | {"one_step": ONE_STEP_SHARE}
        watched = Watched(
            plans=NEED_SEVERAL if is_known else "valid plans",
            router=_ROUTER,
            form=_FORM,
            form_to_learn=True,
        )
        self._watch = CollapseWatch(watched, before=map(self._gauges, filter(is_step, before)))

    def read(self, line: Mapping[str, Any]) -> Alarm | None:
        """The warning that this line of a step gives rise to, None for none."""
        return self._watch.read(self._gauges(line))

    def _gauges(self, line: Mapping[str, Any]) -> Gauges:
        names = {field.name: self._names.get(field.name, field.name) for field in fields(Gauges)}
        return Gauges.of_row({name: line.get(logged) for name, logged in names.items()})


@dataclass(frozen=True)
class Idle(Stopped):
    """A training that was ended after this step, since nothing could be learnt any more."""

    @property
    def reason(self) -> str:
        """What happened and what to do, for people."""
        return (
            f"Nothing was learnt in {WINDOW} steps, and the training was stopped after step {self.step}: "
            f"{self.alarm.what}. To learn something, {self.alarm.cure}"
        )


CUT = "completions/clipped_ratio"
"""What TRL calls the share of completions that reached the limit of tokens."""


class IdleWatch:
    """Reads the log of a training, and names the cause where no group was live in `WINDOW` steps.

    A group is live where the rewards of its rollouts differ. `before` are lines of steps taken earlier.
    """

    def __init__(self, *, before: Iterable[Mapping[str, Any]] = ()) -> None:
        self._last = deque(filter(is_step, before), maxlen=WINDOW)

    def read(self, line: Mapping[str, Any]) -> Alarm | None:
        """The cause, None as long as something is learnt."""
        self._last.append(line)
        return self.cause if len(self._last) == WINDOW else None

    @property
    def cause(self) -> Alarm | None:
        """Why nothing was learnt in the last steps, however few; None if something was."""
        if not self._last or any(each["live"] > 0 for each in self._last):
            return None
        causes = (
            (
                self._always(CUT, 1) and not self._always("right", 1),
                "all completions were cut at the longest that they may be",
                "raise --completion-tokens, or begin from a model that ends its answers (--model)",
            ),
            (
                self._always("valid", 0),
                "no completion holds a valid plan",
                "begin from a model that writes plans (--model), as after `learn corrections`",
            ),
            (
                self._always("right", 1),
                "all answers are right",
                "take questions that are harder for these workers",
            ),
            (
                self._always("right", 0),
                "all plans are valid, and no answer is right",
                "take questions that these workers can answer, or other workers; look at a few answers first",
            ),
        )
        for applies, what, cure in causes:
            if applies:
                return Alarm(what, cure)
        return Alarm(
            "all rollouts of a question had the same reward",
            "raise --rollouts, or take questions that are answered now right, now wrong",
        )

    def _always(self, name: str, value: float) -> bool:
        return all(line.get(name) == value for line in self._last)


def is_step(line: Mapping[str, Any]) -> bool:
    """Whether the line of a log is of a step, and not of the whole training."""
    return "valid" in line
