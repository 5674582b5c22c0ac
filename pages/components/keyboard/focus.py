"""Moves the focus when its button disappears or can no longer be pressed. Knows no page."""

from __future__ import annotations

from pages.components.streamlit_patches.component import component

_focus = component("conductor_focus", __file__, js="focus.js", isolated=False)

_FALLBACKS: dict[str, tuple[str, ...]] = {}


def focus_fallback(key: str, *to: str) -> None:
    """Declare, beside a button or a box of buttons, the keys of those that get its focus: the first that can
    be used. A button that was only drawn again keeps it, also without any.

    `key` may end in "*", which stands for the rest of many keys, and in `to` for that of the button's own.
    Of boxes within each other the inner one's rule counts.
    """
    _FALLBACKS[key] = to


def keep_focus() -> None:
    """Move the focus by all rules that were declared until now."""
    rules = [{"of": key, "to": list(to)} for key, to in _FALLBACKS.items()]
    _focus(key="focus", data={"fallbacks": rules}, height=1)
