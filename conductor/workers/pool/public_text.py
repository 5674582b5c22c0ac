"""A pool file's text as every user of the app may see it: keys that were pasted into it are masked.

Knows what pasted keys look like; knows no table. Pure.
"""

from __future__ import annotations

import re

from conductor.workers.keys.mask import MASK
from conductor.workers.keys.secret import repeatable

_AROUND = 2

_PASTED = re.compile(
    r"""((?<![A-Za-z])(?:api)?[-_]?(?:key|secret|password|passwd|pwd|authorization|auth[-_]?token|access[-_]?token)["']?\s*=\s*)(["']).+?\2""",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"""(api_key_env["']?\s*=\s*)(["'])(.+?)\2""")
_USER_IN_URL = re.compile(r"(://)[^/\s\"']+@")
_KEY_IN_URL = re.compile(
    r"([?&][^=&\s\"']*(?:key|token|secret|password|sig|signature|auth|code)=)[^&\s\"']+", re.IGNORECASE
)


def mask_keys(text: str) -> str:
    """The text with every value masked that looks like a key."""
    text = _PASTED.sub(rf"\1\2{MASK}\2", text)
    text = _VARIABLE.sub(_without_key, text)
    text = _USER_IN_URL.sub(rf"\1{MASK}@", text)
    return _KEY_IN_URL.sub(rf"\1{MASK}", text)


def _without_key(match: re.Match[str]) -> str:
    return match[0] if repeatable(match[3]) else f"{match[1]}{match[2]}{MASK}{match[2]}"


def left_masked(text: str, *, original: str) -> int | None:
    """The line (from 1) where an edit of `mask_keys(original)` still has a mask, or None."""
    own = original.count(MASK)
    masks = [at for at in range(len(text)) if text.startswith(MASK, at)]
    return text.count("\n", 0, masks[own]) + 1 if len(masks) > own else None


def lines_around(text: str, line: int) -> str:
    """The lines around `line` (from 1) with their numbers, that one marked."""
    lines = mask_keys(text).rstrip("\n").split("\n")
    line = min(line, len(lines))
    first, last = max(line - _AROUND, 1), min(line + _AROUND, len(lines))
    width = len(str(last))
    return "\n".join(
        f"{'>' if number == line else ' '} {number:>{width}} | {lines[number - 1].rstrip()}"
        for number in range(first, last + 1)
    )
