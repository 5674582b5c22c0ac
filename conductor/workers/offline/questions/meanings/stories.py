"""What the grammar's rules about stories mean: things had, given, shared or bought, and ways at a speed.

The names in a story stand for themselves: a person or thing that is asked about has to be one that was named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.numbers import as_percent, change, drop, number, told
from conductor.workers.offline.questions.meanings.quantity import (
    Base,
    Quantity,
    measured,
    total,
    unit_named,
    units,
)

ONE = number("1")


@dataclass(frozen=True)
class Thing:
    """So many of something: `name` is "" where it was not named, or where the quantity has a unit."""

    count: Quantity
    name: str = ""
    share: bool = False


def amount_thing(count: Quantity, name: str) -> Thing:
    if name in units() or f"{name}s" in units():
        raise NotUnderstood("this is a unit, not a thing")
    return Thing(count, name)


def amount_unit(count: Quantity, unit: str, *_: str) -> Thing:
    return Thing(measured(count, unit_named(unit)))


def _stem(word: str) -> str:
    word = word.lower()
    word = WORDS["singular"].get(word, word)
    for ending, by in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
            return word.removesuffix(ending) + by
    return word


def thing(*words: str) -> str:
    return " ".join(map(_stem, words))


def _alike(left: str, right: str) -> bool:
    """Whether two names may be of one thing: the same, one of them unsaid, or "red apple" and "apple"."""
    return not left or not right or left == right or right in left.split()[-1:] or left in right.split()[-1:]


def _same(*names: str) -> str:
    named = {name for name in names if name}
    if len(named) > 1:
        raise NotUnderstood("these are different things")
    return named.pop() if named else ""


def _person(name: str) -> str:
    return "" if name.lower() in ("he", "she", "they", "it", "we", "you") else name.lower()


def _asked(*parts: str) -> tuple[str, str]:
    """Who and what is asked about; the thing, where it is named, comes first."""
    return parts[-1], parts[0] if len(parts) > 1 else ""


def _quantities(parts: tuple[Any, ...]) -> list[Quantity]:
    return [part for part in parts if isinstance(part, Quantity)]


# -- having, getting and giving ------------------------------------------------------------------------


def _event(sign: int, *parts: Any) -> tuple[int, str, Thing]:
    (amount,) = [part for part in parts if isinstance(part, Thing)]
    return sign, parts[0] if isinstance(parts[0], str) else "", amount


def story_left(held: tuple[str, Thing], *rest: Any) -> Answer:
    """What is left of a thing after all that happened to it."""
    owner, start = held
    *events, (asked, about, *has) = rest
    if not events:
        raise NotUnderstood("nothing happened")
    if has and _person(asked) == "" and any(sign < 0 for sign, _, _ in events):
        raise NotUnderstood("who gave or who got?")
    count, name = start.count, start.name
    for sign, by, amount in events:
        if by and owner and _person(by) not in ("", owner):
            raise NotUnderstood("another person")
        name = _same(name, amount.name) if amount.name else name
        change = amount.count
        if amount.share:
            change = amount.count * count
        elif start.count.base and not change.base:
            change = measured(change, start.count.units[0])
        count = count + change if sign > 0 else count - change
    if owner and _person(asked) not in ("", owner):
        raise NotUnderstood("another person is asked about")
    if about == "money" and not start.count.base:
        raise NotUnderstood("no money was named")
    if about not in ("", "money") and (
        not name or not _alike(name, about) or len(about.split()) > len(name.split())
    ):
        raise NotUnderstood("another thing is asked about")
    if count.value < 0 or (not start.count.base and count.value != int(count.value)):
        raise NotUnderstood("more is given than there was")
    return told(count)


def story_total(*parts: Any) -> Answer:
    """What several have together."""
    *held, about = parts
    if len({owner for owner, _ in held}) < len(held) and any(owner for owner, _ in held):
        raise NotUnderstood("the same one twice")
    names = [amount.name for _, amount in held]
    if about and not all(_alike(name, about) for name in names):
        raise NotUnderstood("another thing is asked about")
    if not about:
        _same(*names)
    return told(total(amount.count for _, amount in held))


# -- one thing for another -------------------------------------------------------------------------------

Rate = tuple[Thing, Thing]


def _key(side: Thing) -> str:
    """What a side of a rate is counted in: its name, or the base of its unit."""
    return side.name or str(side.count.base)


def _single(*words: str) -> Thing:
    return Thing(ONE, thing(*words))


def _one(word: str) -> Thing:
    """One of a unit, or of a thing."""
    known = [unit for unit in units().get(word.lower(), ()) if not unit.kind]
    return Thing(measured(ONE, known[0])) if known else Thing(ONE, word)


def story_rate(rate: Rate, asked: tuple[str, Thing]) -> Answer:
    """The other side of a rate for so much of one; raises `NotUnderstood` for other things than it names."""
    wanted, given = asked
    one, other = rate
    if _key(one) == _key(other):
        raise NotUnderstood("one thing for itself")
    if _key(one) != _key(given):
        one, other = other, one
    unsaid = wanted in ("", "money?")
    if _key(one) != _key(given) or not (unsaid or _key(other) == _key(_one(wanted))):
        raise NotUnderstood("other things are asked about")
    if wanted == "money?" and other.name:
        raise NotUnderstood("no price was named")
    if one.count.value == 0:
        raise NotUnderstood("nothing for something")
    found = given.count * other.count / one.count if one.count.value != 1 else given.count * other.count
    if one.count.base:
        found = given.count / one.count * other.count
    if other.name and other.count.value == 1 and found.value != int(found.value):
        return Answer(str(math.ceil(found.value)), (f"{found.how} is more than {math.floor(found.value)}",))
    if found.value != int(found.value) and other.name and not other.count.base:
        raise NotUnderstood("a part of a thing")
    return told(found)


def money(count: Quantity, unit: str) -> Quantity:
    found = measured(count, unit_named(unit))
    if found.base not in _MONEY:
        raise NotUnderstood("this is no price")
    return found


_MONEY = {((name, 1),) for name in ("dollar", "euro", "pound sterling", "yen", "franc", "rupee", "cent")}


# -- shared, related, priced ----------------------------------------------------------------------------


def story_shared(pair: tuple[str, Thing], about: str) -> Answer:
    count, goods = pair
    if about and goods.name and not _alike(goods.name, about):
        raise NotUnderstood("another thing is asked about")
    if int(count) == 0 or (goods.name and (goods.count.value / int(count)) % 1):
        raise NotUnderstood("it cannot be shared so")
    return told(goods.count / number(count))


Relation = tuple[str, str, Callable[[Quantity], Quantity], str]
"""Whose number follows from whose, how, and what is counted."""


def apart(subject: str, count: str, more: str, *rest: str) -> Relation:
    """So many more than another one has, or years older; `rest` ends with the other one."""
    above = more.lower() in ("more", "older")
    other, what = _asked(*rest)

    def found(value: Quantity) -> Quantity:
        return value + number(count) if above else value - number(count)

    return subject.lower(), other.lower(), found, what


def times(subject: str, word: str, *rest: str) -> Relation:
    """So many times as many as another one has; `rest` ends with the other one."""
    known = {"twice": "2", "double": "2"}
    factor = (
        ONE / number("2")
        if word.lower() == "half"
        else number(known.get(word.lower()) or word.split(maxsplit=1)[0])
    )
    other, what = _asked(*rest)
    return subject.lower(), other.lower(), lambda value: factor * value, what


def story_related(relation: Relation, fact: tuple[str, Quantity, str], asked: tuple[str, str]) -> Answer:
    """One number from another: who is older by how much, and how old the other is."""
    subject, other, function, what = relation
    name, value, named = fact
    who, about = asked
    if name != (other or name) or name == subject or not (_alike(what, named) and _alike(what, about)):
        raise NotUnderstood("another person is meant")
    if who == "both":
        return told(value + function(value))
    if who.lower() != subject:
        raise NotUnderstood("the question names the answer")
    return told(function(value))


def inline(relation: Relation, age: str, asked: tuple[str, str]) -> Answer:
    if relation[3]:
        raise NotUnderstood("years are no things")
    return story_related(relation, (relation[1], number(age), ""), asked)


Priced = tuple[Quantity, Quantity]
"""A price and a share of it, or a price and one before it."""


def priced(*parts: Any) -> Priced:
    before, after = _quantities(parts)
    if not before.base and after.base:
        before = measured(before, after.units[0])  # From 800 to 880 euros.
    return before, after


def priced_adjective(*parts: Any) -> Priced:
    """A price before its thing: a 60 dollar jacket."""
    (share,) = _quantities(parts)
    words = [part for part in parts if isinstance(part, str)]
    at = next(at for at, word in enumerate(words) if word[0].isdigit())
    return measured(number(words[at]), unit_named(words[at + 1])), share


def _group(parts: tuple[Any, ...]) -> tuple[list[str], list[str]]:
    """The whole numbers and the things of a story about a group."""
    words = [part for part in parts if isinstance(part, str)]
    return [each for each in words if each.isdigit()], [each for each in words if not each.isdigit()]


def share_of_group(*parts: Any) -> Answer:
    (count,), names = _group(parts)
    (share,) = _quantities(parts)
    if names[-1] not in names[:-1] or _stem(names[-1]) == names[0]:
        raise NotUnderstood("another part is asked about")
    found = share * number(count)
    if found.value != int(found.value):
        raise NotUnderstood("a part of a thing")
    return told(found)


def ratio_scored(*parts: Any) -> Answer:
    (some, every), _ = _group(parts)
    if int(some) > int(every):
        raise NotUnderstood("more than there are")
    return as_percent(number(some) / number(every))


def ratio_of_group(*parts: Any) -> Answer:
    _, names = _group(parts)
    if len(names) > 2 and names[-1] not in names[:-1]:
        raise NotUnderstood("another part is asked about")
    return ratio_scored(*parts)


def fraction_of_group(*parts: Any) -> Answer:
    ratio_of_group(*parts)
    (some, every), _ = _group(parts)
    share = Fraction(int(some), int(every))
    return Answer(str(share), (f"{some}/{every} = {share}",))


_WAY: Base = (("m", 1),)
_TIME: Base = (("s", 1),)
_SPEED: Base = (("m", 1), ("s", -1))


def _moving(parts: tuple[Any, ...], *bases: Base) -> tuple[Quantity, Quantity]:
    left, right = _quantities(parts)
    if (left.base, right.base) != bases:
        raise NotUnderstood("other quantities are needed")
    return left, right


def far(*parts: Any) -> Answer:
    left, right = _quantities(parts)
    if sorted((left.base, right.base)) != [_SPEED, _TIME]:
        raise NotUnderstood("a speed and a time are needed")
    return told(left * right)


def speed(*parts: Any) -> Answer:
    way, time = _moving(parts, _WAY, _TIME)
    return told(way / time)


def long(*parts: Any) -> Answer:
    way, pace = _moving(parts, _WAY, _SPEED)
    return told(way / pace)


RULES: Mapping[str, Callable[..., Any]] = {
    "who": lambda *words: words[-1].lower(), "amount_bare": Thing, "goods_thing": Thing, "side_thing": Thing,
    "amount_share": lambda share: Thing(share, share=True),
    "amount_half": lambda: Thing(ONE / number("2"), share=True), "amount_one": lambda name: Thing(ONE, name),
    "holding": lambda who, amount, *_: (_person(who), amount),
    "holding_there": lambda amount, *_: ("", amount), "holding_i": lambda amount: ("i", amount),
    "gains": lambda *parts: _event(1, *parts), "loses": lambda *parts: _event(-1, *parts),
    "loses_to": lambda *parts: _event(-1, *parts[:-2], parts[-1]), "left_who": _asked,
    "has_who": lambda *parts: (*_asked(*parts), "has"), "left_money": lambda who: (who, "money"),
    "left_any": lambda about="": ("", about), "all_who": lambda about="": about,
    "rate_cost": lambda side, price: (side, Thing(price)),
    "rate_one_cost": lambda *parts: (_single(*parts[:-1]), Thing(parts[-1])),
    "rate_holds": lambda *parts: (_single(*parts[:-1]), parts[-1]),
    "rate_in": lambda side, *words: (_single(*words), side),
    "rate_come": lambda name, box, count: (Thing(number(count), _stem(name)), _single(box)),
    "rate_unit": lambda price, name: (amount_unit(ONE, name), Thing(price)),
    "rate_said": lambda one, *rest: (one, rest[-1]), "rate_per": lambda side, word: (side, _one(_stem(word))),
    "rate_for": lambda one, other, *_: (one, other), "asked_cost": lambda side: ("money?", side),
    "asked_any": lambda *parts: ("", parts[-1]), "asked_for": lambda *parts: (_stem(parts[0]), parts[-1]),
    "asked_in": lambda *parts: (thing(*parts[:-1]), parts[-1]),
    "asked_long": lambda *parts: ("day", parts[-1]), "shared": lambda count, _, goods: (count, goods),
    "each_asked": lambda about="": about, "sale": lambda pair: told(pair[0] * (ONE - pair[1])),
    "story_original": lambda price, share: told(price / (ONE - share)),
    "saved": lambda pair: told(pair[0] * pair[1]), "rose": lambda *parts: change(*priced(*parts)),
    "fell": lambda *parts: drop(*priced(*parts)), "tax_on": lambda value, share: told(share * value),
    "base_age": lambda who, years: (who.lower(), number(years), ""),
    "base_amount": lambda who, count, name: (who.lower(), number(count), name),
    "times_any": lambda subject, word, what="": times(subject, word, what, ""), "asked_one": _asked,
    "asked_both": lambda about="": ("both", about), "combined": lambda count, _: number(count),
    "combinations": lambda *parts: told(math.prod(_quantities(parts)[1:], start=_quantities(parts)[0])),
}  # fmt: skip
"""What each rule means whose name no function here has."""
