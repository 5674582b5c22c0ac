"""Parameters of a request: read from its body, and what is said of those that cannot be honoured.

Nothing is ignored in silence: what a schema does not take is refused with the parameter's name. Knows
pydantic's errors; which parameters there are is the schemas' matter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conductor.api.errors import ApiError

A = TypeVar("A", bound="Asked")

Unsupported: TypeAlias = None
"""The type of a parameter that may only be null."""
Nothing: TypeAlias = tuple[()] | None
"""The type of a parameter that may only be an empty list."""
Zero = Annotated[float, Field(ge=0, le=0)] | None
"""The type of a parameter that may only have the value that changes nothing."""


class Asked(BaseModel):
    """Part of a request's body; unknown parameters are refused, and so is a number written as a text."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read(kind: type[A], content: bytes, *, reasons: Mapping[str, str]) -> A:
    """The body as `kind`; `reasons` say why parameters are not supported, by their names.

    Raises `ApiError` that names the first parameter that cannot be honoured.
    """
    try:
        asked = kind.model_validate_json(content)
    except ValidationError as error:
        raise _blaming(error, reasons) from None
    # Of a name that stands twice pydantic takes the last, and says nothing.
    json.loads(content, object_pairs_hook=_named_once)
    return asked


def _named_once(pairs: Sequence[tuple[str, Any]]) -> None:
    counts = Counter(name for name, _ in pairs)
    if len(counts) < len(pairs):
        name = next(name for name, count in counts.items() if count > 1)[:200]
        raise ApiError(
            f"'{name}' stands twice in one object; take one out.", param=name, code="invalid_value"
        )


def _blaming(error: ValidationError, reasons: Mapping[str, str]) -> ApiError:
    problems = error.errors(include_url=False, include_input=False)
    # Where a value may be of several kinds, the one that it comes nearest to tells most.
    problem = max(
        (one for one in problems if one["loc"][:1] == problems[0]["loc"][:1]), key=lambda one: len(one["loc"])
    )
    place, kind = _place(problem["loc"]), problem["type"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        place.append("role")
    param = ".".join(map(str, place))
    reason = _reason([part for part in place if isinstance(part, str)], reasons)
    if kind == "json_invalid":
        return ApiError(f"The body is not JSON that can be read: {problem['msg']}.", code="invalid_json")
    if not place:
        return ApiError("The body is not a JSON object.", code="invalid_json")
    if kind == "missing":
        message = f"Missing required parameter: '{param}'."
        return ApiError(message, param=param, code="missing_required_parameter")
    if reason is not None:
        message = f"'{param}' cannot be honoured here: {reason}"
        return ApiError(message, param=param, code="unsupported_parameter")
    if kind == "extra_forbidden":
        return ApiError(f"Unknown parameter: '{param[:200]}'.", param=param[:200], code="unknown_parameter")
    return ApiError(f"Invalid value for '{param}': {_told(problem)}.", param=param, code="invalid_value")


def _reason(names: Sequence[str], reasons: Mapping[str, str]) -> str | None:
    """Why the parameter is not supported, or the one that it is a part of; None: its value is just wrong."""
    parts = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((reasons[name] for name in parts if name in reasons), None)


def _place(location: Sequence[str | int]) -> list[str | int]:
    """Where in the body it is: the names that a union's members have in our own code left out."""
    inside = (part for part in location[1:] if isinstance(part, int) or not _is_member(part))
    return [*location[:1], *inside]


def _is_member(part: str) -> bool:
    return (
        part in _MEMBERS or any(sign in part for sign in "[(") or (part[:1].isupper() and part.isidentifier())
    )


_MEMBERS = frozenset(
    ("str", "int", "float", "bool", "none", "nullable", "constrained-str", "constrained-float",
     "system", "developer", "user", "assistant", "tool", "function", "message", "item", "parts")
)  # fmt: skip
"""How pydantic names the members of our unions in an error's place."""


def _told(problem: Mapping[str, Any]) -> str:
    words = str(problem["msg"]).replace(" after validation", "")
    # What is a tuple here is an array in JSON, as pydantic says elsewhere.
    words = words.replace("Tuple", "array")
    return words[:1].lower() + words[1:]
