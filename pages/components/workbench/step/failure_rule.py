"""The fields of a step's rule for failures: more calls, a fallback, a text of the step's own.

Knows the rule and the editor; what a rule does is the engine's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import streamlit as st

from conductor.workflow.on_failure import MAX_PAUSE, MAX_RETRIES, OnFailure
from pages.components.tab.state import plain
from pages.components.widgets.controls import expander, row
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.editor import Editor

_FAILS, _SKIPPED, _TEXT = "The step fails", "The step is skipped", "A text replaces it"


def failure_rule(editor: Editor, step: int, *, workers: Collection[str], locked: bool) -> None:
    """Draw the step's rule, closed: its words; open: the form that changes it."""
    own = editor.workflow.steps[step]
    rule = own.on_failure or OnFailure()
    words = "If it fails" if rule.nothing else f"If it fails: {rule.words}"
    box = expander(plain(words), "healing", key=f"failure-{editor.session}-{step}")
    if box is None:
        return
    # A rule that was changed elsewhere is shown in fields of its own.
    of_rule = hashlib.sha256(rule.model_dump_json().encode()).hexdigest()[:12]
    key = f"failure-{editor.session}-{step}-{of_rule}"
    names = [rule.fallback or "", *(name for name in workers if name != own.worker)]
    others = {"": "No other worker"} | {name: name for name in names if name}
    with box, st.form(key, border=False):
        with row(gap="small"):
            retries = st.number_input(
                "Retries",
                0,
                MAX_RETRIES,
                rule.retries,
                key=f"{key}-retries",
                disabled=locked,
                help="With the same worker, after the retries of its endpoint",
            )
            pause = st.number_input(
                "Pause, seconds",
                0.0,
                MAX_PAUSE,
                rule.pause,
                step=1.0,
                format="%g",
                key=f"{key}-pause",
                disabled=locked,
            )
            fallback = st.selectbox(
                "Then ask",
                list(others),
                list(others).index(rule.fallback or ""),
                key=f"{key}-fallback",
                format_func=distinct_labels(others),
                disabled=locked,
            )
        end = st.selectbox(
            "If no answer comes",
            [_FAILS, _SKIPPED, _TEXT],
            0 if rule.output is None else 2 if rule.output.strip() else 1,
            key=f"{key}-end",
            disabled=locked,
            help="Readers get nothing from a skipped step; a text is marked as written by a person",
        )
        text = st.text_area(
            "Replacement text", rule.output or "", key=f"{key}-text", height=80, disabled=locked
        )
        keep = st.checkbox(
            "Keep the replacement",
            rule.keep,
            key=f"{key}-keep",
            disabled=locked,
            help="A rerun does not try the step's own worker again",
        )
        if st.form_submit_button("Save", icon=":material/check:", key=f"{key}-save", disabled=locked):
            output = None if end == _FAILS else "" if end == _SKIPPED else text
            editor.on_failure(
                step,
                OnFailure(
                    retries=retries,
                    pause=pause,
                    fallback=fallback or None,
                    output=output,
                    keep=keep,
                ),
            )
            st.rerun()
