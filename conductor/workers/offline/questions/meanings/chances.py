"""What the grammar's rules about chances mean: the equally likely outcomes of a trial, counted.

A trial is its outcomes, an event a test of one; the chance is the share of outcomes that pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from conductor.workers.offline.questions.meanings.counting import is_prime
from conductor.workers.offline.questions.meanings.meaning import Answer, NotUnderstood

MAX_OUTCOMES = 70_000

Outcome = tuple[Any, ...]
"""What a trial shows: numbers of dice, "head" and "tail" of coins, (rank, suit), or a colour."""

Event = tuple[str, Callable[[Outcome], bool]]
"""The kind of trial that an event belongs to, and its test."""

Trial = tuple[str, Sequence[Outcome]]

_RANKS = ("ace", "king", "queen", "jack", *map(str, range(2, 11)))
_SUITS = {"heart": "red", "diamond": "red", "spade": "black", "club": "black"}
DECK: Trial = ("card", tuple(product(_RANKS, _SUITS)))


def dice(count: int, sides: int = 6) -> Trial:
    if not count >= 1 or sides < 2 or sides**count > MAX_OUTCOMES:
        raise NotUnderstood("too many outcomes")
    return ("die" if count == 1 else "dice"), tuple(product(range(1, sides + 1), repeat=count))


def coins(count: int) -> Trial:
    if not 1 <= count <= 16:
        raise NotUnderstood("too many outcomes")
    return ("coin" if count == 1 else "coins"), tuple(product(("head", "tail"), repeat=count))


def bag(*coloured: tuple[int, str]) -> Trial:
    if (
        len({colour for _, colour in coloured}) < len(coloured)
        or sum(count for count, _ in coloured) > MAX_OUTCOMES
    ):
        raise NotUnderstood("a colour is named twice")
    return "bag", tuple((colour,) for count, colour in coloured for _ in range(count))


def chance(event: Event, trial: Trial) -> Answer:
    """The share of outcomes that pass; raises `NotUnderstood` for an event of another trial."""
    kinds, passes = event
    kind, outcomes = trial
    if kinds == "two cards" and kind == "card":
        kind, outcomes = kinds, tuple(permutations(outcomes, 2))
    if kind not in (*kinds.split(), kinds) or not outcomes:
        raise NotUnderstood("another trial")
    found = sum(map(passes, outcomes))
    share = Fraction(found, len(outcomes))
    if kind == "bag" and not found:
        raise NotUnderstood("nothing of that colour is there")
    percent = f"{float(share * 100):.4g}"
    return Answer(
        f"{share} ({'' if Fraction(percent) == share * 100 else 'about '}{percent} %)"
        if share not in (0, 1)
        else str(share),
        (f"{found} of {len(outcomes)} equally likely outcomes",),
    )


_ALONE: Mapping[str, Trial] = {"card": DECK, "twice": ("twice", dice(2)[1])}
"""Trials that an event names by itself: an ace is a card."""


def alone(event: Event) -> Answer:
    if event[0] not in _ALONE:
        raise NotUnderstood("which trial?")
    return chance(event, _ALONE[event[0]])


def _die(test: Callable[[int], bool]) -> Event:
    return "die", lambda outcome: test(outcome[0])


def _sum(test: Callable[[int], bool]) -> Event:
    return "dice", lambda outcome: test(sum(outcome))


def _face(*faces: str) -> Event:
    wanted = set(map(int, faces))
    if not all(1 <= face <= 6 for face in wanted):
        raise NotUnderstood("no such face")
    return _die(lambda value: value in wanted)


def _card(test: Callable[[str, str], bool]) -> Event:
    return "card", lambda outcome: test(*outcome)


def _singular(names: Iterable[str]) -> set[str]:
    return {name.lower().removesuffix("s") for name in names}


def _heads(test: Callable[[int], bool]) -> Event:
    # Heads and tails are alike, so it makes no difference which are counted.
    return "coins", lambda outcome: test(outcome.count("head"))


def _bag(test: Callable[[str], bool]) -> Event:
    return "bag", lambda outcome: test(outcome[0])


def _colours(words: Sequence[str]) -> list[str]:
    return [{"gray": "grey"}.get(word.lower(), word.lower()) for word in words]


def _two_ranks(count: str, rank: str) -> Event:
    """Two cards of one rank, drawn one after the other and kept."""
    if int(count) != 2:
        raise NotUnderstood("only two cards are drawn")
    return "two cards", lambda outcome: {each[0] for each in outcome} == _singular([rank])


RULES: Mapping[str, Callable[..., Any]] = {
    "chance": lambda *parts: parts[0] if isinstance(parts[0], Answer) else chance(*parts),
    "chance_said": lambda trial, event: chance(event, trial), "chance_alone": alone,
    "trial_said": lambda trial, times="once": _times(trial, _often(times)), "one_die": lambda: dice(1),
    "die_of": lambda sides: dice(1, int(sides)), "dice": lambda count: dice(int(count)),
    "one_coin": lambda: coins(1), "coins": lambda count: coins(int(count)),
    "coin_times": lambda times: coins(_often(times)), "deck": lambda: DECK,
    "coloured": lambda count, colour: (int(count), _colours([colour])[0]), "face": _face, "faces": _face,
    "even_face": lambda: _die(lambda value: value % 2 == 0),
    "odd_face": lambda: _die(lambda value: value % 2 == 1), "prime_face": lambda: _die(is_prime),
    "above": lambda low: _die(lambda value: value > int(low)),
    "below": lambda high: _die(lambda value: value < int(high)),
    "at_least_face": lambda low: _die(lambda value: value >= int(low)),
    "at_most_face": lambda high: _die(lambda value: value <= int(high)),
    "not_face": lambda face: _die(lambda value: value != int(face)),
    "sum_is": lambda value: _sum(lambda found: found == int(value)),
    "sum_at_least": lambda value: _sum(lambda found: found >= int(value)),
    "sum_above": lambda value: _sum(lambda found: found > int(value)),
    "doubles": lambda: ("dice", lambda outcome: len(set(outcome)) == 1),
    "sixes": lambda count: ("dice", lambda outcome: outcome.count(6) == int(count)),
    "some_six": lambda count: ("dice", lambda outcome: outcome.count(6) >= int(count)),
    "repeated": lambda count, face: (
        "dice",
        lambda outcome: outcome.count(int(face)) == int(count) == len(outcome),
    ),
    "two_ranks": _two_ranks,
    "face_twice": lambda face: ("twice", lambda outcome: outcome == (int(face), int(face))),
    "all_heads_one": lambda: ("coin", lambda outcome: outcome[0] == "head"),
    "all_same": lambda: _heads(lambda found: found == 0),
    "exactly_heads": lambda count: _heads(lambda found: found == int(count)),
    "at_least_heads": lambda count: _heads(lambda found: found >= int(count)),
    "rank": lambda *ranks: _card(lambda rank, _: rank in _singular(ranks)),
    "ranks": lambda *ranks: _card(lambda rank, _: rank in _singular(ranks)),
    "suit": lambda *suits: _card(lambda _, suit: suit in _singular(suits)),
    "card_colour": lambda: ("card", lambda outcome: _SUITS[outcome[1]] == "red"),
    "face_card": lambda: _card(lambda rank, _: rank in ("king", "queen", "jack")),
    "card": lambda rank, suit: _card(lambda own, of: own in _singular([rank]) and of in _singular([suit])),
    "colour": lambda *colours: _bag(lambda own: own in _colours(colours)),
    "colours": lambda *colours: _bag(lambda own: own in _colours(colours)),
    "not_colour": lambda *colours: _bag(lambda own: own not in _colours(colours)),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""


def _often(text: str) -> int:
    return {"once": 1, "twice": 2}.get(text.lower()) or int(text.split(maxsplit=1)[0])


def _times(trial: Trial, times: int) -> Trial:
    kind, outcomes = trial
    if times == 1:
        return trial
    if kind not in ("die", "coin") or len(outcomes) ** times > MAX_OUTCOMES:
        raise NotUnderstood("too many outcomes")
    return dice(times, len(outcomes)) if kind == "die" else coins(times)
