"""Questions with known answers, read from a file: JSON Lines, CSV or Parquet.

The fields are those that Inspect's `json_dataset` reads (`id`, `input`, `target`, `choices`, `metadata`), and
ours (`scorer`). Knows files and items; knows no scorer's work.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from conductor.errors import DataError
from conductor.planner.planner import MAX_QUERY
from conductor.values.messages import Value

MAX_ITEMS = 100_000
MAX_LINE = 2_000_000
"""Characters of a line: longer ones are broken."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

ScorerName = Literal["exact", "number", "choice", "mathematics", "flexible", "code"]


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

    `columns` names, for a field of an item, the column it is read from; where there is no `id`, the line's
    number is it. `limit` takes the first items. Raises `DataError` naming the first broken line, unless it is
    to be skipped; also where nothing is left, or an id stands there twice.
    """
    items: dict[str, Item] = {}
    broken: list[BrokenLine] = []
    for number, row in _rows(path):
        if limit is not None and len(items) >= limit:
            break
        if len(items) >= MAX_ITEMS:
            raise DataError(f"{path.name} has more than {MAX_ITEMS:,} items; use a part of it with --limit.")
        try:
            item = _item(row, number, columns=columns or {}, scorer=scorer)
            if item.id in items:
                raise DataError(f"the id {item.id!r} stands there twice")
            items[item.id] = item
        except DataError as error:
            if not skip_broken:
                raise DataError(
                    f"Line {number:,} of {path.name} is no item: {error}. Correct it, or leave such lines "
                    "out with --skip-broken."
                ) from error
            broken.append(BrokenLine(number, str(error)))
    if not items:
        raise DataError(f"{path.name} holds no item.")
    return DataSet(path.stem, tuple(items.values()), tuple(broken))


def _item(row: object, number: int, *, columns: Mapping[str, str], scorer: ScorerName | None) -> Item:
    if isinstance(row, DataError):
        raise row
    if not isinstance(row, Mapping):
        raise DataError("it holds no object")
    named = {field: row[column] for field, column in columns.items() if column in row}
    missing = [column for column in columns.values() if column not in row]
    if missing:
        raise DataError(f"it has no column {missing[0]!r}")
    given = {"id": str(number), **row, **named} | ({} if scorer is None else {"scorer": scorer})
    try:
        item = Item.model_validate(given)
        item.shuffled(0)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
    return item


# -- rows of files ---------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    """The rows with their numbers from 1; a row that cannot be read is the `DataError` with the reason."""
    readers = {".jsonl": _json_lines, ".json": _json_lines, ".csv": _csv_rows, ".parquet": _parquet_rows}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path.name} is no data set: it must end in {', '.join(readers)}.")
    try:
        yield from reader(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _json_lines(path: Path) -> Iterator[tuple[int, object]]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(_lines(file), start=1):
            if not line.strip():
                continue
            if len(line) > MAX_LINE:
                yield number, DataError(f"it has more than {MAX_LINE:,} characters")
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, DataError(f"it is not JSON ({error})")


def _lines(file: TextIO) -> Iterator[str]:
    """The lines of a text file; of one that is too long only its beginning."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE and not line.endswith("\n"):
            while (rest := file.readline(MAX_LINE)) and not rest.endswith("\n"):
                pass
        yield line


def _csv_rows(path: Path) -> Iterator[tuple[int, object]]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.DictReader(file)
        try:
            for row in rows:
                filled = {name: value for name, value in row.items() if name and value not in (None, "")}
                yield rows.line_num, filled
        except csv.Error as error:
            raise DataError(f"{path.name} is no CSV at line {rows.line_num}: {error}.") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, object]]:
    import pyarrow  # noqa: PLC0415 - large, and needed for this kind of file alone
    import pyarrow.parquet  # noqa: PLC0415

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=500):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{path.name} is no Parquet file: {error}.") from error


def column_map(given: Sequence[str]) -> Mapping[str, str]:
    """`field=column` texts as a map. Raises `DataError` for a field that items do not have."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not equals or name not in Item.model_fields:
            fields = ", ".join(Item.model_fields)
            raise DataError(f"{text!r} maps no column: write FIELD=COLUMN with one of {fields}.")
        found[name] = column
    return found
