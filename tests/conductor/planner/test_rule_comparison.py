"""What a query compares, and by what, in the ways in which people ask."""

from __future__ import annotations

import pytest

from conductor.planner.rule_planner import Comparison, comparison_in


@pytest.mark.parametrize(
    ("query", "things"),
    [
        ("Compare the capitals of France and Germany.", ["France", "Germany"]),
        ("Compare and contrast photosynthesis with respiration.", ["photosynthesis", "respiration"]),
        ("Compare the Isle of Man and Jersey", ["Isle of Man", "Jersey"]),
        ("Should I learn Python vs Rust?", ["Python", "Rust"]),
        ("Tell me: France versus Germany. Be brief.", ["France", "Germany"]),
        ("How does France differ from Germany?", ["France", "Germany"]),
        ("Compare cats in Rome and dogs in Paris", ["cats in Rome", "dogs in Paris"]),
        ("Compare population and area", ["population", "area"]),
        ("I walked by the sea. Compare France and Germany.", ["France", "Germany"]),
        ("What are the differences between tea and coffee?", ["tea", "coffee"]),
    ],
)
def test_what_a_query_compares(query: str, things: list[str]) -> None:
    assert comparison_in(query) == Comparison(tuple(things))


@pytest.mark.parametrize(
    "query",
    [
        "What is the difference between x^2 and 7?",
        "What is the capital of France?",
        "Compare this",
        "Compare a1 and b2",
        "Compare " + ", ".join(f"Country{chr(97 + at)}" for at in range(20)),
    ],
)
def test_a_query_that_compares_no_few_things_of_words_compares_nothing(query: str) -> None:
    assert comparison_in(query) is None


@pytest.mark.parametrize(
    ("query", "criteria"),
    [
        ("Compare France and Germany by population and area.", "by population and area"),
        ("Compare France and Germany by population, area, and capital", "by population, area, and capital"),
        ("COMPARE France AND Germany BY AREA AND AGE", "BY AREA AND AGE"),
        ("Compare France and Germany in terms of cost and care", "in terms of cost and care"),
        ("Compare France to Germany with respect to area and age", "with respect to area and age"),
        ("France vs Germany regarding area", "regarding area"),
        ("How do France and Germany compare by area?", "by area"),
    ],
)
def test_by_what_things_are_compared_is_no_further_thing(query: str, criteria: str) -> None:
    assert comparison_in(query) == Comparison(("France", "Germany"), criteria)


@pytest.mark.parametrize(
    ("query", "criteria"),
    [
        (
            "Compare three ways to heat a house: gas, pellets and heat pumps.",
            "among three ways to heat a house",
        ),
        ("Compare these: gas, pellets, heat pumps", "among these"),
        ("Compare fuels: gas, pellets, heat pumps by price", "by price"),
        ("Compare: gas, pellets, heat pumps", ""),
    ],
)
def test_what_a_colon_introduces_is_compared(query: str, criteria: str) -> None:
    assert comparison_in(query) == Comparison(("gas", "pellets", "heat pumps"), criteria)
