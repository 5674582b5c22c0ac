"""What the grammar's rules about countries mean: what the table holds of them, and which is larger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from conductor.workers.offline.countries import (
    MAX_LISTED,
    NUMBERS,
    STATED,
    TITLES,
    Country,
    Property,
    countries,
    country_named,
    holding,
    key_of,
)
from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.quantity import GIVEN, Quantity, Unit

CLEAR = {"population": 1.05, "area": 1.01}
"""How many times as large a number has to be for the answer which is larger not to depend on the source."""


def property_named(text: str) -> Property:
    name = " ".join(text.lower().split())
    known: Mapping[str, Property] = WORDS["properties"]
    return known[name]


def place(text: str) -> Country:
    found = country_named(text)
    if found is None:
        raise NotUnderstood("no country of the table")
    return found


def stated(text: str, of: Country) -> Answer:
    if text.lower().strip() == "population density":
        if not of.number("population"):
            raise NotUnderstood("the table has no such number")
        density = f"{of.number('population') / of.number('area'):.3g}"
        return Answer(f"about {density} people per km^2", (of.line("population"), of.line("area")))
    name = property_named(text)
    if name in NUMBERS and not of.number(name):
        raise NotUnderstood("the table has no such number")
    return Answer(of.text(name), (of.line(name),))


def properties(*names: str) -> tuple[Property, ...]:
    return tuple(dict.fromkeys(map(property_named, names)))


def places(*found: Country) -> tuple[Country, ...]:
    return tuple(dict.fromkeys(found))


def facts(names: tuple[Property, ...], of: tuple[Country, ...]) -> Answer:
    """Each property of each country; raises `NotUnderstood` where the table does not have it."""
    if any(name in NUMBERS and not each.number(name) for each in of for name in names):
        raise NotUnderstood("the table has no such number")
    lines = tuple(each.line(name) for each in of for name in names)
    if len(lines) == 1:
        return Answer(of[0].text(names[0]), lines)
    if len(names) == 1:
        return Answer("; ".join(f"{each.name}: {each.text(names[0])}" for each in of), lines)
    return Answer("; ".join(f"{line[0].lower()}{line[1:]}" for line in lines), lines)


def in_common(of: tuple[Country, ...], text: str) -> Answer:
    """Whether countries have a value in common."""
    name = property_named(text)
    if len(of) < 2 or name in NUMBERS:
        raise NotUnderstood("what several countries cannot share")
    values = set(of[0].values(name)).intersection(*(each.values(name) for each in of[1:]))
    title = TITLES[name].lower()
    found = f"yes, same {title} ({', '.join(sorted(values))})" if values else f"no, different {title}"
    return Answer(found, facts((name,), of).working)


Holding = tuple[Property, str]


def holders(*held: Holding) -> Answer:
    """The countries that have all these values."""
    groups = [holding(value, name) or ("", ()) for name, value in held]
    found = [country for country in groups[0][1] if all(country in others for _, others in groups)]
    if not found:
        raise NotUnderstood("no country of the table")
    titles = (TITLES[name].lower().removesuffix("s") for name, _ in held)
    condition = " and ".join(f"{title} {value}" for title, (value, _) in zip(titles, groups, strict=True))
    names = [country.name for country in found]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return Answer(", ".join(names[:MAX_LISTED]) + more, (f"Countries with {condition}: {len(names)}",))


def property_number(text: str, of: Country) -> Quantity:
    name = property_named(text)
    unit = Unit("km^2", "km^2", Fraction(10**6), (("m", 2),))
    value = Fraction(of.number(name))
    if not value:
        raise NotUnderstood("the table has no such number")
    how = f"{name} of {of.name} ({of.text(name)})"
    return (
        Quantity(value * unit.size, unit.base, (unit,), how, GIVEN)
        if name == "area"
        else Quantity(value, how=how, tight=GIVEN)
    )


def _larger(name: Property, left: Country, right: Country) -> bool:
    """Whether the first is larger; raises `NotUnderstood` where sources may differ."""
    numbers = sorted((left.number(name), right.number(name)))
    if not numbers[0] or left is right or numbers[1] < CLEAR.get(name, 2) * numbers[0]:
        raise NotUnderstood("too close to decide")
    return left.number(name) > right.number(name)


def chosen(name: Property, larger: bool = True) -> Callable[[Country, Country], Answer]:
    return lambda left, right: Answer(
        (left if _larger(name, left, right) is larger else right).name, (left.line(name), right.line(name))
    )


def affirmed(name: Property, larger: bool = True) -> Callable[[Country, Country], Answer]:
    def decided(left: Country, right: Country) -> Answer:
        holds = _larger(name, left, right) is larger
        greater = left if _larger(name, left, right) else right
        word = "has more people" if name == "population" else "is larger"
        return Answer(
            f"{'yes' if holds else 'no'}, {greater.name} {word}", (left.line(name), right.line(name))
        )

    return decided


def superlative(*parts: Any) -> Answer:
    """The country that is first or last by a number, in the world or on a continent."""
    words = [part.lower() for part in parts if isinstance(part, str)]
    extreme = words[0]
    size = next((word for word in words[1:] if word in WORDS["properties"]), "")
    within = next((part for part in parts if isinstance(part, tuple)), None)
    continent = next((word for word in words[1:] if word != size), within[0] if within else "")
    if "popul" in extreme:
        if size:
            raise NotUnderstood("the size is named twice")
        name: Property = "population"
    elif extreme in ("most", "fewest"):
        name = "population" if size in ("people", "inhabitants") else ""  # type: ignore[assignment]
    elif extreme in ("highest", "lowest"):
        name = "population" if size == "population" else ""  # type: ignore[assignment]
    else:
        name = property_named(size) if size else "area"
    if not name or (not continent and within is None and not size and extreme in ("highest", "lowest")):
        raise NotUnderstood("the largest of what?")
    least = extreme in ("smallest", "fewest", "lowest") or extreme.startswith("least")
    if least and not all(each.number(name) for each in _on(continent)):
        raise NotUnderstood("the smallest may be one without a number")
    among = sorted(_on(continent), key=lambda each: each.number(name), reverse=not least)
    _larger(name, among[0], among[1])
    return Answer(among[0].name, tuple(each.line(name) for each in among[:3]))


def _on(continent: str) -> Sequence[Country]:
    return [each for each in countries() if continent in ("", each.properties["continent"].lower())]


def count_in(continent: str) -> Answer:
    names = [each.name for each in _on(continent.lower())]
    return Answer(f"{len(names)} (members and observers of the United Nations)", (", ".join(names),))


def whose_capital(city: str) -> Answer:
    _, found = holding(city, "capital") or ("", ())
    if not found:
        raise NotUnderstood("no capital of the table")
    return Answer(", ".join(each.name for each in found), tuple(each.line("capital") for each in found))


def is_capital(city: str, of: Country) -> Answer:
    capitals = {key_of(value) for value in of.values("capital")}
    if key_of(city) in capitals:
        if len(capitals) > 1:
            raise NotUnderstood("one of several")
        return Answer("yes", (of.line("capital"),))
    return Answer(f"no, it is {of.text('capital')}", (of.line("capital"),))


def is_in(of: Country, continent: str) -> Answer:
    holds = continent.lower() == of.properties["continent"].lower()
    if of.properties["continent"].count(";") or of.name in WORDS["countries"]["on_two_continents"]:
        raise NotUnderstood("on more than one continent")
    return Answer("yes" if holds else f"no, it is in {of.text('continent')}", (of.line("continent"),))


RULES: Mapping[str, Callable[..., Any]] = {
    "city": str, "property": stated, "known": lambda of, names=STATED: facts(names, of),
    "on_continent": lambda value: ("continent", value),
    "with_currency": lambda value: ("currency", value), "with_language": lambda value: ("languages", value),
    "currency": lambda *parts: stated("currency", parts[-1]), "languages": lambda of: stated("languages", of),
    "continent": lambda of: stated("continent", of), "population": lambda of: stated("population", of),
    "area": lambda of: stated("area", of),
    "is_bigger": affirmed("area"), "is_smaller": affirmed("area", larger=False),
    "is_more_populous": affirmed("population"), "bigger": chosen("area"),
    "smaller": chosen("area", larger=False), "more_populous": chosen("population"),
    "less_populous": chosen("population", larger=False), "world": lambda: ("",),
    "within": lambda continent: (continent.lower(),),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""
