"""The result of a step: retries, reasoning, fallback, output, time, tokens, cost.

Knows a step's state; knows neither sessions nor edits, so that it shows the steps of nested workflows too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import streamlit as st

from conductor.report.words import request_name
from conductor.runs.events import Retry
from conductor.runs.step_state import StepState, StepStatus
from conductor.text.excerpt import excerpt
from conductor.text.formatting import LISTED, duration, quantity
from conductor.values.message_parts.tool_use import ToolUse, indented
from conductor.values.output import CUT_OFF, KIND_LABELS, NO_ANSWER
from conductor.values.total import Total
from pages.components.tab.state import plain
from pages.components.view_models.run_text import by_hand, kind_notes, stand_in
from pages.components.view_models.workflow.card_content import calls_now, phase, seconds_to_retry
from pages.components.widgets.controls import expander
from pages.components.widgets.notable import Notable
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import text_block

_STATUS: dict[str, tuple[str, str, str]] = {
    "waiting": (":material/schedule:", "gray", "not run"),
    "running": (":material/progress_activity:", "blue", "running"),
    "thinking": (":material/psychology:", "blue", "thinking"),
    "retrying": (":material/hourglass_top:", "orange", "waiting to retry"),
    "finished": (":material/check_circle:", "green", "finished"),
    "refused": (":material/help:", "orange", NO_ANSWER),
    "empty": (":material/radio_button_unchecked:", "orange", "empty"),
    "failed": (":material/error:", "red", "failed"),
    "blocked": (":material/block:", "orange", "blocked"),
    "cancelled": (":material/stop_circle:", "orange", "stopped"),
    "interrupted": (":material/power_off:", "orange", "interrupted"),
    "paused": (":material/front_hand:", "orange", "held at its gate"),
}

_COLOURED = 4_000
"""Characters of what a tool was sent or returned that are shown as code."""

_TALL = 240

_KEPT_IN_PART: tuple[StepStatus, ...] = ("failed", "cancelled", "interrupted")


def status_badge(state: StepState) -> None:
    """The step's state as an icon and a word."""
    icon, colour, _ = _STATUS[phase(state, time.time())]
    st.badge(status_word(state), icon=icon, color=colour)  # type: ignore[arg-type]


def status_word(state: StepState) -> str:
    """The step's state in a word or two."""
    word = "waits for a yes" if state.questions else _STATUS[phase(state, time.time())][2]
    source = state.reuse or ("as before" if state.kept_because == "preloaded" else state.kept_because)
    # That an output is known already must not hide that it is no answer.
    return f"{word}, {source}" if source and state.status == "refused" else source or word


def silence(state: StepState) -> str:
    """What a running step does that has not begun its answer."""
    if state.inner:
        return "done by the workflow inside it"
    if calls := calls_now(state, time.time()):
        return calls
    wait = seconds_to_retry(state, time.time())
    if wait is not None:
        last = state.retries[-1].withdrawn
        gave = f"broke off, {quantity(last, 'character')} withdrawn" if last else "returned nothing"
        return f"{gave}; retry in {wait:.1f} s"
    if state.reasoning:
        return "thinking; no answer yet"
    if state.tool_uses:
        return f"{quantity(len(state.tool_uses), 'tool call')} answered, waiting for the first words"
    return "retrying, waiting for the first words" if state.retries else "waiting for the first words"


def silence_lines(state: StepState) -> str:
    """The same as a line, below one for each of its last calls of tools with the beginning of its result, and
    for each of several that are under way.
    """
    words = silence(state)
    lines = [f"{use.line} → {excerpt(use.result)}" for use in state.tool_uses[-LISTED:]]
    if len(state.unanswered) > 1:
        lines += [f"{call.tool.line} → …" for call in state.unanswered[:LISTED] if call.tool is not None]
    return "\n".join([*lines, f"{words[0].upper()}{words[1:]}…"])


def withdrawn_note(state: StepState) -> list[str]:
    """That text which was shown counts no more, as a note of what is shown now."""
    return [f"{quantity(state.withdrawn, 'character')} withdrawn"] if state.withdrawn else []


def on_the_way(state: StepState, *, key: str) -> None:
    """What happened before the answer: calls that gave nothing, those of tools, and the reasoning."""
    calls_before(state, key=key)
    if state.reasoning and (box := expander("Reasoning", "psychology", key=f"reasoning-{key}")):
        with box:
            reasoning_view(state, key=key)


def calls_before(state: StepState, *, key: str) -> None:
    """The calls that gave nothing, and those of tools, each kind in a box that is closed at first."""
    # Drawn again when a run ends: what the server knows to be open stays open, and what is closed is not
    # sent.
    if state.retries and (box := expander("Retries", "refresh", key=f"retries-{key}")):
        with box:
            for retry in state.retries:
                st.caption(plain(retry_text(retry)))
    uses = state.tool_uses
    calls = quantity(len(uses) + len(state.unanswered), "tool call")
    if (uses or state.unanswered) and (box := expander(calls, "build", key=f"tool-calls-{key}")):
        with box:
            for at, use in enumerate(uses):
                _tool_use(use, key=f"tool-{key}-{at}")
            for at, call in enumerate(state.unanswered):
                if call.tool is not None:
                    doing = "no result" if state.done else "under way"
                    st.caption(f"**{plain(call.name, limit=200)}** · {doing}")
                    arguments = indented(call.tool.call.arguments)
                    _code(arguments, "json", label="Arguments", key=f"unanswered-{key}-{at}")


def _tool_use(use: ToolUse, *, key: str) -> None:
    """A call of a tool: what it was, who allowed it, its arguments and its result."""
    facts = [duration(use.seconds), *(["error"] if use.is_error else []), *use.origin]
    st.caption(f"**{plain(use.words, limit=200)}** · {plain(' · '.join(facts), limit=400)}")
    _code(indented(use.call.arguments), "json", label="Arguments", key=f"{key}-arguments")
    if use.sent is not None:
        st.caption("Sent in their place:")
        _code(indented(use.sent), "json", label="Arguments sent", key=f"{key}-sent")
    _code(use.result, None, label="Result", key=f"{key}-result")
    if use.cut is not None:
        st.caption(f"The beginning of {quantity(use.cut, 'character')}.")


def _code(text: str, language: Literal["json"] | None, *, label: str, key: str) -> None:
    if len(text) > _COLOURED:
        text_block(text, key=key, label=label, heading=False, height=_TALL)
        return
    tall = len(text) > 600 or text.count("\n") > 8
    st.code(text, language=language, wrap_lines=True, height=_TALL if tall else "content")


def reasoning_view(state: StepState | None, *, key: str, notable: Notable | None = None) -> None:
    """What the model thought before its answer; `notable` is what people write on its words."""
    if state is None or not state.reasoning:
        st.caption("The worker returned no reasoning.")
        return
    st.caption("The model's reasoning before its answer; no other step sees it.")
    rendered_text(
        state.reasoning,
        key=f"thought-{key}",
        label="Reasoning",
        heading=False,
        live=state.status == "running",
        notable=notable,
    )


def retry_text(retry: Retry) -> str:
    """One retry in a sentence, cut so that the end is seen."""
    after = f"after {duration(retry.seconds)}" if retry.seconds else "at once"
    message = " ".join(retry.message[:320].split()).rstrip(".")
    if retry.withdrawn:
        withdrawn = quantity(retry.withdrawn, "character")
        return f"Attempt {retry.attempt} broke off: {message}; {withdrawn} withdrawn, asked again {after}"
    return f"Attempt {retry.attempt} gave nothing: {message}; asked again {after}"


def step_output(
    state: StepState,
    *,
    worker: str,
    key: str,
    notes: Sequence[str] = (),
    notable: Notable | None = None,
) -> None:
    """The output of a step of `worker`, or why there is no output, with `notes` on it; `notable` is what
    people write on its words.
    """
    if state.message:
        st.error(plain(state.message), icon=":material/error:")
    if state.status == "blocked":
        names = ", ".join(str(by + 1) for by in state.blocked_by)
        st.warning(f"Did not run, because it reads step {names}.", icon=":material/block:")
    substitute = None if state.output is None else state.output.stand_in
    if substitute is not None and substitute.text:
        instead = "skipped" if state.status == "empty" else "replaced with the text of its failure rule"
        st.caption(f":material/skip_next: {plain(f'The step failed and was {instead}: {substitute.reason}')}")
    elif state.status == "empty":
        why = "" if state.output is None else state.output.silence
        st.caption(f"{why} Nothing is passed on.".lstrip())
    stood_in = stand_in(worker, state)
    if stood_in is not None:
        reason = state.stand_in_reason or (None if substitute is None else substitute.reason)
        why = f": {reason}" if reason else ""
        st.caption(f":material/swap_horiz: {plain(f'{stood_in[0].upper()}{stood_in[1:]}{why}')}")
    if state.cut_off:
        st.caption(f":material/content_cut: The answer is {CUT_OFF}.")
    if state.output is not None and state.output.loss:
        st.caption(f":material/rule: {plain(f'The worker was {state.output.loss}.')}")
    if state.status == "refused":
        st.caption(":material/help: The worker has no answer; what it wrote is passed on as it is.")
    if state.text:
        rendered_text(
            state.text,
            key=f"output-{key}",
            label="Output",
            notes=[*output_notes(state), *notes],
            live=state.status == "running",
            notable=notable,
        )
    if facts := [*step_facts(state), *request_name(state)]:
        st.caption(plain(" · ".join(facts)))


def output_notes(state: StepState) -> list[str]:
    """What an output is not, or not only: reused, pinned, partial, offline, no answer."""
    notes = [state.reuse_origin] if state.reuse_origin else []
    notes += ["pinned"] if state.kept_because == "pinned" else []
    notes += ["unchanged"] if state.kept_because == "preloaded" else []
    if state.output is not None and state.output.hand is not None:
        return [*notes, "edited by hand" if state.output.stand_in is None else "by rule"]
    is_replayed = any(use.source == "record" for use in state.tool_uses)
    notes += ["on recorded results of tools"] if is_replayed else []
    notes += ["partial, not passed on"] if state.status in _KEPT_IN_PART else []
    notes += withdrawn_note(state) if state.status == "running" else []
    notes += [*kind_notes(state.worker_kind), *([NO_ANSWER] if state.status == "refused" else [])]
    return [*notes, "cut off"] if state.cut_off else notes


def step_facts(state: StepState) -> list[str]:
    """Where an output was made, what it took in time, tokens and dollars, which kind of worker gave it."""
    facts = []
    if hand := by_hand(state.output):
        return hand
    if (state.reused or state.kept_because) and state.output is not None:
        then = " and ".join(Total.of([state.output.usage]).known_words)
        facts.append(f"made in an earlier run{' for ' * bool(then)}{then}")
    if state.seconds is not None:
        facts.append(duration(state.seconds))
    facts += state.used.known_words
    if (label := KIND_LABELS.get(state.worker_kind or "model")) is not None:
        facts.append(label)
    return facts
