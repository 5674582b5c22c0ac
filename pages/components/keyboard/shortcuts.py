"""The shortcuts that press a button of the page: one table.

Streamlit's own button shortcuts also fire while a person types in a text field, where Ctrl+Z and Ctrl+Enter
mean something else; these do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from pages.components.streamlit_patches.component import component

_component = component("conductor_shortcuts", __file__, js="shortcuts.js", isolated=False)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys`, as they are written on a page ("Ctrl+Z"), press the button with the key `presses`.

    Text fields keep their own keys, but for those within the box with the key `within`.
    """

    keys: str
    presses: str
    within: str | None = None


SHORTCUTS = (
    Shortcut("Ctrl+Enter", "output-save", within="output-writing"),
    Shortcut("Ctrl+Z", "undo"),
    Shortcut("Ctrl+Shift+Z", "redo"),
)


def shortcuts() -> None:
    """Listen for them on this page."""
    listened = [
        {
            "key": shortcut.keys.rpartition("+")[2].lower(),
            "ctrl": "Ctrl+" in shortcut.keys,
            "shift": "Shift+" in shortcut.keys,
            "button": f".st-key-{shortcut.presses}",
            "within": None if shortcut.within is None else f".st-key-{shortcut.within}",
        }
        for shortcut in SHORTCUTS
    ]
    _component(key="shortcuts", data={"shortcuts": listened}, height=1)
