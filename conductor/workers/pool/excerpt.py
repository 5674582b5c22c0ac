"""A pool file's text as it may be shown to whoever opens the app: keys that were pasted into it are masked.

Knows what pasted keys look like; knows no table. Pure.
"""

from __future__ import annotations

import re

from conductor.workers.secret import MASK

_AROUND = 2

_PASTED = re.compile(
    r"""((?<![A-Za-z])(?:api)?[-_]?(?:key|secret|password|passwd|pwd|authorization|auth[-_]?token|access[-_]?token)["']?\s*=\s*)(["']).+?\2""",
    re.IGNORECASE,
)
_NO_VARIABLE = re.compile(r"""(api_key_env["']?\s*=\s*)(["'])(?!["']|[A-Za-z_][A-Za-z0-9_]*\2).+?\2""")
_USER_IN_URL = re.compile(r"(://)[^/\s\"']+@")
_KEY_IN_URL = re.compile(
    r"([?&][^=&\s\"']*(?:key|token|secret|password|sig|signature|auth|code)=)[^&\s\"']+", re.IGNORECASE
)


def shown(text: str) -> str:
    """The text with every value masked that looks like a key."""
    text = _PASTED.sub(rf"\1\2{MASK}\2", text)
    text = _NO_VARIABLE.sub(rf"\1\2{MASK}\2", text)
    text = _USER_IN_URL.sub(rf"\1{MASK}@", text)
    return _KEY_IN_URL.sub(rf"\1{MASK}", text)


def left_masked(text: str, *, original: str) -> int | None:
    """The line (from 1) where an edit of `shown(original)` still has a mask, None where it has none."""
    own = original.count(MASK)
    masks = [at for at in range(len(text)) if text.startswith(MASK, at)]
    return text.count("\n", 0, masks[own]) + 1 if len(masks) > own else None


def excerpt(text: str, line: int) -> str:
    """The lines around `line` (from 1) with their numbers, that one marked."""
    lines = shown(text).rstrip("\n").split("\n")
    line = min(line, len(lines))
    first, last = max(line - _AROUND, 1), min(line + _AROUND, len(lines))
    width = len(str(last))
    return "\n".join(
        f"{'>' if number == line else ' '} {number:>{width}} | {lines[number - 1].rstrip()}"
        for number in range(first, last + 1)
    )
