"""Makes of a call's result a text for a model: bounded, masked, without binary data."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent

from conductor.text.formatting import size
from conductor.workers.keys.mask import Mask
from conductor.workers.tools.tool_server import MAX_RESULT, ToolResult

_MAX_NAME = 200


def tool_result(result: CallToolResult, mask: Mask, seconds: float) -> ToolResult:
    """Its texts, else its structured content as JSON, with a line for each content of another kind."""
    parts = [_part(block) for block in result.content]
    has_text = any(isinstance(block, TextContent) for block in result.content)
    if not has_text and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return bounded_result("\n".join(parts), mask, seconds, is_error=result.is_error)


def bounded_result(text: str, mask: Mask, seconds: float, *, is_error: bool) -> ToolResult:
    """The result with this text; one of more than `MAX_RESULT` characters is cut, with a line about it."""
    text, length = mask(text), None
    if len(text) > MAX_RESULT:
        length = len(text)
        text = f"{text[:MAX_RESULT]}\n[cut: the first {MAX_RESULT:,} of {length:,} characters]"
    return ToolResult(text=text, is_error=is_error, seconds=seconds, cut=length)


def _part(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    file: Any = block.resource if isinstance(block, EmbeddedResource) else block
    encoded = getattr(file, "data", None) or getattr(file, "blob", None) or ""
    length = len(encoded) * 3 // 4 or len(getattr(file, "text", "").encode(errors="replace"))
    parts = (getattr(file, "uri", None), file.mime_type, size(length) if length else None)
    return f"[{block.type}: {', '.join(' '.join(part.split())[:_MAX_NAME] for part in parts if part)}]"
