"""The content address of a step: steps of one fingerprint were sent the same request.

Source: conductor-format, "How a workflow is run". Knows requests; `engine.bound_workflow` makes them, without
the nonce of their tags, which is cut from the fingerprint itself.
"""

from __future__ import annotations

from hashlib import sha256

from conductor.values.messages import Request

_SENT, _OUTLINE = 48, 16
"""Hexadecimal digits over the request, and over its outline."""

NONCE_LENGTH = 8
"""So many characters of a step's fingerprint mark the tags in its request."""


def fingerprint(request: Request, *, identity: str, outline: str) -> str:
    """48 hexadecimal digits over `request` as it is sent to a worker, a hyphen, and the 16 of its `outline`.

    `identity` is the worker's. Where a message's text comes from counts as little as it does for the worker.
    """
    return f"{_digest(request, identity)[:_SENT]}-{outline}"


def outline_digits(request: Request, *, identity: str) -> str:
    """16 hexadecimal digits over a request whose responses of seen steps are blank: all that is known of it
    before those steps are called.
    """
    return _digest(request, identity)[:_OUTLINE]


def outline_of(address: str) -> str | None:
    """The outline in a fingerprint; None for one of an earlier version, which was not made of a request."""
    return address.partition("-")[2] or None


def _digest(request: Request, identity: str) -> str:
    texts = [identity]
    if not request.sampling.unset:
        texts.append(request.sampling.model_dump_json())
    for message in request.messages:
        texts += ("", message.role, message.name or "", message.tool_call_id or "")
        texts += [part.text for part in message.parts]
        texts += [call.model_dump_json() for call in message.tool_calls]
        texts += [image.model_dump_json() for image in message.images]
        if message.thoughts is not None:
            texts += ("", "thoughts", message.thoughts)
    # Lengths go first, so that no text can pass for the end of one and the beginning of another.
    lengths = ",".join([str(len(text)) for text in texts])
    return sha256("".join([lengths, "\n", *texts]).encode("utf-8", "surrogatepass")).hexdigest()
