"""The conversation before a query, and the instructions for its answer. Values only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

from conductor.values.messages import Part, Value

MAX_CONVERSATION = 1_000_000
"""The most characters a conversation may have."""


class Turn(Value):
    """One message of a conversation, as it came."""

    role: Literal["system", "user", "assistant"]
    text: str


class Conversation(Value):
    """What comes before a query: the messages, oldest first, and the `instructions` for the answer.

    `verbatim`: a workflow of one step sends all of it to its worker as it is, message by message, without any
    text of this program. What a workflow of several steps sees does not depend on it.
    """

    instructions: str = ""
    turns: tuple[Turn, ...] = ()
    verbatim: bool = False

    @property
    def nothing(self) -> bool:
        """Whether there is nothing before the query."""
        return not (self.turns or self.instructions or self.verbatim)

    @cached_property
    def system(self) -> str:
        """All instructions together, those of system messages after `instructions`."""
        texts = (self.instructions, *(turn.text for turn in self.turns if turn.role == "system"))
        return "\n\n".join(text for text in texts if text.strip())

    @cached_property
    def exchange(self) -> tuple[Turn, ...]:
        """The messages of the user and the assistant."""
        return tuple(turn for turn in self.turns if turn.role != "system" and turn.text.strip())

    def after(self, query: str, answer: str) -> Conversation:
        """This conversation with a question and its answer at its end."""
        asked, answered = Turn(role="user", text=query), Turn(role="assistant", text=answer)
        return self.model_copy(update={"turns": (*self.turns, asked, answered)})

    @property
    def characters(self) -> int:
        return len(self.instructions) + sum(len(turn.text) for turn in self.turns)

    def opening(
        self,
        between: str,
        keep_to: str,
        earlier: str,
        *,
        task: str,
        mark: str,
        written: Callable[[str], str] = str,
    ) -> list[Part]:
        """The parts of a message up to its task, which stands between tags of that name; all end in `mark`.

        Our wording comes first (`between`), before the instructions (`keep_to`) and before the `earlier`
        messages; their texts are as `written` gives them.
        """
        parts: list[Part] = []
        if self.system:
            parts.append(Part("frame", f"{between}{keep_to}<instructions{mark}>\n"))
            parts.append(Part("system", written(self.system)))
            between = f"\n</instructions{mark}>\n\n"
        if self.exchange:
            between = f"{between}{earlier}<conversation{mark}>\n"
            for turn in self.exchange:
                parts.append(Part("frame", f"{between}<{turn.role}{mark}>\n"))
                parts.append(Part("turn", written(turn.text)))
                between = f"\n</{turn.role}{mark}>\n"
            between = f"{between}</conversation{mark}>\n\n"
        return [*parts, Part("frame", f"{between}<{task}{mark}>\n")]


NO_CONVERSATION = Conversation()
"""The conversation of a query with nothing before it."""
