"""What running steps write, beside the graph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pages.components.workbench.following import live
from tests.support.runs.workflow_cases import workflow_of


@pytest.mark.parametrize(("running", "expected"), [(3, 3), (20, 20), (400, 20)])
def test_only_so_many_running_steps_are_shown_as_a_page_can_draw(
    running: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []
    monkeypatch.setattr(live, "rendered_text", lambda _, *, label, **__: labels.append(label))
    for name in ("stand_in", "withdrawn_note", "silence_lines"):
        monkeypatch.setattr(live, name, lambda *_: ())
    step = SimpleNamespace(status="running", text="")
    state = SimpleNamespace(run="r", live=True, workflow=workflow_of(*[()] * running), steps=[step] * running)
    live.streaming(cast("Any", SimpleNamespace(state=state)), noted=False)
    assert len(labels) == expected
