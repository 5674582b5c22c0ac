"""The keys that do something on a page: one table, from which they are listened for, shown and documented.

Streamlit's own button shortcuts also fire while a person types in a text field, where Ctrl+Z and Ctrl+Enter
mean something else; these do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.components.streamlit_patches.component import component


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys`, as they are written on a keyboard, and what they do; several keys stand apart by a space.

    They press the button with the key `presses`; without one, a component or the browser listens by itself.
    Text fields keep their own keys, but for those within the box with the key `within`.
    """

    keys: str
    does: str
    presses: str | None = None
    within: str | None = None


SHEET = Shortcut("?", "Show these keys")
PALETTE = Shortcut("Ctrl+K", "Go anywhere, find words, read the documentation, do what a button does")

SHORTCUTS: Mapping[str, tuple[Shortcut, ...]] = {
    "Everywhere": (
        SHEET,
        PALETTE,
        Shortcut("Tab Shift+Tab", "Next and previous thing that can be used"),
        Shortcut("Esc", "Close what is open"),
        Shortcut("P", "Present the session, and end that", presses="present"),
    ),
    "Question": (
        Shortcut("Enter", "Ask it, or ask for the change"),
        Shortcut("Ctrl+/", "Turn it from a question into a change of the plan, and back"),
        Shortcut("Shift+Enter", "Begin a new line"),
    ),
    "Workflow": (
        Shortcut("Ctrl+Z", "Undo the last edit", presses="undo"),
        Shortcut("Ctrl+Shift+Z", "Redo it", presses="redo"),
        Shortcut("Ctrl+Enter", "Save the text that is being edited", "output-save", "output-writing"),
    ),
    "Panes": (
        Shortcut("← →", "On Answer, Step, Live: show the next one"),
        Shortcut("↑ ↓ ← →", "On a pane's border: move it"),
        Shortcut("Home", "On a pane's border: as it was"),
    ),
    "Graph": (
        Shortcut("↑ ↓ ← →", "Go to the next step that way"),
        Shortcut("Home End", "Go to the first or last step"),
        Shortcut("Enter", "Edit the selected step"),
        Shortcut("Space", "Take or leave the selected part of a proposed change"),
        Shortcut("O", "Open or close the workflow inside a step"),
        Shortcut("C", "Make one card of the selected step and all that only feed it, or expand it"),
        Shortcut("Delete", "Remove the selected step or access"),
        Shortcut("B", "Wait before the selected step, or no longer"),
        Shortcut("Esc", "Select nothing"),
        Shortcut("+ -", "Zoom in and out"),
        Shortcut("0", "Fit the graph to its pane"),
        Shortcut("F", "Fill the screen with it"),
    ),
    "Texts": (
        Shortcut("N", "Write a note on the selected words, or on the text that has the focus"),
        Shortcut("Ctrl+Enter", "Save the note"),
    ),
    "Presented": (
        Shortcut("Space", "Play and pause the replay"),
        Shortcut("← → Home End", "Go to the moment before or next, to the beginning or end"),
        Shortcut("F", "Fill the screen"),
        Shortcut("Esc", "Back to the workbench", presses="presented-end"),
    ),
    "Timeline, access, history": (
        Shortcut("↑ ↓ Home End", "Select a row"),
        Shortcut("Space Enter", "On a square of Access: give or take the access"),
        Shortcut("← →", "On the player: move, or play slower and faster"),
    ),
}
"""By where they count, in the order in which they are shown."""

COMMANDS: Mapping[str, str] = {
    "Run the workflow": ".st-key-run button",
    "Stop what runs": ".st-key-stop button",
    "Other ways to run": "[class*='st-key-run-ways-'] button",
    "Race: run both": ".st-key-race-start button",
    "Stop both": ".st-key-race-stop button",
    "Compare with the run or revision before": '.st-key-read-answer a[href*="compare"]',
    "Share: links and files": ".st-key-share button",
    "Evaluate this workflow on data": ".st-key-evaluate button",
    "Keep the answer as a test": "[class*='st-key-keep-test-'] button",
    "Set how it plans": ".st-key-settings button",
    "Set the number of steps": ".st-key-settings button",
    "Set the budget": ".st-key-settings button",
    "Choose workers": ".st-key-settings button",
    "Another round": ".st-key-another-round button",
    "Find the step that spoiled the answer": ".st-key-find-step button",
    "Plan again": ".st-key-plan-again button",
    "Connect an endpoint": ".st-key-pool-connect button",
    "Add a worker": ".st-key-pool-add button",
    "Test all workers": ".st-key-pool-test-all button",
    "Notify me when a run ends": ".notify",
    "Show these keys": ".show-shortcuts",
}
"""What has no key of its own and can be done by name: the selector of its button or link."""


def commands() -> list[tuple[str, str, str]]:
    """What can be done by name: what it does, its keys ("" for none), and the selector of its button."""
    keyed = [
        (one.does, one.keys, f".st-key-{one.presses} button")
        for group in SHORTCUTS.values()
        for one in group
        if one.presses is not None and one.within is None
    ]
    return [*((does, "", selector) for does, selector in COMMANDS.items()), *keyed]


_KEYS = {"Esc": "escape"}
"""What the browser calls a key, where a keyboard has another name for it."""

_BUTTONS = (
    '<button type="button" class="show-palette">Go anywhere <kbd>Ctrl K</kbd></button>'
    '<button type="button" class="show-shortcuts">Keyboard <kbd>?</kbd></button>'
)

_component = component(
    "conductor_shortcuts",
    __file__,
    html='<dialog class="shortcuts" aria-labelledby="shortcuts-title"></dialog>',
    css="shortcuts.css",
    js="shortcuts.js",
    isolated=False,
)


def shortcuts() -> None:
    """Listen for them on this page."""
    _component(
        key="shortcuts",
        data={
            "pressed": [
                {
                    "key": _KEYS.get(one.keys, one.keys.rpartition("+")[2].lower()),
                    "ctrl": "Ctrl+" in one.keys,
                    "shift": "Shift+" in one.keys,
                    "button": f".st-key-{one.presses}",
                    "within": None if one.within is None else f".st-key-{one.within}",
                }
                for group in SHORTCUTS.values()
                for one in group
                if one.presses is not None
            ],
            "sheet": SHEET.keys,
            "groups": [
                {"name": name, "rows": [[one.keys.split(" "), one.does] for one in group]}
                for name, group in SHORTCUTS.items()
            ],
        },
        height=1,
    )


def shortcuts_buttons() -> None:
    """The line of the sidebar that opens what goes anywhere, and shows the keys."""
    with st.sidebar:
        st.html(_BUTTONS)
