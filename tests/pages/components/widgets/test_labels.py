"""Labels of options are distinct whatever their names are, and every field takes them from there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.widgets.labels import distinct_labels
from tests.support.cases.property_cases import cases

PAGES = Path(__file__).parents[4] / "pages"

OPTIONS = st.one_of(st.integers(0, 9), st.text("ab12 ", max_size=9), st.tuples(st.integers(0, 3)))
NAMES = st.text("a1 ·()2\t", max_size=9)


@given(st.dictionaries(OPTIONS, NAMES, max_size=9))
@cases(200)
def test_no_two_labels_look_the_same_and_each_begins_with_its_name(names):
    label = distinct_labels(names)
    labels = {option: label(option) for option in names}
    assert len({" ".join(each.split()) for each in labels.values()}) == len(names)
    assert all(labels[option].startswith(name) for option, name in names.items())


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({"7f07a": "Sum", "b931c": "Product"}, ["Sum", "Product"]),
        ({"7f07a": "Sum", "b931c": "Sum"}, ["Sum · 7f07", "Sum · b931"]),
        ({"7f07a": "Sum", "b931c": "Sum "}, ["Sum · 7f07", "Sum  · b931"]),
        ({"7f07ab": "Sum", "7f07ac": "Sum"}, ["Sum · 7f07ab", "Sum · 7f07ac"]),
        ({"7f07a": "Sum", "b931c": "Sum", "0": "Sum · 7f07"}, ["Sum · 7f07 (2)", "Sum · b931", "Sum · 7f07"]),
        ({1: "Sum", "1": "Sum"}, ["Sum · 1", "Sum · 1 (2)"]),
        ({"": "Sum", "a": "Sum"}, ["Sum · ", "Sum · a"]),
    ],
)
def test_options_with_one_name_are_followed_by_their_first_characters(names, labels):
    assert [*map(distinct_labels(names), names)] == labels


def test_another_order_and_one_option_more_leave_labels_as_they_are():
    names = {"7f07a": "Sum", "b931c": "Sum"}
    label, more = distinct_labels(names), distinct_labels({"c0de1": "Sum"} | dict(reversed(names.items())))
    assert [*map(more, names)] == [*map(label, names)]


@pytest.mark.slow
def test_every_field_with_labels_of_its_own_has_distinct_ones():
    others = [
        f"{file.relative_to(PAGES)}:{node.value.lineno}: format_func={ast.unparse(node.value)}"
        for file in PAGES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "format_func"
        if not ast.unparse(node.value).startswith("distinct_labels(")
    ]
    assert others == []
