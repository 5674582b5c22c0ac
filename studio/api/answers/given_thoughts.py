"""The thoughts of an answer while they come: what of them is given out, in the shape of a chat completion.

Knows no HTTP.
"""

from __future__ import annotations

from typing import Any

from conductor.values.message_parts.opaque import members_of
from conductor.values.output import Output
from studio.api.sealed_thoughts import SealedThoughts

_PLAIN = "reasoning_content"
"""The member that has the text in every answer; most clients read it."""


class GivenThoughts:
    """The thoughts that are given out. `verbatim`: with the members of the worker's message, else the text
    alone, as the worker's own members are stored with the run.

    Thoughts that a worker withdraws stay given out.
    """

    def __init__(self, *, verbatim: bool) -> None:
        self._verbatim = verbatim
        self._pieces: list[str] = []
        self._waiting: list[str] = []
        self._names: set[str] = {_PLAIN}
        self._members: dict[str, Any] = {}
        self.sealed: SealedThoughts | None = None
        """What the worker is to be sent again; None if that is nothing, or not for the client."""

    def __bool__(self) -> bool:
        """Whether there are words."""
        return bool(self._pieces)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str, members: tuple[str, ...]) -> None:
        """Give out more of the text, in these members of the worker's message."""
        if text:
            self._pieces.append(text)
            self._waiting.append(text)
            self._names.update(members if self._verbatim else ())

    def complete(self, output: Output) -> None:
        """Give out the rest of what led to this output; the members of its message only where the worker
        made it that was asked.
        """
        if self._verbatim and output.answered_instead is None:
            members = members_of(output.thoughts)
            members.pop("content", None)
            self._members, self.sealed = members, SealedThoughts.of(output)
        whole, so_far = output.reasoning, self.text
        if whole.startswith(so_far):
            self.add(whole[len(so_far) :], tuple(n for n, part in self._members.items() if part == whole))

    def take(self) -> dict[str, Any]:
        """The members of a delta with the text since the last time; empty without any."""
        text, self._waiting = "".join(self._waiting), []
        return dict.fromkeys(sorted(self._names), text) if text else {}

    @property
    def rest(self) -> dict[str, Any]:
        """The members of a stream's last delta: those that are more than the text."""
        return {name: part for name, part in self._members.items() if name not in self._names}

    @property
    def whole(self) -> dict[str, Any]:
        return {**({_PLAIN: self.text} if self else {}), **self._members}
