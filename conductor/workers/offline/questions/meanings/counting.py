"""What the grammar's rules about counting mean: whole numbers in a span, arrangements, choices, sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.numbers import quoted_numbers, yes_or_no
from conductor.workers.offline.questions.meanings.quantity import Quantity, plain

MAX_COUNTED = 1_000_000
MAX_ARRANGED = 100
MAX_LISTED = 20

Test = Callable[[int], bool]


class _Between(tuple[Any, ...]):
    """A span whose ends are not in it, or are, as the reader likes."""


def is_prime(value: int) -> bool:
    """Whether a number is prime; raises `NotUnderstood` above what is quickly tried."""
    if value > 10**12:
        raise NotUnderstood("too large to try every divisor")
    return value > 1 and all(value % divisor for divisor in range(2, math.isqrt(value) + 1))


def _multiple(of: str) -> Test:
    if int(of) == 0:
        raise NotUnderstood("no multiples of 0 are counted")
    return lambda value: value % int(of) == 0


def counted(test: Test, span: tuple[range, Test | None]) -> Quantity:
    """How many numbers of a span pass."""
    numbers, also = span
    ends = (numbers.start - 1, numbers.stop) if isinstance(span, _Between) else ()
    if any(test(end) and (also is None or also(end)) for end in ends):
        raise NotUnderstood("with or without the ends?")
    if len(numbers) > MAX_COUNTED or (test is is_prime and len(numbers) > MAX_COUNTED // 10):
        raise NotUnderstood("too many to count one by one")
    found = [value for value in numbers if test(value) and (also is None or also(value))]
    listed = ", ".join(map(str, found[:MAX_LISTED])) + (", ..." if len(found) > MAX_LISTED else "")
    return plain(Fraction(len(found)), f"the number of {listed or 'none'}")


def count_numbers(test: Test, span: tuple[range, Test | None]) -> Answer:
    found = counted(test, span)
    return Answer(found.shown(), (f"Counted: {found.how.removeprefix('the number of ')}",))


def orders(count: str, *_: str) -> Quantity:
    if int(count) > MAX_ARRANGED:
        raise NotUnderstood("too many to arrange")
    return plain(Fraction(math.factorial(int(count))), f"{count}!")


def choices(chosen: str, *rest: str) -> Quantity:
    """How many choices of some out of more; the wildcards between stand for what is chosen."""
    (among,) = [word for word in rest if word.isdigit()]
    kinds = {word.lower().removesuffix("s") for word in rest if not word.isdigit()}
    if int(chosen) > int(among) or int(among) > 1000 or len(kinds) > 2:
        raise NotUnderstood("more are chosen than there are")
    return plain(
        Fraction(math.comb(int(among), int(chosen))), f"{among}!/({chosen}! × {int(among) - int(chosen)}!)"
    )


def pairs(count: str, *_: str) -> Quantity:
    return plain(Fraction(math.comb(int(count), 2)), f"{count} × {int(count) - 1} / 2")


def told_count(value: Quantity) -> Answer:
    return Answer(value.shown(), (f"{value.how} = {value.shown()}",))


def in_order(descending: bool) -> Callable[[list[Quantity]], Answer]:
    def ordered(values: list[Quantity]) -> Answer:
        found = sorted(values, key=lambda each: each.value, reverse=descending)
        return Answer(", ".join(each.how for each in found))

    return ordered


def prime_factors(text: str) -> Answer:
    rest, found, divisor = int(text), [], 2
    if not 2 <= rest <= 10**12:
        raise NotUnderstood("no prime factors are looked for")
    while divisor * divisor <= rest:
        while rest % divisor == 0:
            found.append(divisor)
            rest //= divisor
        divisor += 1
    factors = " × ".join(map(str, [*found, *([rest] if rest > 1 else [])]))
    return Answer(factors, (f"{text} = {factors}",))


def next_prime(text: str) -> Answer:
    if int(text) > 10**9:
        raise NotUnderstood("too large")
    return Answer(str(next(value for value in range(int(text) + 1, 2 * int(text) + 3) if is_prime(value))))


def prime_answer(text: str) -> Answer:
    value = int(text)
    if is_prime(value):
        return Answer(f"yes, {text} is prime", (f"{text} has no divisor but 1 and itself.",))
    least = next((divisor for divisor in range(2, math.isqrt(value) + 1) if value % divisor == 0), None)
    return Answer(
        f"no, {text} is not prime",
        (f"{text} = {least} × {value // least}" if least else "Primes are 2 and above.",),
    )


def divisible(text: str, by: str) -> Answer:
    if int(by) == 0:
        raise NotUnderstood("nothing can be divided by 0")
    whole, rest = divmod(int(text), int(by))
    return yes_or_no(not rest, f"{text} = {whole} × {by}", f"{text} = {whole} × {by} + {rest}")


def sides_of(name: str) -> int:
    known: Mapping[str, int] = WORDS["sides"]
    return known.get(name.lower()) or known[name.lower().removesuffix("s")]


RULES: Mapping[str, Callable[..., Any]] = {
    "counting": lambda answer: answer if isinstance(answer, Answer) else told_count(answer),
    "even": lambda: lambda value: value % 2 == 0, "odd": lambda: lambda value: value % 2 == 1,
    "prime": lambda: is_prime, "any": lambda: lambda _: True, "multiple": _multiple,
    "square": lambda: lambda value: math.isqrt(value) ** 2 == value,
    "span_to": lambda low, high, divisor="1": (range(int(low), int(high) + 1), _multiple(divisor)),
    "span_between": lambda low, high, divisor="1": _Between(
        (range(int(low) + 1, int(high)), _multiple(divisor))
    ),
    "span_below": lambda high: (range(1, int(high)), None),
    "span_up_to": lambda high: (range(1, int(high) + 1), None),
    "pairs_a": lambda *parts: told_count(pairs(*parts)), "ascending": in_order(False),
    "descending": in_order(True), "ascending_q": lambda text: in_order(False)(quoted_numbers(text)),
    "descending_q": lambda text: in_order(True)(quoted_numbers(text)), "is_prime": prime_answer,
    "is_divisible": divisible,
    "is_even": lambda text: yes_or_no(int(text) % 2 == 0, f"{text} is even", f"{text} is odd"),
    "is_odd": lambda text: yes_or_no(int(text) % 2 == 1, f"{text} is odd", f"{text} is even"),
    "is_square": lambda text: yes_or_no(
        math.isqrt(int(text)) ** 2 == int(text), f"{text} = {math.isqrt(int(text))}^2", f"{text} is none"
    ),
    "polygon_sides": lambda name: Answer(str(sides_of(name))),
    "solid_faces": lambda name: Answer(str(WORDS["solids"][name.lower()][0])),
    "solid_edges": lambda name: Answer(str(WORDS["solids"][name.lower()][1])),
    "solid_corners": lambda name: Answer(str(WORDS["solids"][name.lower()][2])),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""
