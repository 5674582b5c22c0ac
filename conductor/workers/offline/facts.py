"""The facts expert: capital, continent, currency and official languages of countries, from the table.

Knows how questions name such facts and how answers state them. A refusal names what the table does not hold;
nothing is guessed. A fact is stated as a line `Capital of France: Paris`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from conductor.workers.offline.countries import (
    NUMBERS,
    PROPERTIES,
    TITLES,
    Country,
    Property,
    having,
    key_of,
    named_countries,
    words_beside,
)
from conductor.workers.offline.task import Refusal, Task

CANNOT = Refusal(
    "I am the built-in facts expert, not a language model: I know the capital, continent, currency, "
    "official languages, population, area and GDP of countries, and found no such question here. Name a "
    "country, or give this step to a language model."
)
MAX_LISTED = 60

STATED = tuple(each for each in PROPERTIES if each not in NUMBERS)
"""What is stated of a country where nothing is asked for by name."""

_ASKED: dict[Property, re.Pattern[str]] = {
    "capital": re.compile(r"\bcapitals?\b", re.I),
    "continent": re.compile(r"\bcontinents?\b|\bpart of the world\b", re.I),
    "currency": re.compile(r"\bcurrenc(?:y|ies)\b|\bmoney\b|\bpay with\b", re.I),
    "languages": re.compile(r"\blanguages?\b|\bspoken?\b|\bspeaks?\b", re.I),
    "population": re.compile(r"\bpopulations?\b|\binhabitants\b", re.I),
    "area": re.compile(r"\bareas?\b|\bsizes?\b", re.I),
    "gdp": re.compile(r"\bGDPs?\b", re.I),
}
_NOT_HELD = re.compile(
    r"\b(president|prime minister|king|queen|leader|flag|anthem|climate|"
    r"history|religion|rivers?|mountains?|neighbou?rs?|borders?|time zone|founded|independence|food)\b", re.I
)  # fmt: skip
_STATE_OF = re.compile(r"\b(?:state|head) of\b", re.I)
_ASKING = frozenset(
    "area|areas|gdp|inhabitants|population|populations|size|sizes|a|all|also|an|and|answer|answers|any|are|as|ask|asked|asks|at|be|below|briefly|by|can|capital|"
    "capitals|common|compare|compared|comparison|continent|continents|contrast|could|countries|country|"
    "currencies|currency|d|did|differ|difference|differences|different|differs|do|does|each|every|"
    "exactly|fact|facts|find|following|for|from|give|given|has|have|how|i|in|information|into|is|it|its|"
    "just|know|known|language|languages|list|ll|look|lookup|main|me|mention|money|name|named|names|"
    "nation|nations|necessary|need|needed|needs|of|official|on|one|only|or|pay|people|please|provide|"
    "question|re|relevant|report|s|same|share|shared|should|speak|speaks|spoken|state|states|step|t|tell|"
    "that|the|their|them|then|there|these|they|this|those|to|up|us|use|used|uses|using|versus|vs|was|we|"
    "what|when|where|which|will|with|would|you|your".split("|")
)
"""Words that ask for nothing but the four facts."""
_OF_PROPERTY = frozenset("pay people speak speaks spoken use used uses using".split())
"""Those of them that ask for something else where none of the four is asked for by name."""
MAX_NAMED = 5
"""Words that a refusal names."""

_ROLE = re.compile(r" \([^()]*\)")
"""The addition to a name, as which of several capitals it is; an answer is right without it."""

_PARTED = re.compile(r"[,;] ")
_SHARED = re.compile(r"\b(share|same|both|common|differ|different)\b", re.I)
_YES_OR_NO = re.compile(r"\W*(?:is|are|was|were|will|does|do|did|has|have|can)\b(?! you)", re.I)
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
    properties = _asked_properties(task.instruction) or _asked_properties(task.query)
    named = bool(named_countries(task.instruction))
    reverse = _reverse_lines(task.instruction) or _reverse_lines(task.query)
    # A country in a question which country it is, is not what is asked about.
    if reverse and (not found or (_asks_which(task.query) and not named)):
        return reverse
    if not found:
        return [CANNOT]
    if "capital" in properties and any(each in NUMBERS for each in properties):
        return [_not_held(["population, area and GDP of capitals"])]
    if not named and _YES_OR_NO.match(task.query) and not _SHARED.search(task.query):
        return [CANNOT]
    if any(not country.number(each) for country in found for each in properties if each in NUMBERS):
        return [_not_held([TITLES[each] for each in properties if each in NUMBERS])]
    complete = named and bool(_asked_properties(task.instruction))
    asked = task.instruction if complete else f"{task.instruction}\n{task.query}"
    if missing := _NOT_HELD.findall(asked):
        return [*_stated(found, properties)[:-1], _not_held(missing)] if properties else [_not_held(missing)]
    doing = frozenset() if properties else _OF_PROPERTY
    if not complete and (unknown := _unread(asked if named else task.query, beside=doing)):
        return [_not_understood(unknown)]
    lines = _stated(found, properties or STATED)
    if len(found) > 1 and _SHARED.search(task.query):
        lines[-1:] = _compared(found, properties or STATED)
    return lines


def _asked_properties(text: str) -> tuple[Property, ...]:
    return tuple(each for each in PROPERTIES if _ASKED[each].search(text))


def _not_held(missing: Sequence[str]) -> Refusal:
    names = ", ".join(dict.fromkeys(word.lower() for word in missing))
    return Refusal(
        f"My table does not hold: {names}. It holds capital, continent, currency, official languages, "
        "population, area and GDP."
    )


def _not_understood(words: Sequence[str]) -> Refusal:
    shown = ", ".join(dict.fromkeys(words[:MAX_NAMED]))
    return Refusal(
        f"I am the built-in facts expert, not a language model, and do not understand: {shown}. My table "
        "holds capital, continent, currency, official languages, population, area and GDP of countries; ask "
        "for these alone, or give this step to a language model."
    )


def _unread(text: str, *, values: Collection[str] = (), beside: Collection[str] = ()) -> list[str]:
    """The words of a text that ask for something else than the facts of the countries that it names, those
    `beside` them included.
    """
    # A state is a country in "which states", and a part of one in "the state of".
    words = ["state of" if _STATE_OF.search(text) else "", *words_beside(text, values=values)]
    return [word for word in words if word and (word not in _ASKING or word in beside)]


def _stated(found: Sequence[Country], properties: Sequence[Property]) -> list[str]:
    lines = [country.line(each) for country in found for each in properties]
    if len(lines) == 1:
        return [*lines, f"Answer: {found[0].text(properties[0])}"]
    if len(properties) == 1:
        return [*lines, "Answer: " + "; ".join(f"{each.name}: {each.text(properties[0])}" for each in found)]
    return [*lines, "Answer: " + "; ".join(f"{line[0].lower()}{line[1:]}" for line in lines)]


def _compared(found: Sequence[Country], properties: Sequence[Property]) -> list[str]:
    compared = []
    for each in properties:
        if each in NUMBERS:
            largest = max(found, key=lambda country: country.number(each))
            compared.append(f"larger {TITLES[each]}: {largest.name}")
            continue
        shared = set(found[0].values(each)).intersection(*(country.values(each) for country in found[1:]))
        title = TITLES[each].lower()
        compared.append(f"same {title} ({', '.join(sorted(shared))})" if shared else f"different {title}")
    if len(compared) > 1:
        return ["Answer: " + "; ".join(compared)]
    return [f"Answer: {'yes' if compared[0].startswith('same') else 'no'}, {compared[0]}"]


def _asks_which(text: str) -> bool:
    """Whether a text asks for countries instead of naming one."""
    which = _WHICH.search(text)
    # Two searches: as one pattern, every "which" would read the rest of the text again.
    return bool(which and _COUNTRIES.search(text, which.end())) or bool(_CAPITAL_OF_WHICH.search(text))


def _reverse_lines(text: str) -> list[str]:
    """Which countries have a capital, currency, language or continent that the text names."""
    if not _asks_which(text):
        return []
    named = {of: groups for of in STATED if _USES[of].search(text) and (groups := having(text, of))}
    keys = [key for groups in named.values() for key in groups]
    if not named or len(keys) > len(named) or named_countries(text) or _unread(text, values=keys):
        return []
    [first, *others] = [found for groups in named.values() for _, found in groups.values()]
    names = [country.name for country in first if all(country in other for other in others)]
    if not names:
        return []
    values = [(of, value) for of, groups in named.items() for value, _ in groups.values()]
    condition = " and ".join(f"{TITLES[of].lower().removesuffix('s')} {value}" for of, value in values)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return [
        f"Countries with {condition}: {len(names)}",
        f"Answer: {', '.join(names[:MAX_LISTED])}{more}",
    ]


def fact_check(task: Task) -> list[str] | None:
    """Each visible answer held against the table, unless it is from there; None: the question is not about
    its facts.
    """
    expected = facts(Task(query=task.query, instruction=""))
    if isinstance(expected[-1], Refusal) or not task.answers:
        return None
    right = next(line for line in expected if line.startswith("Answer: ")).removeprefix("Answer: ")
    stated = [line for line in expected if not line.startswith("Answer: ")]
    lines = [f"In the table: {line}" for line in stated]
    values = _key_values(stated, right)
    answer = right
    for each in task.answers:
        response = key_of(each.response)
        complete = all(key_of(value) in response for value in values)
        if each.response.splitlines() == expected:
            lines.append(f"Not checked: {each.source} answers {each.answer}, from the same table.")
            answer = f"{each.answer} (not checked)"
        elif complete or _repeats_table(each.response):
            lines.append(f"Verified: {each.source} answers the same.")
            answer = each.answer if complete else answer
        else:
            lines.append(f"Correction: {each.source} answers {each.answer}. The right answer is {right}.")
    return [*lines, f"Answer: {answer}"]


def _repeats_table(response: str) -> bool:
    """Whether a response states facts, and the table holds all of them."""
    stated = [line for line in response.splitlines() if line.startswith(tuple(TITLES.values()))]
    held = {country.line(of) for country in named_countries(response) for of in PROPERTIES}
    return bool(stated) and held.issuperset(stated)


def _key_values(stated: Sequence[str], right: str) -> list[str]:
    facts = (_ROLE.sub("", line.split(": ", 1)[1]) for line in stated if " of " in line)
    values = [part for fact in facts for part in _PARTED.split(fact)]
    return values or right.split(", ")
