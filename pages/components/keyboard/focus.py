"""Where the focus goes when its button disappears or can no longer be pressed. Knows no page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pages.components.streamlit_patches.component import component

_focus = component("conductor_focus", __file__, js="focus.js", isolated=False)

FocusFallbacks = Mapping[str, Sequence[str]]
"""The key of a button, or of a box of buttons, and the keys of those that get its focus: the first that can
be used. A button that was only drawn again keeps it."""


def keep_focus(fallbacks: FocusFallbacks) -> None:
    """Move the focus on this page by these rules."""
    rules = [
        {"of": _selector(key), "to": [_selector(fallback) for fallback in to]}
        for key, to in fallbacks.items()
    ]
    _focus(key="focus", data={"fallbacks": rules}, height=1)


def _selector(key: str) -> str:
    return f".st-key-{key}"
