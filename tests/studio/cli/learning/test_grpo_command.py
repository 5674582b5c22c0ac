"""`learn grpo` without a GPU: what it will cost, and what it refuses before anything is called or spent."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from conductor.learning import environment
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.workers.pool.pool import read_pool
from studio.cli.learning.grpo import pool_lines
from tests.studio.cli.command_line import Line

PRICED = """
[[worker]]
name = "large"
base_url = "http://localhost:9/v1"
model = "large"
price_prompt = 1
price_completion = 10
max_tokens = 4096
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"input": "What is 17 * 23?", "target": "391"}\n', encoding="utf-8")
    return str(file)


@pytest.fixture
def priced(tmp_path: Path) -> str:
    file = tmp_path / "pool.toml"
    file.write_text(PRICED, encoding="utf-8")
    return str(file)


@pytest.fixture
def can_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is taken as one that can train; what follows ends before it does."""
    monkeypatch.setattr(environment, "find_spec", lambda _: object())


@pytest.mark.slow
def test_a_dry_run_counts_the_published_training(
    line: Line, data: str, priced: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = line("learn", "grpo", data, "--dry-run", "--pool", priced)
    assert result.code == 0
    assert "153,600" in result.out
    shape = json.loads(line("learn", "grpo", data, "--dry-run", "--pool", priced, "--json").out)
    assert (shape["completions"], shape["calls"], shape["unpriced"]) == (51_200, 153_600, [])
    assert shape["cost"] > 153_600 * 400 * 10 / 1e6
    assert shape["most_cost"] > 153_600 * 4096 * 10 / 1e6
    assert " to $" in result.out
    assert shape["recipe"]["steps"] == 200
    half = line(
        "learn", "grpo", data, "--dry-run", "--pool", priced, "--json", "--steps", "100", "--seed", "0"
    )
    assert json.loads(half.out)["cost"] == pytest.approx(shape["cost"] / 2)
    assert json.loads(half.out)["recipe"]["seed"] == 0
    with Path(data).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        piped = line("learn", "grpo", "-", "--dry-run", "--pool", priced, "--json")
    assert json.loads(piped.out) == shape


@pytest.mark.slow
def test_a_cost_that_no_one_knows_is_shown_as_unknown_and_not_begun(
    line: Line, data: str, tmp_path: Path, can_train: None
) -> None:
    file = tmp_path / "unpriced.toml"
    file.write_text("\n".join(row for row in PRICED.splitlines() if "price" not in row), encoding="utf-8")
    result = line("learn", "grpo", data, "--dry-run", "--pool", str(file))
    assert "Without a price in the pool file: large." in result.out
    refused = line("learn", "grpo", data, "--pool", str(file), "--cpu")
    assert refused.code == 1
    assert "price_prompt" in refused.err


@pytest.mark.slow
def test_money_is_spent_only_after_a_yes(
    line: Line, data: str, priced: str, tmp_path: Path, can_train: None
) -> None:
    out = tmp_path / "run"
    refused = line("learn", "grpo", data, "--pool", priced, "--cpu", "--out", str(out))
    assert refused.code == 1
    assert "agree to it with --yes" in refused.err
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="this environment can train")
def test_an_environment_that_cannot_train_is_shown_what_to_install(line: Line, data: str) -> None:
    result = line("learn", "grpo", data)
    assert result.code == 1
    assert "Training needs torch, transformers, trl" in result.err
    assert "pip install 'torch>=2.9' " in result.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--per-device", "3"), "256 completions, which 3 at a time do not divide"),
        (("--discount", "2"), "--discount: "),
        (("--recipe", "other"), "--recipe"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_a_wrong_argument(
    line: Line, data: str, options: tuple[str, ...], reason: str
) -> None:
    result = line("learn", "grpo", data, *options)
    assert result.code == 2
    assert reason in result.err


def test_programs_of_models_run_only_where_that_is_allowed(line: Line, tmp_path: Path) -> None:
    file = tmp_path / "programs.jsonl"
    file.write_text(
        '{"input": "Write f.", "target": "assert f() == 1", "scorer": "code"}\n', encoding="utf-8"
    )
    result = line("learn", "grpo", str(file))
    assert result.code == 1
    assert "--allow-code" in result.err


def test_the_lines_for_a_pool_file_are_read_as_one_with_the_recipes_prompt(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(pool_lines(GrpoRecipe()) + PRICED, encoding="utf-8")
    entry = read_pool(file).conductor
    assert entry is not None
    assert (entry.dialect, entry.build().card.prompt_style) == ("binary", "research")
