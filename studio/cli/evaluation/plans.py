"""The workflows that an evaluation is given by name: of a file, or of a session.

Knows how they are named on the command line; `studio.evaluation` runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conductor.evaluation.plan_sources import PLAN, FixedPlan
from conductor.files.named_file import STDIN, read_bounded
from conductor.workflow.file import MAX_BYTES, read_plan
from storage import SessionStore
from studio.evaluation.given_plans import plan_of_session


def plans_of_files(planners: Sequence[str]) -> tuple[FixedPlan, ...]:
    """The workflows of `plan:FILE.json` and of `plan:-`, which is stdin.

    Raises `FormatError` for what is no workflow, and `DataError`.
    """
    return tuple(_plan_of_file(name) for name in planners if name.startswith(PLAN) and _is_file(name))


def plan_named(store: SessionStore, reference: str) -> FixedPlan:
    """The workflow of a file or a session, with or without `plan:` before it. Raises as `plans_of_files`."""
    name = f"{PLAN}{reference.removeprefix(PLAN)}"
    return _plan_of_file(name) if _is_file(name) else plan_of_session(store, name)


def _is_file(name: str) -> bool:
    return name.endswith(".json") or name == f"{PLAN}{STDIN}"


def _plan_of_file(name: str) -> FixedPlan:
    path = Path(name.removeprefix(PLAN))
    content = read_bounded(path, most=MAX_BYTES, kind="a workflow file")
    return FixedPlan.of(name, "stdin" if str(path) == STDIN else path.name, read_plan(content).workflow)
