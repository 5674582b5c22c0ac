"""`plugins`: what installed packages add, and what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.studio.cli.command_line import Line
from tests.support.processes.installed_package import Install

GROUP = "conductor.scorers"


def test_without_packages_the_list_is_empty(line: Line, install: Install) -> None:
    assert json.loads(line("plugins", "--json").out) == {"plugins": []}
    assert "0 plug-ins; docs/extending.md" in line("plugins").err


def test_a_broken_one_is_named_with_its_reason_beside_the_others(
    line: Line,
    install: Install,
) -> None:
    install("good-one", {GROUP: {"good": "good_one:scorer"}}, code="def scorer(response, item): ...")
    install("bad-one", {GROUP: {"bad": "bad_one:SCORER"}}, code="SCORER = 1")
    result = line("plugins")
    assert result.code == 1
    assert [row.split() for row in result.out.splitlines()] == [
        ["group", "name", "package", "version"],
        [GROUP, "bad", "bad-one", "1.2"],
        [GROUP, "good", "good-one", "1.2"],
    ]
    assert f"{GROUP} bad cannot be used: it is not a function of a response and an item." in result.err
    assert "2 plug-ins; " in result.err
    json_result = line("plugins", "--json")
    assert json_result.code == 1
    assert [row["fault"] is None for row in json.loads(json_result.out)["plugins"]] == [False, True]


@pytest.mark.parametrize(
    ("scorer", "message"),
    [("bad", "'bad' of the package bad-one 1.2 cannot be used"), ("odd", "there is no scorer 'odd'; choose")],
)
def test_a_scorer_that_cannot_be_used_is_refused_before_anything_is_asked(
    line: Line,
    install: Install,
    scorer: str,
    message: str,
) -> None:
    install("bad-one", {GROUP: {"bad": "bad_one:SCORER"}}, code="SCORER = 1")
    result = line("evaluate", "run", "arithmetic", "--scorer", scorer)
    assert (result.code, message in result.err) == (1, True)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "right"),
    [("Score.of('alpha' in response, response)", 1), ("1 / 0", 0), ("'right'", 0)],
)
def test_a_scorer_of_a_package_scores_an_evaluation_and_a_fault_of_it_leaves_answers_unjudged(
    line: Line,
    install: Install,
    simulated: str,
    body: str,
    right: int,
) -> None:
    code = f"from conductor.evaluation.score import Score\ndef mine(response, item):\n    return {body}\n"
    install("my-scorer", {GROUP: {"mine": "my_scorer:mine"}}, code=code)
    Path("questions.jsonl").write_text('{"input": "Why?", "target": "so", "scorer": "mine"}\n')
    result = line(
        "evaluate", "run", "questions.jsonl", "--pool", simulated, "--planner", "worker:alpha", "--json"
    )
    assert result.code == (0 if right else 5), result.err
    (row,) = json.loads(result.out)["planners"]
    assert (row["right"], row["unjudged"]) == (right, 1 - right)
