"""Checks an answer against its JSON Schema, within bounds of time and size.

Schemas come from clients and answers from models: neither is trusted. Nothing is fetched (a `$ref` points
into its own schema), expressions are matched in linear time, and a check ends after `SECONDS`. Knows JSON
Schema 2020-12; `format` is not asserted, as that standard has it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from math import prod
from typing import Annotated, Any, TypeAlias

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import extend
from pydantic import Field, TypeAdapter
from pydantic import ValidationError as NoMatch
from pydantic_core import SchemaError as PatternError
from referencing import Registry

from conductor.errors import FormatError
from conductor.text.bounded_value import finite, json_value
from conductor.values.message_parts.response_format import ResponseFormat, no_constant

SECONDS = 2.0
"""How long one check may take."""

MAX_ANSWER = 1_000_000
"""Characters of an answer that is checked."""

MAX_PATTERN = 1_000
"""Characters of one regular expression."""

MAX_LIST = 1_000
"""Items of one list of a schema, such as an enumeration."""

MAX_MATCHING = 50_000_000
"""Characters of a text times those of an expression, each as often as its counts repeat it: some seconds."""

_LONGEST_REASON = 300
"""Characters of a reason that are shown; its two ends."""

_COUNT = re.compile(r"\{(\d+)?,?(\d+)?\}")
_UNSUPPORTED = {
    "patternProperties": "name the properties",
    "unevaluatedProperties": "use additionalProperties",
    "unevaluatedItems": "use items",
}
"""Keywords whose check in the library has no bound."""
_ROOT_ONLY = ("$schema", "$id")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

Errors: TypeAlias = Iterator[ValidationError]
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Errors]


class _Unbounded(Exception):
    """The check would take more than it may; the message is why."""


def check_schema(form: ResponseFormat) -> None:
    """Raise `FormatError` where no answer could be checked against the form's schema."""
    schema = form.schema_object
    try:
        _within_seconds(lambda: _check(schema))
    except SchemaError as error:
        where = "/".join(map(str, error.path))
        raise FormatError(
            f"The schema is not a JSON Schema{f' at {where[:200]}' if where else ''}: {error.message}."
        ) from None
    except (_Unbounded, RecursionError) as error:
        raise FormatError(f"The schema cannot be used: {_why(error)}.") from None


def _check(schema: Mapping[str, Any]) -> None:
    _refuse_unsupported(schema)
    _Checker.check_schema(schema)


def schema_fault(answer: str, form: ResponseFormat) -> str | None:
    """Why the answer is not what `form` asks for, or None if it is.

    Raises `FormatError` where the schema cannot be used.
    """
    if len(answer) > MAX_ANSWER:
        return f"it has {len(answer):,} characters, more than the {MAX_ANSWER:,} that can be checked"
    try:
        value = json_value(answer, parse_constant=no_constant, parse_float=_number)
    except ValueError as error:
        return f"it is no JSON ({_short(str(error))})"
    check_schema(form)
    # Without the dialect's name, where a reference to the whole schema would leave this checker for another.
    schema = {name: value for name, value in form.schema_object.items() if name != "$schema"}
    checker = _Checker(schema, registry=Registry())
    try:
        # The first error, because an answer of many items may have as many.
        violation = _within_seconds(lambda: next(checker.iter_errors(value), None))
    except (_Unbounded, RecursionError) as problem:
        raise FormatError(f"The answer cannot be checked against the schema: {_why(problem)}.") from None
    except Exception as problem:  # noqa: BLE001 - a $ref may lead the library to what is no schema
        raise FormatError(
            f"The answer cannot be checked against the schema ({type(problem).__name__}); see where its "
            "references point."
        ) from None
    if violation is None:
        return None
    where = "/".join(map(str, violation.absolute_path))
    return f"{f'at {where[:200]}, ' if where else ''}{violation.message}"


# -- bounds ----------------------------------------------------------------------------------------

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


def _within_seconds(check: Callable[[], Any]) -> Any:
    token = _deadline.set(time.monotonic() + SECONDS)
    try:
        return check()
    finally:
        _deadline.reset(token)


def _refuse_late() -> None:
    if time.monotonic() > _deadline.get():
        raise _Unbounded(f"it takes more than {SECONDS:g} s")


def _bounded(check: Keyword) -> Keyword:
    """The keyword's check, refused once the time is up. Of many alternatives each has an error, and its
    message the whole value.
    """

    def bounded(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        _refuse_late()
        for error in check(validator, value, instance, schema) or ():
            error.message = _short(error.message)
            error.args = (error.message,)
            yield error

    return bounded


def _refuse_unsupported(node: Any, *, root: bool = True) -> None:
    """Raise `_Unbounded` for what would be fetched, switch the dialect, or match without a bound.

    Looks at every object, also at data: a `$ref` may make a schema of it.
    """
    if isinstance(node, dict):
        for name, instead in _UNSUPPORTED.items():
            if name in node:
                raise _Unbounded(f"{name} is not supported; {instead}")
        for name in _ROOT_ONLY:
            if name in node and not root:
                raise _Unbounded(f"{name} may stand at its root only")
        for name in _REFERENCES:
            if isinstance(node.get(name), str) and not node[name].startswith("#"):
                raise _Unbounded(f"{name} {node[name][:100]!r} points out of it; nothing is fetched")
        if isinstance(node.get("pattern"), str):
            _refuse_late()
            _matcher(node["pattern"])
    if isinstance(node, list) and len(node) > MAX_LIST:
        raise _Unbounded(f"a list of it has {len(node):,} items; the limit is {MAX_LIST:,}")
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _refuse_unsupported(child, root=False)


# -- keywords whose own check has no bound ----------------------------------------------------------


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Errors:
    if not isinstance(instance, str):
        return
    matcher = _matcher(pattern)
    if len(instance) * _size(pattern) > MAX_MATCHING:
        raise _Unbounded(f"a text of {len(instance):,} characters is too long for {_short(repr(pattern))}")
    try:
        matcher.validate_python(instance)
    except NoMatch:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@lru_cache(maxsize=16)
def _matcher(pattern: str) -> TypeAdapter[str]:
    """Matches in time linear in the text, as Rust's expressions do, which pydantic uses; some take 10 MB."""
    if len(pattern) > MAX_PATTERN:
        raise _Unbounded(f"a pattern has {len(pattern):,} characters; the limit is {MAX_PATTERN:,}")
    try:
        return TypeAdapter(Annotated[str, Field(pattern=pattern)])
    except PatternError:
        raise _Unbounded(
            f"the pattern {_short(repr(pattern))} is not supported: it is too large, or looks around or back"
        ) from None


def _size(pattern: str) -> int:
    counts = (max(int(number or 1) for number in bounds) for bounds in _COUNT.findall(pattern))
    return len(pattern) * prod(max(count, 1) for count in counts)


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Errors:
    if not unique or not isinstance(instance, list):
        return
    seen = {json.dumps(item, sort_keys=True) for item in instance}
    if len(seen) < len(instance):
        yield ValidationError("an item stands in the list twice")


_Checker = extend(
    Draft202012Validator,
    {
        name: _bounded({"pattern": _pattern, "uniqueItems": _unique_items}.get(name, check))
        for name, check in Draft202012Validator.VALIDATORS.items()
    },
)

# -- reading and showing ---------------------------------------------------------------------------


def _number(text: str) -> float | int:
    """A number; 1.0 is 1 in JSON Schema."""
    number = finite(text)
    return int(number) if number.is_integer() else number


def _why(error: BaseException) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _short(text: str) -> str:
    return (
        text
        if len(text) <= _LONGEST_REASON
        else f"{text[: _LONGEST_REASON // 2]} ... {text[-_LONGEST_REASON // 2 :]}"
    )
