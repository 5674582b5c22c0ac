"""Any text as text of HTML. Characters that show nothing or turn the text around them are made visible."""

from __future__ import annotations

import re
from html import escape

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, and those that overrule the direction of writing."""

_NAMES = {"\x1b": "ESC", "\x07": "BEL", "\x08": "BS", "\r": "CR", "\x7f": "DEL"}


def text_html(text: str) -> str:
    """The text with all that HTML would read as its own escaped; an unseen character is in an element."""
    html = escape(text, quote=True)
    return _UNSEEN.sub(_visible, html) if _UNSEEN.search(html) else html


def _visible(match: re.Match[str]) -> str:
    # The element ends what the character does to the direction; it stays in the text, to be copied.
    character = match[0] if match[0] != "\x00" else "\ufffd"
    name = _NAMES.get(match[0], f"U+{ord(match[0]):04X}")
    return f'<span class="unseen" data-name="{name}">{character}</span>'
