"""The shipped sets are read by their names, and what is right in them was computed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from conductor.evaluation.scorers import score
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.text.final_answer import number_in
from conductor.workers.offline.countries import countries, holding, named_countries
from conductor.workers.orchard.families import FAMILIES, reading

pytestmark = pytest.mark.slow


def test_the_sets_of_the_orchard_have_no_question_in_common() -> None:
    sets = {name: each.read() for name, each in SHIPPED.items() if each.pool == "orchard"}
    assert {name: len(each.items) for name, each in sets.items()} == {
        "demo": 300, "demo-wordings": 300, "demo-combinations": 300,
    }  # fmt: skip
    texts = [{item.input for item in each.items} for each in sets.values()]
    assert len(set.union(*texts)) == sum(map(len, texts))


def test_the_demo_asks_each_family_as_often_and_is_the_same_each_time() -> None:
    data = SHIPPED["demo"].read()
    assert len(data.items) == 300
    assert set(data.categories) == set(FAMILIES)
    assert data.digest == SHIPPED["demo"].read().digest
    for item in SHIPPED["demo"].read(limit=18).items:
        found = reading(item.input)
        assert found is not None
        assert (found.answer,) == item.target


@pytest.mark.parametrize("name", ["arithmetic", "countries"])
async def test_a_right_answer_is_scored_as_right_and_a_wrong_one_is_not(name: str) -> None:
    items = SHIPPED[name].read().items
    assert len(items) == 40
    for item in items:
        for target in item.target:
            assert (await score(f"It is so.\nAnswer: {target}", item)).right
        assert not (await score("Answer: 987654", item)).right


def test_each_right_number_is_the_value_of_its_formula() -> None:
    for item in SHIPPED["arithmetic"].read().items:
        value = eval(item.metadata["formula"], {"Fraction": Fraction})
        assert number_in(item.target[0]) == Fraction(value), item.input


def test_each_right_fact_is_in_the_table_of_countries() -> None:
    properties = {country.name: country.properties for country in countries()}
    for item in SHIPPED["countries"].read().items:
        named = [country.name for country in named_countries(item.input)]
        match item.category:
            case "capital" | "currency" | "continent" as asked:
                assert properties[named[0]][asked] == item.target[0]
            case "whose capital":
                capital = item.input.removesuffix("?").split()[-1]
                found = holding(capital, "capital")
                assert found is not None
                assert [country.name for country in found[1]] == list(item.target)
            case "larger":
                by = "area" if "area" in item.input else "population"
                assert item.target[0] == max(named, key=lambda name: float(properties[name][by]))
            case "same currency":
                same = properties[named[0]]["currency"] == properties[named[1]]["currency"]
                assert item.target == ("yes" if same else "no",)
            case other:
                raise AssertionError(other)


def test_a_set_is_cut_short_and_compared_by_another_scorer() -> None:
    data = SHIPPED["countries"].read(limit=3, scorer="flexible")
    assert [item.scored_by for item in data.items] == ["flexible"] * 3
