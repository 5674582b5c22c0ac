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
PALETTE = Shortcut("Ctrl+K", "Search, go anywhere, or run a command")

SHORTCUTS: Mapping[str, tuple[Shortcut, ...]] = {
    "Everywhere": (
        SHEET,
        PALETTE,
        Shortcut("Tab Shift+Tab", "Next and previous control"),
        Shortcut("Esc", "Close the dialog or menu"),
        Shortcut("P", "Start or end the presentation", presses="present"),
    ),
    "Question": (
        Shortcut("Enter", "Send the question or the change"),
        Shortcut("Ctrl+/", "Switch between Ask and Change this plan"),
        Shortcut("Shift+Enter", "New line"),
    ),
    "Workflow": (
        Shortcut("Ctrl+Z", "Undo the last edit", presses="undo"),
        Shortcut("Ctrl+Shift+Z", "Redo the last undone edit", presses="redo"),
        Shortcut("Ctrl+Enter", "Save the text you edit", "output-save", "output-writing"),
    ),
    "Panes": (
        Shortcut("← →", "Switch between Answer, Step and Live"),
        Shortcut("↑ ↓ ← →", "On a pane's border: resize"),
        Shortcut("Home", "On a pane's border: reset"),
    ),
    "Graph": (
        Shortcut("↑ ↓ ← →", "Go to the next step in that direction"),
        Shortcut("Home End", "Go to the first or last step"),
        Shortcut("Enter", "Edit the selected step"),
        Shortcut("Space", "Take or leave the selected part of a proposed change"),
        Shortcut("O", "Open or close the workflow inside a step"),
        Shortcut("C", "Collapse the branch that ends at the selected step into one card, or expand it"),
        Shortcut("Delete", "Remove the selected step or edge"),
        Shortcut("B", "Add or remove a gate before the selected step"),
        Shortcut("Esc", "Clear the selection"),
        Shortcut("Z", "Zoom to the selected step"),
        Shortcut("+ -", "Zoom in and out"),
        Shortcut("0", "Fit the graph to its pane"),
        Shortcut("F", "Full screen"),
    ),
    "Texts": (
        Shortcut("N", "Write a note on the selected words, or on the focused text"),
        Shortcut("Ctrl+Enter", "Save the note"),
    ),
    "Presentation": (
        Shortcut("Space", "Play and pause the replay"),
        Shortcut("← → Home End", "Previous or next moment; beginning or end"),
        Shortcut("F", "Full screen"),
        Shortcut("Esc", "Back to the workbench", presses="presented-end"),
    ),
    "Timeline, access, history": (
        Shortcut("↑ ↓ Home End", "Select a row"),
        Shortcut("Space Enter", "In the access grid: give or remove access"),
        Shortcut("← →", "On the player: seek, or change the speed"),
    ),
}
"""By where they count, in the order in which they are shown."""

COMMANDS: Mapping[str, str] = {
    "Run the workflow": ".st-key-run button",
    "Stop the run": ".st-key-stop button",
    "Other ways to run": "[class*='st-key-run-ways-'] button",
    "Race: run both": ".st-key-race-start button",
    "Stop both": ".st-key-race-stop button",
    "Compare with the previous run or revision": '.st-key-read-answer a[href*="compare"]',
    "Share: links and files": ".st-key-share button",
    "Evaluate this workflow on data": ".st-key-evaluate button",
    "Keep the answer as a test": "[class*='st-key-keep-test-'] button",
    "Choose how it plans": ".st-key-settings button",
    "Set the number of steps": ".st-key-settings button",
    "Set the budget": ".st-key-settings button",
    "Choose workers": ".st-key-settings button",
    "Another round": "[class*='st-key-run-ways-'] button",
    "Plan, or plan and run": ".st-key-settings button",
    "Edit the question": ".st-key-settings button",
    "Find the step that made the answer wrong": ".st-key-find-step button",
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
