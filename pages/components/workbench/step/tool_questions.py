"""The calls of a step's tools that wait for a person: what each would do, and what the person makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from conductor.runs.step_state import StepState
from conductor.values.message_parts.tool_use import (
    QuestionReason,
    ToolDecision,
    ToolRequest,
    Verdict,
    WaitingCall,
    indented,
)
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.bar.run import start
from studio.workbench import Workbench

_VERDICTS: Mapping[Verdict, str] = {
    "allow": "Allow",
    "refuse": "Refuse",
    "answer": "Answer in its place",
}

_WHY: Mapping[QuestionReason, str] = {
    "acts": "It may act: its server does not mark it as only reading.",
    "unsure": "It was under way when the program ended, and may have acted already.",
}


def tool_questions(bench: Workbench, tab: TabState, view: SessionView, step: int) -> None:
    """Draw those of `step`, and the button that goes on with what was decided; nothing if none waits."""
    at = view.asks.get(step)
    if at is None or view.state is None or view.locked:
        return
    run, state = view.state.run, view.state.steps[at]
    with st.container(border=True, key="tool-questions", gap="small"):
        forms = [
            _Form(f"tool-{run}-{at}-{each.question.at}", state, each)
            for each in view.state.waiting_calls
            if each.step == at
        ]
        for form in forms:
            form.draw()

        def go_on() -> None:
            decisions = [form.decision() for form in forms]
            start(bench, tab, view.session.id, None, decisions=decisions)

        open_calls = not all(form.verdict for form in forms)
        tip = "Decide every call first" if open_calls else "The step goes on; no other gate is passed"
        action("Go on", "play_arrow", go_on, key="tools-go-on", type="primary", help=tip, disabled=open_calls)


class _Form:
    """The fields of one call."""

    def __init__(self, key: str, state: StepState, waiting: WaitingCall) -> None:
        self._key = key
        self._waiting = waiting
        self._call, self._question = waiting.call, waiting.question
        self._description = _description(state, self._call)
        self._written = indented(self._call.call.arguments)

    @property
    def verdict(self) -> Verdict | None:
        verdict: Verdict | None = st.session_state.get(f"{self._key}-verdict")
        return verdict

    def draw(self) -> None:
        st.markdown(f"**{plain(self._call.words)}**")
        st.caption(_WHY[self._question.why])
        if self._description:
            st.caption(plain(f"Its server states: {self._description}", limit=400))
        st.text_area("Arguments", self._written, key=f"{self._key}-arguments")
        st.segmented_control(
            "Decision",
            list(_VERDICTS),
            key=f"{self._key}-verdict",
            format_func=distinct_labels(_VERDICTS),
            label_visibility="collapsed",
        )
        if self.verdict == "refuse":
            st.text_input("Reason, which the worker reads", key=f"{self._key}-refuse")
        elif self.verdict == "answer":
            st.text_area("Result, as if the tool had given it", key=f"{self._key}-answer")
        elif self.verdict == "allow" and self._question.once:
            st.caption("Further calls of this tool in this session are allowed with it.")

    def decision(self) -> ToolDecision:
        """What the fields have now."""
        verdict = self.verdict
        assert verdict is not None, "the button waits for it"
        if verdict != "allow":
            return self._waiting.decided(verdict, text=st.session_state.get(f"{self._key}-{verdict}", ""))
        arguments = st.session_state.get(f"{self._key}-arguments", self._written)
        return self._waiting.decided(verdict, arguments=None if arguments == self._written else arguments)


def _description(state: StepState, call: ToolRequest) -> str:
    """What the tool's server states of it, which is untrusted."""
    offer = None if state.request is None else state.request.sampling.tools
    tools = () if offer is None else offer.tools
    return next((tool.description or "" for tool in tools if tool.name == call.call.name), "")
