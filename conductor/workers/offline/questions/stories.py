"""What the grammar's rules about stories mean: things had, given, shared or bought, and ways at a speed.

The names in a story stand for themselves: a person or thing that is asked about has to be one that was named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from conductor.workers.offline.questions.meaning import Answer, NotUnderstood
from conductor.workers.offline.questions.numbers import change, drop, in_percent, number, told
from conductor.workers.offline.questions.quantity import Quantity, measured, unit_named, units

_PRONOUNS = frozenset("he she they it i we you".split())


@dataclass(frozen=True)
class Thing:
    """So many of something: `name` is "" where it was not named, or where the quantity has a unit."""

    count: Quantity
    name: str = ""
    share: bool = False


def _things(count: Quantity, name: str) -> Thing:
    if name in units() or f"{name}s" in units():
        raise NotUnderstood("this is a unit, not a thing")
    return Thing(count, name)


def _stem(word: str) -> str:
    word = word.lower()
    word = _IRREGULAR.get(word, word)
    for ending, by in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
            return word.removesuffix(ending) + by
    return word


_IRREGULAR = {
    "children": "child", "people": "person", "men": "man", "women": "woman", "mice": "mouse",
    "loaves": "loaf",
}  # fmt: skip


def thing(*words: str) -> str:
    return " ".join(map(_stem, words))


def _alike(left: str, right: str) -> bool:
    """Whether two names may be of one thing: the same, one of them unsaid, or "red apple" and "apple"."""
    return (
        not left
        or not right
        or left == right
        or left.rsplit(maxsplit=1)[-1] == right
        or right.rsplit(maxsplit=1)[-1] == left
    )


def _same(*names: str) -> str:
    named = [name for name in names if name]
    if any(name != named[0] for name in named):
        raise NotUnderstood("these are different things")
    return named[0] if named else ""


def _person(name: str) -> str:
    return "" if name.lower() in _PRONOUNS - {"i"} else name.lower()


# -- having, getting and giving ------------------------------------------------------------------------


def left(held: tuple[str, Thing], *rest: Any) -> Answer:
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
        change = amount.count * count if amount.share else _as(amount, start)
        count = count + change if sign > 0 else count - change
    if asked and _person(asked) and owner and _person(asked) != owner:
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


def _as(amount: Thing, start: Thing) -> Quantity:
    """An amount in the unit of what there was, where it names none."""
    if not amount.count.base and start.count.base:
        return measured(amount.count, start.count.units[0])
    return amount.count


def added(*parts: Any) -> Answer:
    """What several have together."""
    *held, about = parts
    if len({owner for owner, _ in held}) < len(held) and any(owner for owner, _ in held):
        raise NotUnderstood("the same one twice")
    names = [amount.name for _, amount in held]
    if about and any(name and not _alike(name, about) for name in names):
        raise NotUnderstood("another thing is asked about")
    if not about:
        _same(*names)
    count = held[0][1].count
    for _, amount in held[1:]:
        count = count + amount.count
    return told(count)


# -- one thing for another -------------------------------------------------------------------------------

Rate = tuple[Thing, Thing]


def _key(side: Thing) -> str:
    """What a side of a rate is counted in: its name, or the base of its unit."""
    return side.name or str(side.count.base)


def _unit_key(word: str) -> str:
    """A word of a question as the key of a side: a unit's base, or the name of a thing."""
    found = [unit for unit in units().get(word.lower(), ()) if not unit.kind]
    return str(found[0].base) if found else _stem(word)


def proportion(rate: Rate, asked: tuple[str, Thing]) -> Answer:
    """The other side of a rate for so much of one; raises `NotUnderstood` for other things than it names."""
    wanted, given = asked
    one, other = rate
    if _key(one) == _key(other):
        raise NotUnderstood("one thing for itself")
    if _key(one) != _key(given):
        one, other = other, one
    if _key(one) != _key(given) or (wanted not in ("", "money?") and _key(other) != _unit_key_of(wanted)):
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


def _unit_key_of(wanted: str) -> str:
    return _unit_key(wanted) if len(wanted.split()) == 1 else wanted


def _one(*words: str) -> Thing:
    return Thing(number("1"), thing(*words))


def _cost(side: Thing, price: Quantity, *_: Any) -> Rate:
    return side, Thing(price)


def _per(_: str, side: Thing, word: str) -> Rate:
    known = [unit for unit in units().get(word.lower(), ()) if not unit.kind]
    return side, (Thing(measured(number("1"), known[0])) if known else _one(word))


# -- shared, related, priced ----------------------------------------------------------------------------


def shared(count: str, goods: Thing, about: str) -> Answer:
    if about and goods.name and not _alike(goods.name, about):
        raise NotUnderstood("another thing is asked about")
    if int(count) == 0 or (goods.name and (goods.count.value / int(count)) % 1):
        raise NotUnderstood("it cannot be shared so")
    return told(goods.count / number(count))


Relation = tuple[str, str, Callable[[Quantity], Quantity], str]


def related(relation: Relation, fact: tuple[str, Quantity, str], asked: tuple[str, str]) -> Answer:
    """One number from another: who is older by how much, and how old the other is."""
    subject, other, function, what = relation
    name, value, named = fact
    who, about = asked
    other = other or name
    if name != other or subject == other or not all(_alike(what, each) for each in (named, about) if each):
        raise NotUnderstood("another person is meant")
    if who == "both":
        return told(value + function(value))
    if who != subject and not (who == "" and subject):
        raise NotUnderstood("the question names the answer")
    return told(function(value))


def _times(word: str) -> Quantity:
    known = {"twice": "2", "double": "2"}
    return (
        number("1") / number("2")
        if word.lower() == "half"
        else number(known.get(word.lower()) or word.split(maxsplit=1)[0])
    )


def _times_many(subject: str, word: str, *rest: str) -> Relation:
    """`rest` is the thing where it is named, then the other person where named, with a capital letter."""
    what = rest[0] if rest and rest[0] == rest[0].lower() else ""
    other = rest[-1].lower() if rest and rest[-1] != what else ""
    return subject.lower(), other, lambda value: _times(word) * value, what


def _more_than(subject: str, count: str, more: str, *rest: str) -> Relation:
    step, what = number(count), rest[0] if len(rest) > 1 else ""
    return (
        subject.lower(),
        rest[-1].lower(),
        (lambda value: value + step if more.lower() == "more" else value - step),
        what,
    )


def inline(fact: tuple[Relation, tuple[str, Quantity, str]], asked: tuple[str, str]) -> Answer:
    return related(*fact, asked)


def _older(subject: str, years: str, sign: str, other: str) -> Relation:
    step = number(years)
    return (
        subject.lower(),
        other.lower(),
        (lambda value: value + step if sign.lower() == "older" else value - step),
        "",
    )


def sale(priced: tuple[Quantity, Quantity]) -> Answer:
    price, share = priced
    return told(price * (number("1") - share))


def saved(priced: tuple[Quantity, Quantity]) -> Answer:
    price, share = priced
    return told(price * share)


def _priced(*parts: Any) -> tuple[Quantity, Quantity]:
    before, after = [part for part in parts if isinstance(part, Quantity)]
    if not before.base and after.base:
        before = measured(before, after.units[0])  # From 800 to 880 euros.
    return before, after


def _adjective(*parts: Any) -> tuple[Quantity, Quantity]:
    """A price before its thing: a 60 dollar jacket."""
    (share,) = [part for part in parts if isinstance(part, Quantity)]
    words = [part for part in parts if isinstance(part, str)]
    at = next(at for at, word in enumerate(words) if word[0].isdigit())
    return measured(number(words[at]), unit_named(words[at + 1])), share


def _group(*parts: Any) -> tuple[list[str], list[str], list[Quantity]]:
    """The numbers, the things and the shares of a story about a group."""
    strings = [part for part in parts if isinstance(part, str)]
    return [each for each in strings if each.isdigit()], [each for each in strings if not each.isdigit()], [
        part for part in parts if isinstance(part, Quantity)
    ]  # fmt: skip


def share_of_group(*parts: Any) -> Answer:
    (count,), names, (share,) = _group(*parts)
    asked = names[-1]
    if asked not in names[:-1] or _stem(asked) == names[0]:
        raise NotUnderstood("another part is asked about")
    found = share * number(count)
    if found.value != int(found.value):
        raise NotUnderstood("a part of a thing")
    return told(found)


def ratio_of_group(*parts: Any) -> Answer:
    (some, every), names, _ = _group(*parts)
    if int(some) > int(every) or (len(names) > 2 and names[-1] not in names[:-1]):
        raise NotUnderstood("another part is asked about")
    return in_percent(number(some) / number(every))


def fraction_of_group(*parts: Any) -> Answer:
    (some, every), names, _ = _group(*parts)
    if int(some) > int(every) or (len(names) > 2 and names[-1] not in names[:-1]):
        raise NotUnderstood("another part is asked about")
    share = Fraction(int(some), int(every))
    return Answer(str(share), (f"{some}/{every} = {share}",))


def scored(*parts: Any) -> Answer:
    (some, every), _, _ = _group(*parts)
    if int(some) > int(every):
        raise NotUnderstood("more than there are")
    return in_percent(number(some) / number(every))


def speed(*parts: Any) -> Answer:
    way, time = [part for part in parts if isinstance(part, Quantity)]
    if way.base != (("m", 1),) or time.base != (("s", 1),):
        raise NotUnderstood("a way and a time are needed")
    return told(way / time)


def far(*parts: Any) -> Answer:
    pair = [part for part in parts if isinstance(part, Quantity)]
    if sorted(part.base for part in pair) != [(("m", 1), ("s", -1)), (("s", 1),)]:
        raise NotUnderstood("a speed and a time are needed")
    return told(pair[0] * pair[1])


def long(*parts: Any) -> Answer:
    way, pace = [part for part in parts if isinstance(part, Quantity)]
    if way.base != (("m", 1),) or pace.base != (("m", 1), ("s", -1)):
        raise NotUnderstood("a way and a speed are needed")
    return told(way / pace)


def combinations(*parts: Any) -> Answer:
    counts = [part for part in parts if isinstance(part, Quantity)]
    return told(math.prod(counts[1:], start=counts[0]))


def _last(parts: Sequence[Any]) -> Any:
    return parts[-1]


RULES: Mapping[str, Callable[..., Any]] = {
    "who": lambda *words: words[-1].lower(), "thing": thing,
    "amount_unit": lambda count, name: Thing(measured(count, unit_named(name))), "amount_thing": _things,
    "amount_bare": Thing, "amount_share": lambda share: Thing(share, share=True),
    "amount_half": lambda: Thing(number("1") / number("2"), share=True),
    "amount_one": lambda name: Thing(number("1"), name),
    "holding": lambda who, amount, *_: (_person(who), amount),
    "holding_there": lambda amount, *_: ("", amount), "holding_i": lambda amount: ("i", amount),
    "holding_in": lambda name, amount: (name.lower(), amount), "gains": lambda *parts: _event(1, parts),
    "loses": lambda *parts: _event(-1, parts),
    "loses_to": lambda *parts: _event(-1, (*parts[:-2], parts[-1])),
    "left_who": lambda *parts: (parts[-1], parts[0] if len(parts) > 1 else ""),
    "has_who": lambda *parts: (parts[-1], parts[0] if len(parts) > 1 else "", "has"),
    "left_money": lambda who: (who, "money"), "left_any": lambda *parts: ("", parts[0] if parts else ""),
    "story_left": left, "story_total": added, "all_who": lambda *parts: parts[0] if parts else "",
    "side_unit": lambda count, name, *_: Thing(measured(count, unit_named(name))), "side_thing": Thing,
    "money": lambda count, name: _money(measured(count, unit_named(name))), "rate_cost": _cost,
    "rate_one_cost": lambda *parts: (_one(*parts[:-1]), Thing(parts[-1])),
    "rate_holds": lambda *parts: (_one(*parts[:-1]), parts[-1]),
    "rate_in": lambda side, *words: (_one(*words), side),
    "rate_come": lambda name, box, count: (Thing(number(count), _stem(name)), _one(box)),
    "asked_for_side": lambda _, side: ("", side),
    "rate_unit": lambda _, price, name: (Thing(measured(number("1"), unit_named(name))), Thing(price)),
    "rate_per": _per, "rate_for": lambda _, side, other: (side, other),
    "rate_recipe": lambda one, other, *_: (one, other),
    "rate_recipe_p": lambda one, *rest: (one, _last(rest)), "asked_cost": lambda side: ("money?", side),
    "asked_in": lambda *parts: (thing(*parts[:-1]), parts[-1]),
    "asked_for": lambda *parts: _asked_for(parts), "asked_for_any": lambda *parts: ("", parts[-1]),
    "asked_long": lambda *parts: ("day", _last(parts)), "story_rate": proportion,
    "story_rate_p": lambda asked, rate: proportion(rate, asked),
    "shared": lambda count, _, goods: (count, goods), "shared_p": lambda goods, count, _: (count, goods),
    "goods_unit": lambda count, name: Thing(measured(count, unit_named(name))), "goods_thing": Thing,
    "each_asked": lambda *parts: parts[0] if parts else "",
    "story_shared": lambda pair, about: shared(pair[0], pair[1], about), "story_related": related,
    "story_related_p": lambda fact, relation, asked: related(relation, fact, asked),
    "story_original": lambda _, price, share: told(price / (number("1") - share)), "story_sale": sale,
    "story_saved": saved, "priced": _priced, "priced_adjective": _adjective,
    "priced_adjective_p": _adjective, "priced_discount": lambda share, _, price: (price, share),
    "share_of_group": share_of_group, "ratio_of_group": ratio_of_group,
    "fraction_of_group": fraction_of_group, "ratio_scored": scored,
    "rose": lambda *parts: change(*_priced(*parts)), "fell": lambda *parts: drop(*_priced(*parts)),
    "speed": speed, "far": far, "far_p": far, "long": long,
    "tax_on": lambda value, share: told(share * value),
    "base_age": lambda who, years: (who.lower(), number(years), ""),
    "base_amount": lambda who, count, name: (who.lower(), number(count), name),
    "asked_age": lambda who: (who.lower(), ""),
    "asked_amount": lambda *parts: (parts[-1].lower(), parts[0] if len(parts) > 1 else ""),
    "asked_both": lambda *parts: ("both", parts[0] if parts else ""), "older": _older,
    "times_old": lambda subject, word, other: _times_many(subject, word, other.capitalize()),
    "times_many": _times_many, "more_than": _more_than, "story_related_i": inline,
    "older_inline": lambda subject, years, sign, other, age: (
        _older(subject, years, sign, other),
        (other.lower(), number(age), ""),
    ),
    "times_inline": lambda subject, word, other, age: (
        _times_many(subject, word, other.capitalize()),
        (other.lower(), number(age), ""),
    ),
    "combined": lambda count, _: number(count), "combinations": combinations,
}  # fmt: skip
"""What each rule means, by its name in the grammar."""


def _event(sign: int, parts: Sequence[Any]) -> tuple[int, str, Thing]:
    (amount,) = [part for part in parts if isinstance(part, Thing)]
    first = parts[0] if isinstance(parts[0], str) else ""
    return sign, first, amount


def _money(value: Quantity) -> Quantity:
    if value.base not in _MONEY:
        raise NotUnderstood("this is no price")
    return value


_MONEY = {((name, 1),) for name in ("dollar", "euro", "pound sterling", "yen", "franc", "rupee", "cent")}


def _asked_for(parts: Sequence[Any]) -> tuple[str, Thing]:
    words = [part for part in parts if isinstance(part, str)]
    return _stem(words[0]), _last(parts)
