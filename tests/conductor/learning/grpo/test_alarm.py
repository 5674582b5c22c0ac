from __future__ import annotations

from typing import Any

import pytest

from conductor.evaluation.items import Item
from conductor.learning.gauges import WINDOW
from conductor.learning.grpo.alarm import LogWatch


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
    found = [(at, alarm) for at, alarm in enumerate(alarms, start=1) if alarm is not None]
    if what is None:
        assert found == []
        return
    ((at, alarm),) = found
    assert at == WINDOW
    assert what in alarm.what
    assert "--learning-rate" in alarm.cure


def test_a_checkpoints_log_goes_on_with_its_last_line_of_the_whole_training():
    before = [line(one_step_share=1.0)] * WINDOW + [{"train_runtime": 3.0}]
    assert LogWatch([item()], before=before).read(line(one_step_share=1.0)) is not None
    assert LogWatch([item()], before=before[:2]).read(line(one_step_share=1.0)) is None
