from __future__ import annotations

from typing import Any

import pytest

from conductor.evaluation.items import Item
from conductor.learning.gauges import WINDOW
from conductor.learning.grpo.alarm import CUT, Idle, IdleWatch, LogWatch


def item(**metadata: Any) -> Item:
    return Item(id="a", input="What is 17 * 23?", target=("391",), metadata=metadata)


def line(**metrics: float) -> dict[str, Any]:
    """A line of the log, with TRL's own metrics beside ours."""
    ours = {"reward": 0.7, "valid": 0.9, "right": 0.6, "steps": 1.4, "live": 0.5, "one_step_share": 0.6}
    return {"step": 1, "entropy": 3.2, **ours, **metrics}


@pytest.mark.parametrize(
    ("items", "metrics", "what"),
    [
        ([item(steps=2), item()], {"one_step_of_more": 0.9}, "90% of the plans for questions that need"),
        ([item(steps=2), item()], {"one_step_of_more": 0.2, "one_step_share": 1.0}, None),
        ([item(steps=2), item()], {"one_step_share": 1.0}, None),
        ([item(steps=1), item(steps="many")], {"one_step_share": 0.95}, "95% of the valid plans have one"),
        ([item()], {}, None),
        ([item()], {"valid": 0.1}, None),
    ],
)
def test_the_share_that_is_known_gives_alarm(items: list[Item], metrics: dict[str, float], what: str | None):
    watch = LogWatch(items)
    alarms = [watch.read(line(**metrics)) for _ in range(WINDOW + 3)]
    pairs = [(at, alarm) for at, alarm in enumerate(alarms, start=1) if alarm is not None]
    if what is None:
        assert pairs == []
        return
    ((at, alarm),) = pairs
    assert at == WINDOW
    assert what in alarm.what
    assert "--learning-rate" in alarm.cure


def test_a_checkpoints_log_goes_on_with_its_last_line_of_the_whole_training():
    before = [line(one_step_share=1.0)] * WINDOW + [{"train_runtime": 3.0}]
    assert LogWatch([item()], before=before).read(line(one_step_share=1.0)) is not None
    assert LogWatch([item()], before=before[:2]).read(line(one_step_share=1.0)) is None


@pytest.mark.parametrize(
    ("metrics", "what", "cure"),
    [
        ({"valid": 0.0, "right": 0.0, CUT: 1.0}, "all completions were cut", "--completion-tokens"),
        ({"valid": 0.0, "right": 0.0, CUT: 0.5}, "no completion holds a valid plan", "--model"),
        ({"valid": 1.0, "right": 1.0, CUT: 1.0}, "all answers are right", "harder"),
        ({"valid": 1.0, "right": 0.0, CUT: 0.0}, "no answer is right", "workers can answer"),
        ({"valid": 1.0, "right": 0.5, CUT: 0.0}, "had the same reward", "--rollouts"),
    ],
)
def test_a_training_in_which_nothing_can_be_learnt_is_ended_with_the_cause(
    metrics: dict[str, float], what: str, cure: str
) -> None:
    watch = IdleWatch()
    assert [watch.read(line(live=0.0, **metrics)) for _ in range(WINDOW - 1)] == [None] * (WINDOW - 1)
    cause = watch.read(line(live=0.0, **metrics))
    assert cause is not None
    reason = Idle(WINDOW, cause).reason
    assert reason.startswith(f"Nothing was learnt in {WINDOW} steps")
    assert what in reason
    assert cure in reason


def test_a_live_group_now_and_then_is_enough_to_go_on() -> None:
    watch = IdleWatch(before=[line(live=0.0)] * (WINDOW - 1) + [{"train_loss": 0.1}])
    assert watch.read(line(live=0.25)) is None
    assert [watch.read(line(live=0.0)) for _ in range(WINDOW - 1)] == [None] * (WINDOW - 1)
    assert watch.read(line(live=0.0)) is not None
    assert IdleWatch(before=[line(live=0.0)] * (WINDOW - 1)).read(line(live=0.0)) is not None


def test_a_training_too_short_to_be_stopped_names_the_cause_at_its_end() -> None:
    watch = IdleWatch()
    assert watch.cause is None, "no step was taken"
    assert [watch.read(line(live=0.0, **{CUT: 1.0})) for _ in range(2)] == [None, None]
    assert watch.cause is not None
    assert "raise --completion-tokens" in watch.cause.cure
    watch.read(line(live=0.5))
    assert watch.cause is None
