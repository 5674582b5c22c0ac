"""The plan check: what was found step by step, and a button for each fix."""

from __future__ import annotations

import streamlit as st

from conductor.workflow.lint import RULES, Finding, Fix, Severity
from conductor.workflow.model import Workflow
from pages.components.tab.state import TabState, plain
from pages.components.view_models.card_content import step_name
from pages.components.view_models.lint_findings import by_step, findings, fixed, nothing_found, summary
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.workbench.editor import Editor
from pages.components.workbench.settings import open_settings
from studio.workbench import Workbench

_SEVERITIES: dict[Severity, str] = {
    "warning": ":orange[:material/warning:] **Warning**",
    "note": ":material/info: **Note**",
}


def remark(bench: Workbench, view: SessionView) -> str:
    """How many findings there are, for the panel's name; "" where none."""
    found = findings(view, bench.pool.names)
    return str(len(found)) if found else ""


def check_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw what the check found in the session's workflow."""
    if view.head is None:
        return
    found = findings(view, bench.pool.names)
    with st.container(key="check", gap="small"):
        if not found:
            st.markdown(f":green[:material/check_circle:] {nothing_found(view)}")
            with st.expander("What is checked", icon=":material/checklist:", key="check-rules"):
                st.markdown("\n".join(f"- {rule}" for rule in RULES.values()))
            return
        st.caption(f"{summary(found)}. A finding never keeps a workflow from running.")
        editor = Editor.of(bench, tab, view.head, place="panels")
        locked = view.locked or view.replay is not None
        for step, group in by_step(found):
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
            action("Change the limit", None, open_settings, "steps", key="check-limit")
    if not finding.fixes:
        st.caption("No other worker is known that could do it; choose a worker or change the instruction.")


def _fix(editor: Editor, view: SessionView, finding: Finding, fix: Fix) -> None:
    """Carry a fix out on the workflow as it is by then: the same click may end the edit of a text."""

    def edited() -> Workflow:
        now = findings(view, editor.bench.pool.names, workflow=editor.workflow)
        return fixed(finding, fix, now) or editor.workflow

    renumbers = len(fix.workflow) != len(editor.workflow)
    place = fix.workflow.final if finding.step is None else min(finding.step, fix.workflow.final)
    editor.commit(edited, f"Check: {fix.label}", select=place if renumbers else None)
