"""The list of models of an endpoint, in each of the forms that servers send.

Knows the forms; an entry that is odd is left out, and costs no other. Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any

from conductor.text.bounded_value import json_value
from conductor.values.messages import Value
from conductor.workers.endpoint.reply.error_forms import message_of
from conductor.workers.keys.mask import Mask

_LISTS = ("data", "models", "result", "body", "items", "value")
"""Where a frame holds its list: OpenAI's, Ollama's and Gemini's, Cloudflare's, Together's behind a proxy, and
of other services of Microsoft.
"""

_NAMES = ("id", "model", "name", "key", "model_id", "model_name")
"""Of an entry, the first that is set: OpenAI's, Ollama's, Gemini's, LM Studio's, watsonx', LiteLLM's."""

_CONTEXTS = (
    "max_model_len", "context_length", "context_window", "loaded_context_length", "max_context_length",
    "inputTokenLimit", "max_input_tokens",
)  # fmt: skip
"""Of an entry, the first that is a number: vLLM's, OpenRouter's, Groq's, LM Studio's, Mistral's, Gemini's;
Anthropic's, GitHub's in `limits` and LiteLLM's in `model_info`.
"""


class ServedModel(Value):
    """A model that an endpoint serves; its context is in tokens, None if the list has none."""

    name: str
    owner: str | None = None
    context: int | None = None


def read_catalogue(body: bytes, mask: Mask) -> tuple[ServedModel, ...]:
    """The models of the list, each once. Raises `ValueError` where it is no list."""
    try:
        text = body.decode(json.detect_encoding(body), "replace")
        listing = json_value(text, parse_float=float, parse_int=lambda digits: int(digits[:20]))
    except ValueError:
        raise ValueError("its list of models cannot be read") from None
    models = filter(None, (_model(entry, mask) for entry in _entries(listing, mask)))
    by_name: dict[str, ServedModel] = {}
    for model in models:
        by_name.setdefault(model.name, model)
    return tuple(by_name.values())


def _entries(listing: Any, mask: Mask) -> list[Any]:
    """The entries below the frame, which some servers leave out. Raises `ValueError` without a list."""
    if isinstance(listing, list):
        return listing
    if isinstance(listing, dict):
        inner = next((listing[key] for key in _LISTS if listing.get(key)), None)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, dict):
            nested = any(isinstance(inner.get(key), list) for key in _LISTS)
            named = [{"id": name, **entry} for name, entry in inner.items() if isinstance(entry, dict)]
            return _entries(inner, mask) if nested else named
        if listing.get("error"):
            raise ValueError(f"in place of its list of models: {mask(message_of(listing))[:300]}")
        if inner is None and (listing.get("object") == "list" or any(key in listing for key in _LISTS)):
            return []
    raise ValueError("its list of models cannot be read")


def _model(entry: Any, mask: Mask) -> ServedModel | None:
    fields = entry if isinstance(entry, dict) else {"id": entry if isinstance(entry, str) else None}
    names = [str(fields[key]).strip() for key in _NAMES if type(fields.get(key)) in (str, int)]
    # Cloudflare's id is none that a request may have; its names begin with @.
    name = next((name for name in names if name.startswith("@")), next(filter(None, names), ""))
    if not name or not name.isprintable():
        return None
    places = [place for key in ("limits", "model_info") if isinstance(place := fields.get(key), dict)]
    sizes = (str(place.get(key)).strip() for place in (fields, *places) for key in _CONTEXTS)
    owner = fields.get("owned_by")
    context = next((int(float(size)) for size in sizes if re.fullmatch(r"0*[1-9]\d{0,8}(\.0)?", size)), None)
    return ServedModel(
        name=mask(name), owner=mask(owner) if isinstance(owner, str) else None, context=context
    )
