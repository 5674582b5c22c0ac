"""Members of a message that only its endpoint understands: thoughts, and signatures of them. Values only.

They go back to the endpoint as they came. Nothing here reads them: they are JSON text, an object whose names
are those of the message or of a call. Sources: the documents of DeepSeek and vLLM (`reasoning_content`,
`reasoning`), OpenRouter (`reasoning_details`), LiteLLM (`thinking_blocks`), Gemini (`extra_content`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from conductor.text.bounded_value import BoundsError, json_value, within_bounds
from conductor.text.json_text import portable

MAX_OPAQUE = 1_000_000
"""Characters of the JSON of one message. A part of a signature is none, so what is longer is left out."""

_NAMES = re.compile(r"reasoning|think|thought|signature|encrypted|^extra_content$|^provider_specific_fields$")


def is_opaque(name: str, value: object) -> bool:
    """Whether the member of a message of the assistant is one of these; marks of text, as Gemini's
    `thought: true`, are not, nor are objects without a value.
    """
    has_value = any(part is not None for part in value.values()) if isinstance(value, dict) else True
    return has_value and isinstance(value, str | list | dict) and _NAMES.search(name) is not None


def opaque(members: Mapping[str, Any]) -> str | None:
    """The members as JSON text; None without any, and where they are too long or too deep."""
    if not members:
        return None
    try:
        text = json.dumps(within_bounds(dict(members)), ensure_ascii=False, separators=(",", ":"))
    except BoundsError:
        return None
    return portable(text) if len(text) <= MAX_OPAQUE else None


def members_of(text: str | None) -> dict[str, Any]:
    """The members in JSON text that `opaque` returned, by name."""
    members: dict[str, Any] = {} if text is None else json_value(text)
    return members
