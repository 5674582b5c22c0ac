"""The conversation before a query, and the instructions for its answer. Values only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

from pydantic import Field

from conductor.text.thoughts import answer_in_full
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.images import Image
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, PartKind, Value

MAX_QUERY = 50_000
"""The most characters a query may have."""

MAX_CONVERSATION = 1_000_000
"""The most characters a conversation may have."""

_PLAIN_TAG = re.compile(r"<(?=/?(?:instructions|conversation|question|results|user|assistant|tool)\b)")


class Turn(Value):
    """One message of a conversation, as it came.

    An assistant's may have `tool_calls`; a tool's is the result of the call `tool_call_id`. `name` is the
    speaker's, where the client gives one. `images` stand in the text, each at its place, `files` behind it.
    `thoughts` are the members of an assistant's message that have them, as JSON text (see `opaque`), and
    `worker` is the one that they and those of its calls go back to.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    tool_call_id: str | None = Field(default=None, exclude_if=lambda call: call is None)
    name: str | None = Field(default=None, exclude_if=lambda name: name is None)
    images: tuple[Image, ...] = Field(default=(), exclude_if=lambda images: not images)
    files: tuple[AttachedFile, ...] = Field(default=(), exclude_if=lambda files: not files)
    thoughts: str | None = Field(default=None, exclude_if=lambda thoughts: thoughts is None)
    worker: str | None = Field(default=None, exclude_if=lambda worker: worker is None)

    def with_thoughts(self, thoughts: str | None, *, worker: str | None) -> Turn:
        """The same with thoughts that go back to this worker, as do those of its calls; None: without any."""
        if worker is None:
            return self.without_thoughts
        any_thoughts = thoughts is not None or any(call.extra is not None for call in self.tool_calls)
        if not any_thoughts and self.worker is None:
            return self
        return self.model_copy(update={"thoughts": thoughts, "worker": worker if any_thoughts else None})

    @property
    def without_marks(self) -> Turn:
        """The same without thoughts that stand in an answer's text, and their marks."""
        text = answer_in_full(self.text) if self.role == "assistant" else self.text
        return self if text == self.text else self.model_copy(update={"text": text})

    @property
    def without_thoughts(self) -> Turn:
        """The same for another worker than the one that made it."""
        if self.thoughts is None and all(call.extra is None for call in self.tool_calls):
            return self
        calls = tuple(call.model_copy(update={"extra": None}) for call in self.tool_calls)
        return self.model_copy(update={"thoughts": None, "worker": None, "tool_calls": calls})

    @property
    def display_text(self) -> str:
        """The text, its files, and the calls of tools in words."""
        if not (self.files or self.tool_calls):
            return self.text
        beside = (*(file.display_text for file in self.files), *(call.words for call in self.tool_calls))
        return "\n\n".join(text for text in (self.text, *beside) if text.strip())

    def parts(self, written: Callable[[str], str] = str) -> list[Part]:
        """The same in the parts of a message, its texts as `written` gives them."""
        if not self.files:
            return [Part("turn", written(self.display_text))]
        own = [Part("turn", written(self.text))] if self.text.strip() else []
        return [*own, *file_parts(self.files, written, behind=bool(own))]

    @property
    def characters(self) -> int:
        calls = sum(len(call.name) + len(call.arguments) + len(call.extra or "") for call in self.tool_calls)
        return len(self.text) + len(self.thoughts or "") + calls + _length(self.files)

    @property
    def message(self) -> Message:
        """The same as a worker is sent it."""
        kind: PartKind = "system" if self.role == "system" else "turn"
        parts = tuple(self.parts()) if self.files else (Part(kind, self.text),)
        return Message(
            self.role, parts, self.tool_calls, self.tool_call_id, self.name, self.images, self.thoughts
        )


class Conversation(Value):
    """What comes before a query: the messages, oldest first, and the `instructions` for the answer.

    `verbatim`: a workflow of one step sends all of it to its worker as it is, message by message, without any
    text of this program. What a workflow of several steps sees does not depend on it. `following` comes after
    the query: calls of tools and their results, or the beginning of the answer, which the final step alone is
    sent; of results that were there when the workflow was planned, the Conductor and all steps are shown the
    first `planned_with` messages. `speaker` is the name of who asks, where the client gives one. `images` and
    `files` belong to the query, and `unseen` is how many images of the messages a worker without vision is
    not sent.
    """

    instructions: str = ""
    turns: tuple[Turn, ...] = ()
    verbatim: bool = False
    following: tuple[Turn, ...] = Field(default=(), exclude_if=lambda turns: not turns)
    planned_with: int = Field(default=0, ge=0, exclude_if=lambda number: not number)
    speaker: str | None = Field(default=None, exclude_if=lambda name: name is None)
    images: tuple[Image, ...] = Field(default=(), exclude_if=lambda images: not images)
    files: tuple[AttachedFile, ...] = Field(default=(), exclude_if=lambda files: not files)
    unseen: int = Field(default=0, ge=0, exclude_if=lambda number: not number)

    @property
    def nothing(self) -> bool:
        """Whether there is nothing before the query."""
        beside = self.following or self.speaker or self.images or self.files or self.unseen
        return not (self.turns or self.instructions or self.verbatim or beside)

    @property
    def pictures(self) -> tuple[Image, ...]:
        """All images up to the query, those of earlier messages first."""
        return (*(image for turn in self.turns for image in turn.images), *self.images)

    @property
    def with_all_turns(self) -> Conversation:
        """The same with what follows the query among the messages."""
        return self.model_copy(update={"turns": (*self.turns, *self.following), "following": ()})

    @property
    def without_images(self) -> Conversation:
        """The same for a worker that sees none."""
        number = len(self.with_all_turns.pictures)
        return self._without("images").model_copy(update={"unseen": number}) if number else self

    def with_thoughts_of(self, worker: str) -> Conversation:
        """The same with the thoughts of this worker alone."""
        if all(turn.worker in (None, worker) for turn in (*self.turns, *self.following)):
            return self
        turns, following = (
            tuple(turn if turn.worker in (None, worker) else turn.without_thoughts for turn in of)
            for of in (self.turns, self.following)
        )
        return self.model_copy(update={"turns": turns, "following": following})

    @property
    def without_attachments(self) -> Conversation:
        """The same for a step that is to see no file and no image."""
        every = self.with_all_turns
        return self._without("images", "files") if every.attached or every.pictures else self

    def _without(self, *names: str) -> Conversation:
        none: dict[str, object] = dict.fromkeys(names, ())
        messages = {
            which: tuple(turn.model_copy(update=none) for turn in turns)
            for which, turns in (("turns", self.turns), ("following", self.following))
        }
        return self.model_copy(update={**messages, **none})

    @property
    def attached(self) -> tuple[AttachedFile, ...]:
        """All files, those of earlier messages first."""
        return (*(file for turn in self.turns for file in turn.files), *self.files)

    @property
    def before(self) -> Conversation:
        """What stands before the query."""
        return self.model_copy(update={"following": (), "planned_with": 0}) if self.following else self

    @property
    def planned_before(self) -> Conversation:
        """The same with what the workflow was planned with."""
        if len(self.following) == self.planned_with:
            return self
        return self.model_copy(update={"following": self.results})

    @property
    def results(self) -> tuple[Turn, ...]:
        """The calls of tools and their results that the workflow was planned with."""
        return self.following[: self.planned_with]

    @property
    def with_results(self) -> Conversation:
        """The same, where the workflow is still to be planned."""
        tools = [at for at, turn in enumerate(self.following, start=1) if turn.role == "tool"]
        return self.model_copy(update={"planned_with": max(tools, default=0)})

    # These are not cached: a copy would have the cached value as well, whatever differs in the copy.
    @property
    def system(self) -> str:
        """All instructions together, those of system messages after `instructions`."""
        texts = (self.instructions, *(turn.text for turn in self.turns if turn.role == "system"))
        return "\n\n".join(text for text in texts if text.strip())

    @property
    def exchange(self) -> tuple[Turn, ...]:
        """The messages of the user and the assistant; the files of the query come last, as a message."""
        own = (Turn(role="user", text="", files=self.files),) if self.files else ()
        turns = (turn for turn in self.turns if turn.role != "system" and turn.display_text.strip())
        return (*turns, *own)

    def after(self, query: str, answer: str) -> Conversation:
        """This conversation with a question and its answer at its end."""
        question, reply = (
            Turn(role="user", text=query, name=self.speaker, images=self.images, files=self.files),
            Turn(role="assistant", text=answer),
        )
        turns = (*self.turns, question, *self.following, reply)
        none: dict[str, object] = {"following": (), "planned_with": 0, "images": (), "files": ()}
        return self.model_copy(update={"turns": turns, "speaker": None, **none})

    @property
    def characters(self) -> int:
        messages = sum(turn.characters for turn in (*self.turns, *self.following))
        return len(self.instructions) + messages + _length(self.files)

    @property
    def spoken(self) -> bool:
        """Whether there are instructions, earlier messages or results to show."""
        return bool(self.system or self.exchange or self.results)

    def defused(self, text: str) -> str:
        """`text` in which none of the plain tags can open or close that show this conversation."""
        return _PLAIN_TAG.sub("<\u200b", text) if self.spoken else text

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
            opened = f"{between}{earlier}<conversation{mark}>\n"
            messages, between = _messages(self.exchange, opened, mark=mark, written=written)
            parts += messages
            between = f"{between}</conversation{mark}>\n\n"
        return [*parts, Part("frame", f"{between}<{task}{mark}>\n")]

    def closing(
        self, between: str, results: str, *, mark: str, written: Callable[[str], str] = str
    ) -> list[Part]:
        """The parts behind `between`, which ends the task, that show the results of tools; `results` is our
        wording for them. Empty without any.
        """
        if not self.results:
            return []
        opened = f"{between}{results}<results{mark}>\n"
        parts, between = _messages(self.results, opened, mark=mark, written=written)
        return [*parts, Part("frame", f"{between}</results{mark}>")]


def _messages(
    turns: Iterable[Turn], between: str, *, mark: str, written: Callable[[str], str]
) -> tuple[list[Part], str]:
    """The parts that show these messages behind our words `between`, and our words behind them."""
    parts: list[Part] = []
    for turn in turns:
        parts.append(Part("frame", f"{between}<{turn.role}{mark}>\n"))
        parts += turn.parts(written)
        between = f"\n</{turn.role}{mark}>\n"
    return parts, between


def file_parts(
    files: Iterable[AttachedFile], written: Callable[[str], str] = str, *, behind: bool = True
) -> list[Part]:
    """The parts of a message that show these files, `behind` a text or at its beginning."""
    parts: list[Part] = []
    for file in files:
        gap = "\n\n" if parts or behind else ""
        parts.append(Part("frame", f"{gap}{file.first_line}\n"))
        parts.append(Part("turn", written(file.text)))
        parts.append(Part("frame", f"\n{file.last_line}"))
    return parts


def _length(files: Iterable[AttachedFile]) -> int:
    return sum(len(file.text) for file in files)


NO_CONVERSATION = Conversation()
"""The conversation of a query with nothing before it."""
