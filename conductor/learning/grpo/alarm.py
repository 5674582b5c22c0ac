"""The watch over a large Conductor's training: its gauges as the log has them, and what helps.

Pure: knows lines of the log, and no library that trains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from conductor.evaluation.items import Item
from conductor.learning.gauges import NEED_SEVERAL, Alarm, CollapseWatch, Gauges, Watched

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
    """How many steps the question needs, None where its metadata has no number of them."""
    steps = item.metadata.get("steps")
    return steps if isinstance(steps, int) else None


class LogWatch:
    """Reads the log of a training on these items, and warns once for each kind of collapse.

    Where no item names how many steps it needs, all valid plans count. A form that is still to be learnt
    gives no alarm. `before` are lines of steps that were taken earlier.
    """

    def __init__(self, items: Sequence[Item], *, before: Iterable[Mapping[str, Any]] = ()) -> None:
        known = any((steps_needed(item) or 1) > 1 for item in items)
        self._names = METRICS if known else METRICS | {"one_step": ONE_STEP_SHARE}
        watched = Watched(
            plans=NEED_SEVERAL if known else "valid plans",
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


def is_step(line: Mapping[str, Any]) -> bool:
    """Whether the line of a log is of a step, and not of the whole training."""
    return "valid" in line
