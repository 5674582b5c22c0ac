"""How an answer is spoiled: in what it says, or on its way.

Pure: from an answer to an answer, from a script to a script.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from conductor.fake_openai.answer import Answer
from conductor.fake_openai.script import (
    DONE,
    EVENTS,
    Act,
    Body,
    HangUp,
    Head,
    Reset,
    Script,
    Wait,
    event,
)

_LINE = "These words are simulated and there are far too many of them; nobody asked for so much. "
FOR_EVER = "for-ever"
"""The value of a wait without end."""

_ARRIVAL = Wait(0.05)
"""A reset may overtake what was sent just before it; this lets the other side read it first."""


# -- what it says ------------------------------------------------------------------------------------


def empty(answer: Answer, _: str) -> Answer:
    """No text at all."""
    return replace(answer, text=(), reasoning=())


def without_usage(answer: Answer, _: str) -> Answer:
    """The tokens are not told, though they were asked for."""
    return replace(answer, told_usage=False)


def huge(answer: Answer, value: str) -> Answer:
    """`value` million characters, in pieces of some four thousand."""
    piece = _LINE * (4000 // len(_LINE))
    count, rest = divmod(int(float(value) * 1_000_000), len(piece))
    return replace(answer, text=(*[piece] * count, piece[:rest]), finish_reason="stop")


def calling_tool(answer: Answer, _: str) -> Answer:
    """A tool call in the text's place."""
    return replace(answer, text=(), calls_tool=True, finish_reason="tool_calls")


def cut(answer: Answer, _: str) -> Answer:
    """Half of the text, as where the limit of tokens was reached."""
    return replace(answer, text=answer.text[: len(answer.text) // 2], finish_reason="length")


def filtered(answer: Answer, _: str) -> Answer:
    """Half of the text, then the content filter."""
    return replace(answer, text=answer.text[: len(answer.text) // 2], finish_reason="content_filter")


def in_one_piece(answer: Answer, _: str) -> Answer:
    """One JSON object, also where a stream was asked for."""
    return replace(answer, streams=False)


# -- on its way --------------------------------------------------------------------------------------


def slow(script: Script, value: str) -> Script:
    """`value` seconds before the first token; a stream sends its headers and a comment before them."""
    if not _is_stream(script):
        return (Wait(float(value)), *script)
    head, *rest = script
    return (head, Body(b": still at work\n\n"), Wait(float(value)), *rest)


def stalled(script: Script, value: str) -> Script:
    """Silence in the middle, for `value` seconds or for ever."""
    before, after = _halves(script)
    return (*before, Wait(None if value == FOR_EVER else float(value)), *after)


def reset_first(_: Script, __: str) -> Script:
    """A reset before the first byte."""
    return (Reset(),)


def reset_midway(script: Script, _: str) -> Script:
    """A reset in the middle."""
    return (*_halves(script)[0], _ARRIVAL, Reset())


def hung_up(script: Script, _: str) -> Script:
    """The connection closed in the middle, in order, but inside the body."""
    return (*_halves(script)[0], HangUp())


def closed_early(script: Script, _: str) -> Script:
    """The body ends in the middle as if that were its end."""
    return _halves(script)[0]


def malformed(script: Script, _: str) -> Script:
    """Broken JSON in one event, then the rest; an answer that is no stream loses its second half."""
    before, after = _halves(script)
    if not _is_stream(script):
        return before
    return (*before, Body(b'data: {"choices": [{"index": 0, "delta": {"content": "half\n\n'), *after)


def error_event(script: Script, _: str) -> Script:
    """An error as an event in mid-stream, as servers send that have already said 200."""
    error = {"message": "The engine died.", "type": "server_error", "param": None, "code": 500}
    return (*_halves(script)[0], Body(event({"error": error})), Body(DONE))


def ragged(script: Script, _: str) -> Script:
    """A stream that is legal and looks like no other: comments, other fields, CRLF, chunks of seven bytes."""
    return tuple(piece for act in script for piece in (_ragged(act) if isinstance(act, Body) else (act,)))


def _ragged(body: Body) -> tuple[Act, ...]:
    content = body.content
    if content.startswith(b"data: "):
        # A line break between two fields of the object: the event's data stand on two lines.
        content = b": a comment\nevent: message\nid: 7\ndata:" + content.removeprefix(b"data: ")
        content = content.replace(b', "object"', b',\ndata: "object"').replace(b"\n", b"\r\n")
    # One cut falls behind the first byte of the first character that has several.
    first = next((at + 1 for at, byte in enumerate(content) if byte > 127), 7) % 7
    cuts = (0, *range(first or 7, len(content), 7), len(content))
    return tuple(Body(content[start:end]) for start, end in pairwise(cuts))


def _is_stream(script: Script) -> bool:
    return any(isinstance(act, Head) and act.content_type == EVENTS for act in script)


def _halves(script: Script) -> tuple[Script, Script]:
    """The script cut in the middle of its body; a stream's first token stands before the cut."""
    bodies = [at for at, act in enumerate(script) if isinstance(act, Body)]
    middle = bodies[max(1, len(bodies) // 2 - 1)] + 1 if _is_stream(script) else bodies[0] + 1
    return script[:middle], script[middle:]
