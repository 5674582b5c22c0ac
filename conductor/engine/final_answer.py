"""The answer of a run: the step that gives it, and the warning that goes with it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from conductor.values.output import Output
from conductor.workflow.model import Workflow


def answer_of(
    workflow: Workflow, outputs: Mapping[int, Output], *, goal: int, lost: Collection[int]
) -> tuple[int | None, str | None]:
    """The step whose response is the answer, and a warning where it is not simply the final step's.

    None where no step has a response, or the run was not for the final step (`goal`). `lost` are the steps
    that failed or were blocked. All positions.
    """
    final = workflow.final
    if final not in outputs or goal != final:
        return None, None
    failed = ", ".join(str(step + 1) for step in sorted(lost))
    warning = f"Failed or blocked, and not read by the answer: step {failed}." if failed else None
    if not outputs[final].empty:
        return final, warning
    spoken = [step for step, output in outputs.items() if not output.empty]
    if not spoken:
        return None, "Every step's response is empty."
    step = max(spoken)
    return step, f"The final step's response is empty; this is the response of step {step + 1}."
