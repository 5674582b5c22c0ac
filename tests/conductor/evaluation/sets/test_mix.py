"""The mix of the paper has equal parts of four sets, and its three splits have no question in common."""

from __future__ import annotations

from collections import Counter

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.sets.mix import MIXES, PARTS, read_mix
from conductor.evaluation.sets.named_set import NamedSet


def data_set(part: NamedSet, number: int = 500) -> DataSet:
    items = (Item(id=f"{at}", input=f"{part.name} {at}?", target=("1",)) for at in range(number))
    return DataSet(part.name, tuple(items))


def test_the_splits_are_240_80_and_80_of_each_set_and_have_nothing_in_common() -> None:
    mixes = {name: read_mix(name, data_set) for name in MIXES}
    assert {name: Counter(item.category for item in data.items) for name, data in mixes.items()} == {
        name: dict.fromkeys(("math500", "mmlu", "rlpr", "livecodebench"), size)
        for name, size in zip(MIXES, (240, 80, 80), strict=True)
    }
    assert len({item.id for data in mixes.values() for item in data.items}) == 1_600
    assert [len(data.items) for data in mixes.values()] == [960, 320, 320]


def test_a_mix_is_the_same_each_time_and_its_beginning_has_each_set() -> None:
    data = read_mix("paper960", data_set)
    assert data.digest == read_mix("paper960", data_set).digest == "08ee77c8e52bc4ce"
    first = read_mix("paper960", data_set, limit=40).items
    assert first == data.items[:40]
    assert {item.category for item in first} == {part.name for part in PARTS}


def test_too_few_questions_of_a_set_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"takes 400 questions of MATH500, and there are 399: use all of test"
    ):
        read_mix("paper960", lambda part: data_set(part, 399))
