"""`learn sft` without a GPU: what will be learnt, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.baselines.planner_file.planner_file import TriedQuestion, write_planner
from tests.studio.cli.command_line import Line
from tests.support.cases.planner_cases import planner_of, single

POOL = "".join(f'[[worker]]\nname = "{name}"\nkind = "simulated"\n' for name in ("alpha", "beta"))


@pytest.fixture
def pool(tmp_path: Path) -> str:
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    return str(file)


def planner(tmp_path: Path, right: tuple[int, ...]) -> str:
    questions = [TriedQuestion(question=f"Add {at}.", right=right) for at in range(20)]
    write_planner(planner_of(plans=[single("alpha")], questions=questions), tmp_path / "planner.json")
    return str(tmp_path)


def test_a_dry_run_counts_plans_and_steps(line: Line, pool: str, tmp_path: Path) -> None:
    command = ("learn", "sft", planner(tmp_path, (0,)), "--model", "tiny", "--pool", pool, "--dry-run")
    assert line(*command).out == (
        "20 plans of 20 questions are learnt 3 times each: 8 steps of 8 plans. No worker is called.\n"
    )
    shape = json.loads(line(*command, "--json", "--epochs", "1").out)
    assert (shape["plans"], shape["steps"], shape["recipe"]["lora"]) == (20, 3, 16)


def test_a_planner_without_a_right_plan_is_refused(line: Line, pool: str, tmp_path: Path) -> None:
    result = line("learn", "sft", planner(tmp_path, ()), "--model", "tiny", "--pool", pool)
    assert result.code == 1
    assert "has no right plan that the dialect 'binary' can write" in result.err
