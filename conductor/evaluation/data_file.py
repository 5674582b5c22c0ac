"""Reads questions with known answers from the rows of a file, and refuses what no answer could match.

Knows rows, items, and the scorers by whether a target could be right by its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from conductor.errors import DataError
from conductor.evaluation.items import BrokenLine, DataSet, Item
from conductor.evaluation.rows import rows_of
from conductor.evaluation.scorers.accepted_answer import check_target
from conductor.text.equality.choice import LETTERS

MAX_ITEMS = 100_000


def own_fields(row: Mapping[str, Any], columns: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """The fields of a row of a file without a published layout, by `columns`: messages become one text, and
    the text of a choice its letter.

    Raises `DataError` for what could be read in two ways.
    """
    fields = dict(_renamed(row, columns or {}))
    if isinstance(fields.get("input"), list):
        fields["input"] = _text_of_messages(fields["input"])
    choices, target = fields.get("choices"), fields.get("target")
    if isinstance(target, list | tuple) and len(target) == 1:
        (target,) = target
    if isinstance(choices, list | tuple) and isinstance(target, str | int | float):
        fields["target"] = _letter_of(str(target), [str(each) for each in choices])
    return fields


def _text_of_messages(messages: Sequence[object]) -> str:
    """The texts of Inspect's or OpenAI's messages, one after the other."""
    texts: list[str] = []
    for message in messages:
        fields = message if isinstance(message, Mapping) and message.get("role") in ("system", "user") else {}
        content = fields.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        of_parts = [
            text
            for part in parts
            if isinstance(part, Mapping)
            and part.get("type") == "text"
            and isinstance(text := part.get("text"), str)
        ]
        if len(of_parts) < len(parts):
            raise DataError(
                "its messages are not the texts of a system and a user alone, which make one question"
            )
        texts.append("\n".join(of_parts))
    return "\n\n".join(texts)


def _letter_of(target: str, choices: Sequence[str]) -> str:
    """A letter is the letter of a choice, as in Inspect; of any other text that is a choice, its letter."""
    at = [LETTERS[number] for number, text in enumerate(choices[: len(LETTERS)]) if text == target]
    is_letter = len(target) == 1 and target.upper() in LETTERS[: len(choices)]
    if is_letter and at and at != [target.upper()]:
        raise DataError(
            f"its target {target!r} is the letter of one choice and the text of another; write the letter in "
            "brackets"
        )
    if len(at) > 1:
        raise DataError(f"its target {target[:60]!r} is the text of several choices; write the letter")
    return target if is_letter or not at else at[0]


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    missing = [column for column in columns.values() if column not in row]
    if missing:
        columns_there = ", ".join(repr(str(name)[:40]) for name in [*row][:12])
        raise DataError(f"it has no column {missing[0]!r}, but {columns_there}")
    values = {name: row[column] for name, column in columns.items()}
    if "category" in values:
        before = row.get("metadata")
        own = before if isinstance(before, Mapping) else {}
        values["metadata"] = {**own, "category": values.pop("category")}
    return {**row, **values}


def read_data(
    path: Path,
    *,
    encoding: str | None = None,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of a file, by its ending, see `rows_of`, which reads it by `encoding`.

    `columns` names, for a field of an item or its `category`, the column it is read from; where there is no
    `id`, the line's number is it. `limit` takes the first items. Raises `DataError` naming the first broken
    line, unless it is to be skipped; also where nothing is left, or an id stands there twice.
    """
    return items_of(
        rows_of(path, encoding=encoding),
        name=path.stem,
        place=path.name,
        fields=lambda row: own_fields(row, columns),
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
    scorer: str | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of numbered rows, each made of what `fields` gives for its row, as the set `name`.

    A row that is a `DataError` is broken. Raises `DataError` as `read_data` does; `place` is where the rows
    are from.
    """
    items: dict[str, Item] = {}
    broken: list[BrokenLine] = []
    kind: Literal["Line", "Row"] = (
        "Row" if place.lower().endswith((".json", ".json.gz", ".parquet")) else "Line"
    )
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
                    f"{kind} {number:,} of {place} is no item: {error}. Correct it, or leave such lines "
                    "out with --skip-broken."
                ) from error
            broken.append(BrokenLine(number, str(error), kind))
    if not items:
        raise DataError(f"{place} has no item.")
    return DataSet(name, tuple(items.values()), tuple(broken))


def item_of(
    row: object,
    number: int,
    *,
    fields: Callable[[Mapping[str, Any]], Mapping[str, Any]] = own_fields,
    scorer: str | None = None,
) -> Item:
    """The item in a row; its number is its id where it has none.

    Raises `DataError` where it is none, or no answer could be right.
    """
    if isinstance(row, DataError):
        raise row
    if not isinstance(row, Mapping):
        raise DataError("it holds no object")
    values = {"id": str(number), **fields(row)} | ({} if scorer is None else {"scorer": scorer})
    try:
        item = Item.model_validate(values)
    except ValidationError as error:
        raise DataError(_fault(row, error)) from error
    item.shuffled(0)
    check_target(item)
    return item


def _fault(row: Mapping[str, Any], error: ValidationError) -> str:
    """Why a row is no item, with the columns that it has or the value that is wrong."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        columns = ", ".join(repr(str(name)[:40]) for name in [*row][:12]) or "nothing"
        return f"it has no {place!r}, but {columns}: name its column, such as --column {place}=COLUMN"
    if first["type"] in ("tuple_type", "string_type"):
        value = json.dumps(first["input"], default=str, ensure_ascii=False)
        return f"its {place} is {value[:60]}, which is no text"
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def column_map(texts: Sequence[str]) -> Mapping[str, str]:
    """`field=column` texts as a map. Raises `DataError` for a field that items do not have."""
    columns: dict[str, str] = {}
    for text in texts:
        name, equals, column = text.partition("=")
        if not equals or name not in (*Item.model_fields, "category"):
            fields = ", ".join((*Item.model_fields, "category"))
            raise DataError(f"{text!r} maps no column: write FIELD=COLUMN with one of {fields}.")
        columns[name] = column
    return columns
