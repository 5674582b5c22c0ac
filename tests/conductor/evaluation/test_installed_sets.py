"""Sets of questions that installed packages add: their names, and what their rows may raise."""

from __future__ import annotations

import pytest

from conductor.errors import DataError
from conductor.evaluation.shipped.sets import SHIPPED
from tests.support.processes.installed_package import Install

GROUP = "conductor.datasets"
CODE = """
from conductor.evaluation.shipped.sets import ShippedSet

def rows():
    yield 1, {"input": "Why?", "target": "so"}
    raise OSError("the disk is gone")

SET = ShippedSet("mine", "one question", rows)
"""


@pytest.mark.parametrize("name", ["demo", "mmlu-pro", "MMLUpro", "paper960"])
def test_a_name_of_a_set_of_ours_is_not_taken_by_another(install: Install, name: str) -> None:
    install("my-sets", {GROUP: {name: "my_sets:SET"}}, code=CODE)
    assert [each.fault for each in SHIPPED.plugins()] == ["a built-in kind has this name"]


def test_rows_that_raise_any_error_are_refused_with_it(install: Install) -> None:
    install("my-sets", {GROUP: {"mine": "my_sets:SET"}}, code=CODE)
    with pytest.raises(DataError, match="The set 'mine' cannot be read: OSError: the disk is gone"):
        SHIPPED["mine"].read()
