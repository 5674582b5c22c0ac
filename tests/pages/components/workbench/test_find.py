"""What Ctrl+K searches of the open session."""

from __future__ import annotations

from itertools import count

import pytest

from conductor.runs.state import RunState
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView
from pages.components.workbench.find import _texts
from studio.workbench import Workbench


def test_the_workflow_is_compared_with_the_run_once_however_many_steps_are_searched(
    bench: Workbench, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.running.start(session).done.wait(timeout=60)
    bench.activities.wait(session)  # which ends a moment after its run
    view = SessionView.load(bench, session)
    comparisons, is_run_of = count(), RunState.is_run_of

    def compared(state: RunState, workflow: Workflow) -> bool:
        next(comparisons)
        return is_run_of(state, workflow)

    monkeypatch.setattr(RunState, "is_run_of", compared)
    texts = list(_texts(bench, view, bench.store.runs.of_session(session)))
    assert sum(text.part == "output" for text in texts) > 1
    assert next(comparisons) == 1
