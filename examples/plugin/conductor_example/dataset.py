"""`conductor evaluate run capitals`: two questions, whose answers a scorer of this package compares."""

from collections.abc import Iterator

from conductor.evaluation.shipped.sets import ShippedSet


def _rows() -> Iterator[tuple[int, object]]:
    for number, (country, capital) in enumerate({"Peru": "Lima", "Norway": "Oslo"}.items(), start=1):
        question = f"What is the capital of {country}?"
        yield number, {"input": question, "target": capital, "scorer": "all-words"}


CAPITALS = ShippedSet("capitals", "two questions on capitals", _rows)
