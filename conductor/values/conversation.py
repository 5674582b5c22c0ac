"""What was said before a query, and the instructions that its answer keeps to. Values only."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from conductor.messages import Value

MAX_CONVERSATION = 1_000_000
"""The most characters a conversation may have."""


class Turn(Value):
    """One message of a conversation, as it came."""

    role: Literal["system", "user", "assistant"]
    text: str


class Conversation(Value):
    """What goes before a query: the messages, oldest first, and `instructions` of whoever asks now.

    `verbatim`: a workflow of one step hands all of it to its worker as it is, message by message, and none of
    our words. What a workflow of several steps sees does not depend on it.
    """

    instructions: str = ""
    turns: tuple[Turn, ...] = ()
    verbatim: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the query stands alone."""
        return not (self.turns or self.instructions or self.verbatim)

    @cached_property
    def system(self) -> str:
        """All instructions together, those of system messages after `instructions`."""
        said = (self.instructions, *(turn.text for turn in self.turns if turn.role == "system"))
        return "\n\n".join(text for text in said if text.strip())

    @cached_property
    def exchange(self) -> tuple[Turn, ...]:
        """What the user and the assistant said."""
        return tuple(turn for turn in self.turns if turn.role != "system" and turn.text.strip())

    @property
    def characters(self) -> int:
        """How long all of it is."""
        return len(self.instructions) + sum(len(turn.text) for turn in self.turns)


NOTHING_SAID = Conversation()
"""Where a query stands alone."""
