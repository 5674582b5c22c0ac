"""A value that a JSON Schema allows, as near as it can be to a value one would like to say.

Knows the keywords that servers constrain answers with, and refuses the rest; knows nothing of plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from conductor.fake_openai.matching import matching
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.text import prose

Schema = Mapping[str, Any] | bool

_DEPTH = 24
_CALM = 4
_UNSUPPORTED = frozenset(
    "not if then else contains multipleOf patternProperties propertyNames minProperties maxProperties "
    "dependentSchemas dependentRequired unevaluatedProperties unevaluatedItems".split()
)


class _Unwished:
    """Stands where nothing in particular is to be said."""


UNWISHED = _Unwished()


def allowed(schema: Schema, source: Random, *, wish: Any = UNWISHED) -> Any:
    """A value that `schema` allows: `wish` where it does, else what it leaves of it.

    Raises `Refusal` for a schema that is broken, allows nothing, or uses a keyword not supported here.
    """
    try:
        return _Fitting(schema, source).fitted(schema, wish, 0)[0]
    except (TypeError, AttributeError) as error:
        raise _broken("a keyword has a value of the wrong kind") from error


Fit = tuple[Any, int]
"""A value, and how many wishes it denies."""


class _Fitting:
    """One value in the making."""

    def __init__(self, root: Schema, source: Random) -> None:
        self._root = root
        self._source = source

    def fitted(self, schema: Any, wish: Any, depth: int) -> Fit:
        rules = self._rules(schema)
        if depth > _DEPTH:
            raise _broken("it is nested too deep")
        if "const" in rules:
            return _granted([rules["const"]], wish, self._source)
        if "enum" in rules:
            return _granted(rules["enum"], wish, self._source)
        if key := next((key for key in ("anyOf", "oneOf") if key in rules), None):
            rest = {name: value for name, value in rules.items() if name != key}
            options = rules[key]
            return self._best([_merged(rest, self._rules(option)) for option in options], wish, depth)
        match _type(rules, wish):
            case "object":
                return self._object(rules, wish, depth)
            case "array":
                return self._array(rules, wish, depth)
            case "string":
                return self._string(rules, wish)
            case "integer" | "number":
                return self._number(rules, wish)
            case "boolean":
                return _granted([True, False], wish, self._source)
            case "null":
                return _granted([None], wish, self._source)
            case other:
                raise _broken(f"the type {other!r} is not one")

    def _rules(self, schema: Any, depth: int = 0) -> Mapping[str, Any]:
        """A schema as an object, with its references and `allOf` taken in."""
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise _broken("it allows nothing" if schema is False else "a schema is not an object")
        if depth > _DEPTH:
            raise _broken("its references lead nowhere")
        if found := sorted(_UNSUPPORTED & schema.keys()):
            raise _broken(f"the keyword {found[0]} is not supported")
        rules = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        further = [self._referred(schema["$ref"])] if "$ref" in schema else []
        for part in (*further, *schema.get("allOf", ())):
            rules = _merged(rules, self._rules(part, depth + 1))
        return rules

    def _referred(self, reference: Any) -> Any:
        place: Any = self._root
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise _broken(f"the reference {reference!r} leads outside")
        for written in reference.split("/")[1:]:
            key = written.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or key not in place:
                raise _broken(f"the reference {reference!r} leads nowhere")
            place = place[key]
        return place

    def _best(self, options: Sequence[Mapping[str, Any]], wish: Any, depth: int) -> Fit:
        """Of several schemas the one that denies least; where nothing is wished, any of them."""
        if not options:
            raise _broken("a list of alternatives is empty")
        if wish is UNWISHED:
            # Deep down the first one, so that a schema of itself comes to an end.
            option = options[0] if depth > _CALM else self._source.choice(options)
            return self.fitted(option, wish, depth + 1)
        return min((self.fitted(option, wish, depth + 1) for option in options), key=lambda fit: fit[1])

    def _object(self, rules: Mapping[str, Any], wish: Any, depth: int) -> Fit:
        wished = wish if isinstance(wish, Mapping) else {}
        properties = rules.get("properties", {})
        required = rules.get("required", ())
        denied = 0 if wish is UNWISHED or isinstance(wish, Mapping) else 1
        value = {}
        for key in dict.fromkeys((*properties, *required)):
            if key not in required and key not in wished:
                continue
            value[key], missed = self.fitted(properties.get(key, True), wished.get(key, UNWISHED), depth + 1)
            denied += missed
        return value, denied

    def _array(self, rules: Mapping[str, Any], wish: Any, depth: int) -> Fit:
        first = rules.get("prefixItems", ())
        rest = rules.get("items", True)
        low, high = rules.get("minItems", 0), rules.get("maxItems", len(first) if rest is False else None)
        if isinstance(wish, list):
            length = len(wish)
        else:
            length = low if depth > _CALM else max(low, len(first), self._source.randint(1, 3))
        length = max(low, length if high is None else min(length, high))
        wishes = [*(wish if isinstance(wish, list) else ()), *[UNWISHED] * length][:length]
        denied = 0 if wish is UNWISHED else abs(length - len(wish)) if isinstance(wish, list) else 1
        value = []
        for at, one in enumerate(wishes):
            item, missed = self.fitted(first[at] if at < len(first) else rest, one, depth + 1)
            denied += missed
            if item not in value or not rules.get("uniqueItems"):
                value.append(item)
        if len(value) < low:
            raise _broken(f"{low} different items were not found")
        return value, denied

    def _string(self, rules: Mapping[str, Any], wish: Any) -> Fit:
        if "pattern" in rules:
            return matching(rules["pattern"], self._source), 0 if wish is UNWISHED else 1
        wished = wish if isinstance(wish, str) else prose(self._source, self._source.randint(4, 12))
        text = wished[: rules.get("maxLength", len(wished))].ljust(rules.get("minLength", 0), ".")
        return text, 0 if wish is UNWISHED or text == wish else 1

    def _number(self, rules: Mapping[str, Any], wish: Any) -> Fit:
        low, high = rules.get("minimum"), rules.get("maximum")
        if "exclusiveMinimum" in rules:
            low = rules["exclusiveMinimum"] + 1
        if "exclusiveMaximum" in rules:
            high = rules["exclusiveMaximum"] - 1
        if low is None:
            low = 0 if high is None else min(0, high)
        if high is None:
            high = low + 9
        if high < low:
            raise _broken("no number lies between its bounds")
        whole = rules.get("type") != "number"
        fits = isinstance(wish, int if whole else (int, float)) and low <= wish <= high
        return (wish, 0) if fits else self._picked(low, high, wish, whole=whole)

    def _picked(self, low: float, high: float, wish: Any, *, whole: bool) -> Fit:
        denied = 0 if wish is UNWISHED else 1
        return (self._source.randint(int(low), int(high)) if whole else low), denied


def _granted(choices: Sequence[Any], wish: Any, source: Random) -> Fit:
    """The wish where it is one of the choices, else any of them."""
    if not choices:
        raise _broken("a list of values is empty")
    if any(choice == wish and type(choice) is type(wish) for choice in choices):
        return wish, 0
    return source.choice(choices), 0 if wish is UNWISHED else 1


def _type(rules: Mapping[str, Any], wish: Any) -> Any:
    """The type to write: of several the one that is wished, else what the other keywords speak of."""
    named = rules.get("type")
    if isinstance(named, list):
        return _type_of(wish) if _type_of(wish) in named else named[0]
    if named is not None:
        return named
    if "properties" in rules or "required" in rules:
        return "object"
    if "items" in rules or "prefixItems" in rules or "minItems" in rules:
        return "array"
    if "minimum" in rules or "maximum" in rules:
        return "integer"
    return _type_of(wish) or "string"


def _type_of(wish: Any) -> str | None:
    match wish:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str():
            return "string"
        case list():
            return "array"
        case Mapping():
            return "object"
        case _:
            return None


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas' keywords; properties and required names of both."""
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _broken(why: str) -> Refusal:
    return Refusal(f"Invalid JSON Schema: {why}.", code="invalid_grammar")
