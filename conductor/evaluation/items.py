"""Questions with known answers, read from a file: JSON Lines, CSV or Parquet.

The fields are those that Inspect's `json_dataset` reads (`id`, `input`, `target`, `choices`, `metadata`), and
ours (`scorer`). Knows rows and items; knows no scorer's work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from conductor.errors import DataError
from conductor.evaluation.rows import rows_of
from conductor.planner.planner import MAX_QUERY
from conductor.values.messages import Value

MAX_ITEMS = 100_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

ScorerName = Literal["exact", "contains", "number", "choice", "mathematics", "flexible", "code", "judge"]


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str | int | float) and not isinstance(value, bool) else value


def _text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_Text = Annotated[str, BeforeValidator(_text)]


class Item(Value):
    """A question, and what counts as right: any text of `target`; of a choice its letter, or its text.

    `scorer` decides how answers are compared (None: `choice` where there are choices, else `exact`);
    `metadata` may hold a `category`, and whatever else a data set has.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=200)]
    input: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    target: Annotated[tuple[_Text, ...], BeforeValidator(_one_or_more), Field(min_length=1)]
    choices: tuple[_Text, ...] | None = Field(default=None, min_length=2, max_length=len(LETTERS))
    scorer: ScorerName | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def category(self) -> str | None:
        found = self.metadata.get("category")
        return None if found is None else str(found)

    @property
    def scored_by(self) -> ScorerName:
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
        return f'{self.input}\n\n{listed}\n\nEnd with a line "Answer: " and the letter of the right choice.'

    def _right_choice(self) -> int:
        assert self.choices is not None
        target = self.target[0].strip()
        if target in self.choices:
            return self.choices.index(target)
        letter = target.strip("().: ").upper()
        if len(letter) == 1 and letter in LETTERS[: len(self.choices)]:
            return LETTERS.index(letter)
        raise DataError(
            f"The target {target[:60]!r} of the item {self.id!r} is neither one of its choices nor a letter."
        )


@dataclass(frozen=True)
class BrokenLine:
    """A line (from 1) or row of a data set that is no item, and why."""

    number: int
    reason: str


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


def read_data(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    scorer: ScorerName | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of a file, by its ending: `.jsonl` or `.json`, `.csv`, `.parquet`.

    `columns` names, for a field of an item or its `category`, the column it is read from; where there is no
    `id`, the line's number is it. `limit` takes the first items. Raises `DataError` naming the first broken
    line, unless it is to be skipped; also where nothing is left, or an id stands there twice.
    """
    return items_of(
        rows_of(path),
        name=path.stem,
        place=path.name,
        fields=lambda row: _renamed(row, columns or {}),
        scorer=scorer,
        limit=limit,
        skip_broken=skip_broken,
    )


def items_of(
    rows: Iterable[tuple[int, object]],
    *,
    name: str,
    place: str,
    fields: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    scorer: ScorerName | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of numbered rows, each made of what `fields` gives for its row, as the set `name`.

    A row that is a `DataError` is broken. Raises `DataError` as `read_data` does; `place` is where the rows
    are from.
    """
    items: dict[str, Item] = {}
    broken: list[BrokenLine] = []
    for number, row in rows:
        if limit is not None and len(items) >= limit:
            break
        if len(items) >= MAX_ITEMS:
            raise DataError(f"{place} has more than {MAX_ITEMS:,} items; use a part of it with --limit.")
        try:
            item = item_of(row, number, fields=fields, scorer=scorer)
            if item.id in items:
                raise DataError(f"the id {item.id!r} stands there twice")
            items[item.id] = item
        except DataError as error:
            if not skip_broken:
                raise DataError(
                    f"Line {number:,} of {place} is no item: {error}. Correct it, or leave such lines "
                    "out with --skip-broken."
                ) from error
            broken.append(BrokenLine(number, str(error)))
    if not items:
        raise DataError(f"{place} holds no item.")
    return DataSet(name, tuple(items.values()), tuple(broken))


def item_of(
    row: object,
    number: int,
    *,
    fields: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    scorer: ScorerName | None = None,
) -> Item:
    """The item in a row; its number is its id where it has none. Raises `DataError` where it is none."""
    if isinstance(row, DataError):
        raise row
    if not isinstance(row, Mapping):
        raise DataError("it holds no object")
    given = {"id": str(number), **fields(row)} | ({} if scorer is None else {"scorer": scorer})
    try:
        item = Item.model_validate(given)
        item.shuffled(0)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        found = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{found}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
    return item


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    missing = [column for column in columns.values() if column not in row]
    if missing:
        raise DataError(f"it has no column {missing[0]!r}")
    named = {name: row[column] for name, column in columns.items()}
    if "category" in named:
        before = row.get("metadata")
        own = before if isinstance(before, Mapping) else {}
        named["metadata"] = {**own, "category": named.pop("category")}
    return {**row, **named}


def column_map(given: Sequence[str]) -> Mapping[str, str]:
    """`field=column` texts as a map. Raises `DataError` for a field that items do not have."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not equals or name not in (*Item.model_fields, "category"):
            fields = ", ".join((*Item.model_fields, "category"))
            raise DataError(f"{text!r} maps no column: write FIELD=COLUMN with one of {fields}.")
        found[name] = column
    return found
