"""The shipped sets are read by their names, and what is right in them was computed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from conductor.evaluation.scorers import score
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.planner.conductor import PlanRequest
from conductor.planner.rule_planner import plan_by_rules
from conductor.text.equality.amount import number_in
from conductor.text.final_answer import without_ask
from conductor.values.messages import Message, Part, Request
from conductor.workers.orchard.countries import capital_country, countries, named_countries
from conductor.workers.orchard.families import FAMILIES
from conductor.workers.orchard.reading import reading
from conductor.workers.pool.pool import built_in_pool
from conductor.workers.task import Task

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
        question = reading(item.input)
        assert question is not None
        assert (question.answer,) == item.target


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
        question = without_ask(item.input)
        named = [country.name for country in named_countries(question)]
        match item.category:
            case "capital" | "currency" | "continent" as kind:
                assert properties[named[0]][kind] == item.target[0]
            case "whose capital":
                capital = question.removesuffix("?").split()[-1]
                match = capital_country(capital)
                assert match is not None
                assert [match[1].name] == list(item.target)
            case "larger":
                assert item.target[0] in named
            case "same currency":
                same = properties[named[0]]["currency"] == properties[named[1]]["currency"]
                assert item.target == ("yes" if same else "no",)
            case other:
                raise AssertionError(other)


def test_a_set_is_cut_short_and_compared_by_another_scorer() -> None:
    data = SHIPPED["countries"].read(limit=3, scorer="flexible")
    assert [item.scored_by for item in data.items] == ["flexible"] * 3


@pytest.mark.parametrize(
    ("name", "item", "response", "verdict"),
    [
        ("countries", "c01", "The capital of Peru is Lima", "right"),
        ("countries", "c01", "The capital of Peru is Quito", "wrong"),
        ("countries", "c11", "Japan's currency is the yen.", "right"),
        ("countries", "c21", "Ghana lies in Africa, in the west.", "right"),
        ("countries", "c26", "Hanoi is the capital of Vietnam.", "right"),
        ("countries", "c31", "India has more people than Brazil.\nAnswer: India", "right"),
        ("countries", "c31", "Brazil has more people than India.\nAnswer: Brazil", "wrong"),
        ("countries", "c38", "Both use the euro.\nAnswer: Yes", "right"),
        ("arithmetic", "a01", "17 times 23 is 391.", "right"),
        ("arithmetic", "a01", "17 times 23 is 390.", "wrong"),
    ],
)
async def test_a_sentence_is_as_good_an_answer_as_the_asked_form(
    name: str, item: str, response: str, verdict: str
) -> None:
    (entry,) = (each for each in SHIPPED[name].read().items if each.id == item)
    assert entry.question.endswith('End with a line "Answer: " and the answer alone.')
    assert (await score(response, entry)).verdict == verdict


def test_the_rules_and_what_computes_read_a_question_without_what_it_asks_of_the_form() -> None:
    cards = tuple(worker.card for worker in built_in_pool().workers)
    for name in ("arithmetic", "countries"):
        for item in SHIPPED[name].read().items:
            full, bare = (
                plan_by_rules(PlanRequest(query=query, workers=cards))[1]
                for query in (item.input, without_ask(item.input))
            )
            assert full == bare
            sent = Request((Message("user", (Part("query", item.input),)),))
            assert Task.of(sent).query == without_ask(item.input)
