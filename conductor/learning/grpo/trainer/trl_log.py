"""The log of a training: a line a step, shown and watched as it is written. Knows TRL's callbacks."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from transformers import TrainerCallback

from conductor.evaluation.items import Item
from conductor.learning.gauges import Stopped
from conductor.learning.grpo.alarm import Idle, IdleWatch, LogWatch, is_step
from conductor.learning.grpo.trainer.training import Remark, Training
from conductor.text.formatting import percent

LOG = "log.jsonl"
"""The file of a run's metrics, a line a step."""


class TrainingLog(TrainerCallback):  # type: ignore[misc]
    """Writes each step's metrics as a line of JSON, and the gauges for who watches.

    Warns of a collapse; stops where nothing is learnt. All processes have the same metrics, so all of them
    stop at the same step.
    """

    def __init__(self, training: Training, items: Sequence[Item], remark: Remark) -> None:
        self.stopped: Stopped | None = None
        self._file, self._steps, self._remark = training.folder / LOG, training.recipe.steps, remark
        self._items, self._stops = items, training.stop_on_collapse
        self._watch, self._idle = LogWatch(items), IdleWatch()

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """See `TrainerCallback.on_train_begin`; a checkpoint has the metrics of the steps before it."""
        self._watch = LogWatch(self._items, before=state.log_history)
        self._idle = IdleWatch(before=state.log_history)

    def on_log(self, _args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """See `TrainerCallback.on_log`."""
        if not logs:
            return
        alarm, cause = (watch.read(logs) if is_step(logs) else None for watch in (self._watch, self._idle))
        if cause is not None:
            alarm = cause
            self.stopped = Idle(state.global_step, cause)
        elif alarm is not None and self._stops:
            self.stopped = Stopped(state.global_step, alarm)
        if self.stopped is not None:
            control.should_training_stop = control.should_save = True
        if state.is_world_process_zero:
            self._add(state.global_step, logs)
            self._show(state.global_step, logs)
            if alarm is not None:
                self._add(state.global_step, {"alarm": alarm.what, "cure": alarm.cure})
                self._remark(f"step {state.global_step}: {alarm.words}")

    def on_train_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """See `TrainerCallback.on_train_end`. A training may be too short to be stopped."""
        cause = None if self.stopped is not None else self._idle.cause
        if cause is not None and state.is_world_process_zero:
            self._remark(f"nothing was learnt: {cause.words}")

    def _add(self, step: int, metrics: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "at": round(time.time(), 1), **metrics}) + "\n")

    def _show(self, step: int, logs: Mapping[str, Any]) -> None:
        if is_step(logs):
            steps = f", {logs['steps']:.2f} steps a plan" if "steps" in logs else ""
            self._remark(
                f"step {step} of {self._steps}: {percent(logs['valid'])} valid, "
                f"{percent(logs['right'])} right{steps}, {logs['calls']:.0f} calls, "
                f"{logs['calls_saved']:.0f} saved"
            )
        elif "eval_right" in logs:
            self._remark(
                f"after step {step}, held-out questions: {percent(logs['eval_valid'])} valid, "
                f"{percent(logs['eval_right'])} right"
            )
