"""Reads JSON and TOML from outside within its own bounds, so that every Python accepts and refuses the same.

How deep Python's readers go, and how long a number may be, depends on its version, settings and stack.
"""

from __future__ import annotations

import json
import tomllib
from math import isfinite
from typing import Any, TypeVar

T = TypeVar("T")

MAX_DEPTH = 64
"""Values inside one another: so many are read, and checked against a schema, wherever that is done."""

MAX_DIGITS = 640
"""Digits of a whole number; no Python can be set to read fewer."""

_DEEP = f"it is nested too deeply: more than {MAX_DEPTH} values are inside one another"
_LONG = f"it has a whole number of more than {MAX_DIGITS} digits"
_BEYOND = 10**MAX_DIGITS


class BoundsError(ValueError):
    """A value is beyond the bounds; the message is why."""


def json_value(text: str | bytes, **hooks: Any) -> Any:
    """The value of JSON; `hooks` are those of `json.loads`. Raises `ValueError`."""
    try:
        value = json.loads(text, **{"parse_int": _whole, "parse_float": finite, **hooks})
    except RecursionError:
        raise BoundsError(_DEEP) from None
    return within_bounds(value)


def json_object(text: str) -> dict[str, Any] | None:
    """The object of JSON, such as the arguments of a call; None for another text."""
    try:
        value = json_value(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def toml_value(text: str) -> dict[str, Any]:
    """The tables of TOML. Raises `ValueError`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise BoundsError(_DEEP) from None
    except ValueError:
        raise BoundsError(_LONG) from None
    return within_bounds(tables)


def within_bounds(value: T) -> T:
    """The same value. Raises `BoundsError`."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        if any(isinstance(each, int) and not -_BEYOND < each < _BEYOND for each in level):
            raise BoundsError(_LONG)
        inner = [each for each in level if isinstance(each, dict | list | tuple)]
        level = [part for each in inner for part in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return value
    raise BoundsError(_DEEP)


def finite(digits: str) -> float:
    """A number. Raises `BoundsError` where it is larger than all that are known here."""
    number = float(digits)
    if not isfinite(number):
        raise BoundsError(f"it has the number {digits[:40]}, which is too large")
    return number


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise BoundsError(_LONG)
    return int(digits)
