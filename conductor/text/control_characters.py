"""Characters that a terminal acts on, or that turn the text around them: made visible, or written as escapes.

They are C0 but line feed and tab, DEL, C1, U+2028, U+2029, and those that overrule the direction of writing.
Knows texts and JSON; knows no stream.
"""

from __future__ import annotations

import re

from conductor.text.json_text import portable

_C0 = [code for code in range(0x20) if chr(code) not in "\n\t"]
_OTHERS = [*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
_REPLACEMENT = "\ufffd"

_REPLACED = dict.fromkeys([*_C0, 0x7F, *_OTHERS], _REPLACEMENT)
_PICTURES = {**_REPLACED, **{code: chr(0x2400 + code) for code in _C0}, 0x7F: "\u2421"}
_ESCAPES = {code: f"\\u{code:04x}" for code in (0x7F, *_OTHERS)}
_ESCAPED = re.compile(f"[{''.join(map(chr, _ESCAPES))}]")


def visible(text: str, *, pictures: bool) -> str:
    """The text with U+FFFD in the place of these characters; with `pictures` C0 and DEL become theirs, which
    begin at U+2400. CR and LF together are a line feed.
    """
    table = _PICTURES if pictures else _REPLACED
    return portable(text).replace("\r\n", "\n").translate(table)


def escaped(json: str) -> str:
    """The same JSON with these characters as escapes; valid JSON has C0 as escapes only."""
    plain = "\x7f" not in json if json.isascii() else not _ESCAPED.search(json)
    return json if plain else json.translate(_ESCAPES)
