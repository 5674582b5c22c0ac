"""Questions with known answers, and sets of them. Values only; `data_file` reads them.

The fields are those that Inspect's `json_dataset` reads (`id`, `input`, `target`, `choices`, `metadata`), and
ours (`scorer`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field

from conductor.errors import DataError
from conductor.text.equality.choice import LETTERS
from conductor.text.final_answer import ASK
from conductor.values.conversation import MAX_QUERY
from conductor.values.messages import Value


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(_text(value), str) else value


def _text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return str(value) if is_number else value


_Text = Annotated[str, BeforeValidator(_text)]


class Item(Value):
    """A question, and what counts as right: any text of `target`; of a choice its letter.

    `scorer` decides how answers are compared (None: `choice` where there are choices, else `exact`);
    `metadata` may hold a `category`, and whatever else a data set has.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=200)]
    input: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    target: Annotated[tuple[_Text, ...], BeforeValidator(_one_or_more), Field(min_length=1)]
    choices: tuple[_Text, ...] | None = Field(default=None, min_length=2, max_length=len(LETTERS))
    scorer: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def category(self) -> str | None:
        value = self.metadata.get("category")
        return None if value is None else str(value)

    @property
    def scored_by(self) -> str:
        return self.scorer or ("choice" if self.choices else "exact")

    def shuffled(self, seed: int) -> Item:
        """The item with its choices in an order that the seed and its id decide, and its letter as target."""
        if self.choices is None:
            return self
        right = self._right_choice()
        order = list(range(len(self.choices)))
        key = sha256(f"{seed}\x1f{self.id}".encode()).digest()
        random.Random(key).shuffle(order)  # noqa: S311 - an order that can be repeated, not a secret
        choices = tuple(self.choices[at] for at in order)
        return self.model_copy(update={"choices": choices, "target": (LETTERS[order.index(right)],)})

    @property
    def question(self) -> str:
        """What is asked: the input, and its choices by letter."""
        if self.choices is None:
            return self.input
        listed = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, self.choices, strict=False))
        return f"{self.input}\n\n{listed}\n\n{ASK}the letter of the right choice."

    def _right_choice(self) -> int:
        assert self.choices is not None
        letter = self.target[0].strip("().: ").upper()
        if len(self.target) == 1 and len(letter) == 1 and letter in LETTERS[: len(self.choices)]:
            return LETTERS.index(letter)
        targets = ", ".join(self.target)[:60]
        raise DataError(f"the target {targets!r} is neither the letter nor the text of one of its choices")


class UnreadableItem(Item):
    """What stands in the place of a stored item that is damaged: it is shown and counted, and never asked."""

    @classmethod
    def at(cls, place: int) -> Self:
        """The one at that place, from 0."""
        return cls(id=f"item {place + 1}", input=f"Question {place + 1:,} cannot be read.", target=("?",))


@dataclass(frozen=True)
class BrokenLine:
    """A line (from 1) or row of a data set that is no item, and why."""

    number: int
    reason: str
    kind: Literal["Line", "Row"] = "Line"


@dataclass(frozen=True)
class DataSet:
    """Items in the file's order. `digest` is a hash of what they are: the same for the same questions."""

    name: str
    items: tuple[Item, ...]
    broken: tuple[BrokenLine, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        content = "\n".join(item.model_dump_json() for item in self.items)
        object.__setattr__(self, "digest", sha256(content.encode()).hexdigest()[:16])

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.category for item in self.items if item.category is not None))
