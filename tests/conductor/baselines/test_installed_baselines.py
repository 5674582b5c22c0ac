"""Baselines that installed packages add: what is refused, and that a stored name is still shown."""

from __future__ import annotations

import pytest

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import label_of, plain_baselines, planner_named
from conductor.errors import PlanError
from tests.support.processes.installed_package import Install

GROUP = "conductor.baselines"
CODE = """
from conductor.baselines.methods import Entry

def plan(request, options): ...

GOOD = Entry("Good", "It plans.", plan)
LEARNS = Entry("Learns", "It learns.", plan, takes=("fitted",))
EMPTY = Entry("Empty", "It has no method.", None)
"""


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("mine", "LEARNS", "only built-in baselines learn"),
        ("mine", "EMPTY", "only built-in baselines learn"),
        ("mine", "plan", "it is not an Entry of conductor.baselines.methods"),
        ("rules", "GOOD", "a built-in kind has this name"),
        ("moa", "GOOD", "a built-in kind has this name"),
    ],
)
def test_one_that_cannot_be_used_is_refused_with_its_reason(
    install: Install,
    name: str,
    target: str,
    reason: str,
) -> None:
    install("my-plans", {GROUP: {name: f"my_plans:{target}"}}, code=CODE)
    assert [reason in (each.fault or "") for each in BASELINES.plugins()] == [True]
    assert "baseline:mine" not in plain_baselines()
    assert label_of(f"baseline:{name}").startswith("baseline:")
    if name == "mine":
        with pytest.raises(PlanError, match=r"'mine' of the package my-plans 1\.2 cannot be used"):
            planner_named("baseline:mine")


def test_one_of_a_package_is_listed_with_those_that_need_nothing_more(install: Install) -> None:
    install("my-plans", {GROUP: {"mine": "my_plans:GOOD"}}, code=CODE)
    assert plain_baselines()[-2:] == ("baseline:mine", "baseline:rules")
    assert planner_named("baseline:mine").card.strengths == "It plans."
