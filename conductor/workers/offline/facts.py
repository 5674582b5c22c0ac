"""The facts expert: capital, continent, currency and official languages of countries, from the table.

Knows how such facts are asked for and told. What the table does not hold it says by name; it never
guesses. A told fact is a line `Capital of France: Paris`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.workers.offline.countries import PROPERTIES, Country, Property, having, key_of, named_countries
from conductor.workers.offline.task import Task

CANNOT = (
    "I am the built-in facts expert, not a language model: I know the capital, continent, currency and "
    "official languages of countries, and found no such question here. Name a country, or give this step "
    "to a language model."
)
MAX_LISTED = 60

_TITLES: dict[Property, str] = {
    "capital": "Capital", "continent": "Continent", "currency": "Currency", "languages": "Official languages",
}  # fmt: skip
_ASKED: dict[Property, re.Pattern[str]] = {
    "capital": re.compile(r"\bcapitals?\b", re.I),
    "continent": re.compile(r"\bcontinents?\b|\bpart of the world\b", re.I),
    "currency": re.compile(r"\bcurrenc(?:y|ies)\b|\bmoney\b|\bpay with\b", re.I),
    "languages": re.compile(r"\blanguages?\b|\bspoken?\b|\bspeaks?\b", re.I),
}
_NOT_HELD = re.compile(
    r"\b(population|inhabitants|area|president|prime minister|king|queen|leader|flag|anthem|GDP|climate|"
    r"history|religion|rivers?|mountains?|neighbou?rs?|borders?|time zone|founded|independence|food)\b", re.I
)  # fmt: skip
_ROLE = re.compile(r" \([^()]*\)")
"""What a name is said with, as which of several capitals it is; an answer is right without it."""

_PARTED = re.compile(r"[,;] ")
_SHARED = re.compile(r"\b(share|same|both|common|differ|different)\b", re.I)
_WHICH = re.compile(r"\b(?:which|what|name|list|where|all)\b", re.I)
_COUNTRIES = re.compile(r"\b(?:countr(?:y|ies)|nations?|states?)\b", re.I)
_CAPITAL_OF_WHICH = re.compile(r"\bcapital of which\b", re.I)
_USES: dict[Property, re.Pattern[str]] = {
    **_ASKED,
    "currency": re.compile(r"\bcurrenc|\buse[sd]?\b|\bpay|\bmoney\b", re.I),
    "continent": re.compile(r"\bin\b|\bcontinent", re.I),
}


def facts(task: Task) -> list[str]:
    """The answer's lines; the instruction's country and properties count before the query's."""
    found = named_countries(task.instruction) or named_countries(task.query)
    properties = asked_properties(task.instruction) or asked_properties(task.query)
    reverse = _reverse_lines(task.instruction) or _reverse_lines(task.query)
    if reverse and (not found or not _about_country(task)):
        return reverse
    if not found:
        return [CANNOT]
    if not properties and (missing := _NOT_HELD.findall(f"{task.instruction}\n{task.query}")):
        return [_not_held(missing), *_told(found, PROPERTIES)]
    lines = _told(found, properties or PROPERTIES)
    if len(found) > 1 and _SHARED.search(task.query):
        lines[-1:] = _compared(found, properties or PROPERTIES)
    if missing := _NOT_HELD.findall(task.query):
        lines.insert(0, _not_held(missing))
    return lines


def asked_properties(text: str) -> tuple[Property, ...]:
    """The properties a text asks for by name."""
    return tuple(each for each in PROPERTIES if _ASKED[each].search(text))


def fact_line(country: Country, of: Property) -> str:
    """One fact as a line."""
    return f"{_TITLES[of]} of {country.name}: {country.told(of)}"


def _about_country(task: Task) -> bool:
    """Whether a named country is what is asked about, not part of a question which country it is."""
    return not _asks_which(task.query) or bool(named_countries(task.instruction))


def _not_held(missing: Sequence[str]) -> str:
    names = ", ".join(dict.fromkeys(word.lower() for word in missing))
    return f"My table does not hold: {names}. It holds capital, continent, currency and official languages."


def _told(found: Sequence[Country], properties: Sequence[Property]) -> list[str]:
    lines = [fact_line(country, each) for country in found for each in properties]
    if len(lines) == 1:
        return [*lines, f"Answer: {found[0].told(properties[0])}"]
    if len(properties) == 1:
        return [*lines, "Answer: " + "; ".join(f"{each.name}: {each.told(properties[0])}" for each in found)]
    return [*lines, "Answer: " + "; ".join(f"{line[0].lower()}{line[1:]}" for line in lines)]


def _compared(found: Sequence[Country], properties: Sequence[Property]) -> list[str]:
    said = []
    for each in properties:
        shared = set(found[0].values(each)).intersection(*(country.values(each) for country in found[1:]))
        title = _TITLES[each].lower()
        said.append(f"same {title} ({', '.join(sorted(shared))})" if shared else f"different {title}")
    yes = {True: "yes, ", False: "no, "}.get(said[0].startswith("same"), "") if len(said) == 1 else ""
    return ["Answer: " + yes + "; ".join(said)]


def _asks_which(text: str) -> bool:
    """Whether a text asks for countries instead of naming one."""
    which = _WHICH.search(text)
    # Two searches: as one pattern, every "which" would read the rest of the text again.
    return bool(which and _COUNTRIES.search(text, which.end())) or bool(_CAPITAL_OF_WHICH.search(text))


def _reverse_lines(text: str) -> list[str]:
    """Which countries have a capital, currency, language or continent that the text names."""
    if not _asks_which(text):
        return []
    for of in PROPERTIES:
        if _USES[of].search(text) and (groups := having(text, of)):
            value, found = groups[0]
            names = [country.name for country in found]
            more = "" if len(names) <= MAX_LISTED else f" and {len(names) - MAX_LISTED} more"
            return [
                f"Countries with {_TITLES[of].lower().removesuffix('s')} {value}: {len(names)}",
                f"Answer: {', '.join(names[:MAX_LISTED])}{more}",
            ]
    return []


def fact_check(task: Task) -> list[str] | None:
    """Each visible answer held against the table; None when the question is not about its facts."""
    expected = facts(Task(query=task.query, instruction=""))
    if expected == [CANNOT] or not task.answers:
        return None
    right = next(line for line in expected if line.startswith("Answer: ")).removeprefix("Answer: ")
    told = [line for line in expected if not line.startswith("Answer: ")]
    lines = [f"In the table: {line}" for line in told]
    values = _key_values(told, right)
    answer = right
    for each in task.answers:
        said = key_of(each.seen.response)
        complete = all(key_of(value) in said for value in values)
        if complete or _repeats_table(each.seen.response):
            lines.append(f"Verified: {each.source} says the same.")
            answer = each.text if complete else answer
        else:
            lines.append(f"Correction: {each.source} says {each.text}. The right answer is {right}.")
    return [*lines, f"Answer: {answer}"]


def _repeats_table(response: str) -> bool:
    """Whether a response consists of told facts, all of which stand in the table."""
    told = [line for line in response.splitlines() if line.startswith(tuple(_TITLES.values()))]
    held = {fact_line(country, of) for country in named_countries(response) for of in PROPERTIES}
    return bool(told) and held.issuperset(told)


def _key_values(told: Sequence[str], right: str) -> list[str]:
    said = (_ROLE.sub("", line.split(": ", 1)[1]) for line in told if " of " in line)
    values = [part for facts in said for part in _PARTED.split(facts)]
    return values or right.split(", ")
