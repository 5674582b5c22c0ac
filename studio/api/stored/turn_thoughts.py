"""An answer as a message of a conversation, with the thoughts that its worker is sent again. Pure."""

from __future__ import annotations

from conductor.values.conversation import Turn
from conductor.values.output import Output


def with_thoughts(turn: Turn, output: Output | None) -> Turn:
    """The message that is this output's answer, and makes its calls in their order; as it is without one."""
    if output is None:
        return turn
    extras = [call.extra for call in output.tool_calls]
    extras += [None] * (len(turn.tool_calls) - len(extras))
    calls = tuple(
        call.model_copy(update={"extra": extra}) for call, extra in zip(turn.tool_calls, extras, strict=False)
    )
    signed = turn.model_copy(update={"tool_calls": calls})
    return signed.with_thoughts(output.thoughts, worker=output.worker)
