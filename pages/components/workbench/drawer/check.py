"""The plan check: who reads whom, as a grid; what was found step by step, and a button for each fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import Any

import streamlit as st

from conductor.planner.prompt.examples import example_instructions
from conductor.text.formatting import quantity
from conductor.values.output import Output
from conductor.workflow.lint import RULES, Finding, Fix, Severity, check
from conductor.workflow.model import Workflow
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action
from pages.components.workbench.drawer.access import access_view
from pages.components.workbench.editor import Editor
from pages.components.workbench.question.settings import open_settings
from studio.workbench import Workbench

focus_fallback("check", "panel")

_Outputs = tuple[tuple[int, Output], ...]
_Tools = Mapping[str, tuple[str, ...]]
_NO_TOOLS: _Tools = MappingProxyType({})

_SEVERITIES: dict[Severity, str] = {
    "warning": ":orange[:material/warning:] **Warning**",
    "note": ":material/info: **Note**",
}


def remark(bench: Workbench, view: SessionView) -> str:
    """How many findings there are, for the panel's name; "" without any."""
    results = findings(view, bench.pool.names, tools=bench.pool.tools)
    return str(len(results)) if results else ""


def check_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the access of the session's workflow, and beside it what the check found."""
    with st.container(horizontal=True, gap="medium", key="check-panel"):
        with st.container(key="access"):
            access_view(bench, tab, view)
        _results(bench, tab, view)


def _results(bench: Workbench, tab: TabState, view: SessionView) -> None:
    if view.head is None:
        return
    results = findings(view, bench.pool.names, tools=bench.pool.tools)
    with st.container(key="check", gap="small"):
        if not results:
            st.markdown(f":green[:material/check_circle:] {no_findings(view, tools=bench.pool.tools)}")
            with st.expander("What is checked", icon=":material/checklist:", key="check-rules"):
                st.markdown("\n".join(f"- {rule}" for rule in RULES.values()))
            return
        st.caption(f"{summary(results)}. You can run the workflow with them.")
        editor = Editor.of(bench, tab, view.head, place="panels")
        locked = view.locked or view.replay is not None
        for step, group in by_step(results):
            with st.container(border=True, key=f"check-of-{'all' if step is None else step}", gap="xsmall"):
                _heading(tab, view.head.workflow, step)
                for at, finding in enumerate(group):
                    _finding(editor, view, finding, key=f"{finding.rule}-{step}-{at}", locked=locked)


def _heading(tab: TabState, workflow: Workflow, step: int | None) -> None:
    """Whose findings follow; a step's name selects it."""
    if step is None:
        st.markdown("**The whole workflow**")
        return

    def selected() -> None:
        tab.select(step)
        tab.redraw(["canvas", "inspector"])

    action(
        f"**{plain(step_name(workflow, step), limit=80)}**",
        None,
        selected,
        key=f"check-step-{step}",
        help="Select this step",
        type="tertiary",
        redraw=False,
    )


def _finding(editor: Editor, view: SessionView, finding: Finding, *, key: str, locked: bool) -> None:
    st.markdown(f"{_SEVERITIES[finding.severity]}  {plain(finding.sentence)}")
    with st.container(horizontal=True, gap="small", key=f"fixes-{key}"):
        for at, fix in enumerate(finding.fixes):
            action(
                plain(fix.label, limit=80),
                None,
                _fix,
                editor,
                view,
                finding,
                fix,
                key=f"fix-{key}-{at}",
                help="Wait for the run, or stop it, then edit." if locked else None,
                disabled=locked,
            )
        if finding.rule == "too-many-steps":
            action("Change the limit", None, open_settings, key="check-limit")
    if not finding.fixes:
        st.caption("No other worker seems able to do it. Choose a worker, or change the instruction.")


def _fix(editor: Editor, view: SessionView, finding: Finding, fix: Fix) -> None:
    """Carry a fix out on the workflow as it is by then: the same click may end the edit of a text."""

    def edited() -> Workflow:
        pool = editor.bench.pool
        now = findings(view, pool.names, tools=pool.tools, workflow=editor.workflow)
        return fixed(finding, fix, now) or editor.workflow

    renumbers = len(fix.workflow) != len(editor.workflow)
    place = fix.workflow.final if finding.step is None else min(finding.step, fix.workflow.final)
    editor.commit(edited, f"Check: {fix.label}", select=place if renumbers else None)


# -- what is found, without the page ------------------------------------------------------------------


def findings(
    view: SessionView, names: Sequence[str], *, tools: _Tools = _NO_TOOLS, workflow: Workflow | None = None
) -> tuple[Finding, ...]:
    """What is found in the session's workflow, or in `workflow` in its place; `names` are the pool's, `tools`
    those of its workers that have some.
    """
    if view.head is None:
        return ()
    current = view.head.workflow
    return _lint(
        current if workflow is None else workflow,
        known_outputs(view) if workflow is None or workflow == current else (),
        tuple(tools.items()),
        max_steps=view.settings.max_steps,
        later_round=view.head.looks_back is not None,
        query=view.session.query,
        workers=view.settings.workers or tuple(names),
        changed_pins=view.pin_changed,
    )


def known_outputs(view: SessionView) -> _Outputs:
    """The outputs that the steps of the session's workflow have, by position."""
    if view.state is not None and view.as_run:
        steps = enumerate(view.state.steps)
        return tuple((at, step.output) for at, step in steps if step.output is not None)
    return tuple(sorted(view.radius.outputs.items())) if view.radius else ()


# A page asks for the same again and again: at each look at its panels' names.
@lru_cache(maxsize=64)
def _lint(
    workflow: Workflow, outputs: _Outputs, tools: tuple[tuple[str, tuple[str, ...]], ...], **options: Any
) -> tuple[Finding, ...]:
    examples = example_instructions()
    return check(workflow, outputs=dict(outputs), tools=dict(tools), examples=examples, **options)


def fixed(finding: Finding, fix: Fix, now: Sequence[Finding]) -> Workflow | None:
    """The workflow after a fix that was drawn earlier, or None if `now` is without its finding."""
    alike = (other for other in now if (other.rule, other.step) == (finding.rule, finding.step))
    return next((way.workflow for other in alike for way in other.fixes if way.label == fix.label), None)


def by_step(results: Sequence[Finding]) -> Iterator[tuple[int | None, list[Finding]]]:
    """Findings by their step, the whole workflow's under None."""
    for step, group in groupby(results, key=lambda finding: finding.step):
        yield step, list(group)


def summary(results: Sequence[Finding]) -> str:
    """The number of findings of each kind."""
    kinds = [finding.severity for finding in results]
    return ", ".join(quantity(kinds.count(kind), kind) for kind in ("warning", "note") if kind in kinds)


def no_findings(view: SessionView, *, tools: _Tools = _NO_TOOLS) -> str:
    """What stands where there is no finding; a rule that had nothing to look at is not counted."""
    rules = len(RULES) if tools else len(RULES) - 2
    if known_outputs(view):
        return f"Nothing found; {rules} rules checked."
    return f"Nothing found; {rules - 2} rules checked. Two more check outputs after a run."
