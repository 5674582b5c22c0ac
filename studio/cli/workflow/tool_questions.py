"""The calls of tools that a run waits with, on a terminal: printed, and decided by a person or by an option.

Knows the words of the command line; people count steps from 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from conductor.runs.state import RunState
from conductor.text.bounded_value import json_object
from conductor.values.message_parts.tool_use import ToolDecision, WaitingCall
from studio.cli.opening import is_at_terminal
from studio.cli.output.terminal import print_lines, print_remark, typed

_CHOICES = "Allow it? [y]es, [n]o, [e]dit the arguments, [a]nswer in its place, [l]ater:"


def print_questions(state: RunState) -> None:
    """Print the calls that the run waits with, with their exact arguments."""
    for each in state.waiting_calls:
        print_remark(f"waiting for a yes: {_words(each)}")


def decisions_by_option(state: RunState | None, *, allow: bool, refuse: str | None) -> list[ToolDecision]:
    """One decision for each call that the run waits with: all are allowed, or refused for this reason."""
    if state is None or not (allow or refuse is not None):
        return []
    return [
        each.decided("allow") if allow else each.decided("refuse", text=refuse or "")
        for each in state.waiting_calls
    ]


def asked_decisions(state: RunState) -> Sequence[ToolDecision]:
    """What the person at the terminal decides of each call that the run waits with; none if that is left for
    later, and where there is no terminal.
    """
    if not is_at_terminal():
        return ()
    decisions = []
    for each in state.waiting_calls:
        decision = _decision(each)
        if decision is None:
            return ()
        decisions.append(decision)
    return decisions


def _words(waiting: WaitingCall) -> str:
    unsure = "; it was under way when the program ended, and may have acted already"
    return (
        f"step {waiting.step + 1} calls {waiting.call.words} with {waiting.call.call.arguments}"
        f"{unsure if waiting.question.why == 'unsure' else ''}"
    )


def _decision(call: WaitingCall) -> ToolDecision | None:
    """The decision of one call; None for later, and at the end of the input."""
    words = _words(call)
    print_lines(f"{words[0].upper()}{words[1:]}", stream=sys.stderr)
    while True:
        match (typed(_CHOICES) or "l").strip().lower()[:1]:
            case "y":
                return call.decided("allow")
            case "n":
                return call.decided("refuse", text=typed("Reason, which the worker reads:") or "")
            case "a":
                return call.decided("answer", text=typed("Result, as if the tool had given it:") or "")
            case "e":
                arguments = typed("Arguments, as JSON:") or ""
                if json_object(arguments) is not None:
                    return call.decided("allow", arguments=arguments)
                print_remark("that is not a JSON object")
            case "l":
                return None
            case _:
                pass
