"""`learn mine`, `show` and `use`: from questions to a planner that plans for the pool, and back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from conductor.baselines.planner_file.planner_file import TriedQuestion, write_planner
from conductor.baselines.planner_file.planner_texts import PlannerTexts
from tests.studio.cli.command_line import Line
from tests.support.cases.planner_cases import planner_of, single

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SMALL = ("--limit", "40", "--draws", "2", "--plans", "4")


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pool.toml"
    file.write_text('# Mine.\nworkers = "orchard"\n', encoding="utf-8")
    return file


def test_a_planner_is_learnt_shown_used_and_taken_back(line: Line, pool: Path) -> None:
    learnt = line("learn", "mine", "demo", *SMALL, "--pool", str(pool))
    assert learnt.code == 0, learnt.err
    assert "mine learnt from 20 questions of demo" in learnt.out
    assert "On 20 held-out questions:" in learnt.out
    assert "p (Holm)" in learnt.out
    assert "perfect router" in learnt.out
    assert "learn use data/learn/mine/planner.json" in learnt.err
    shape = json.loads(line("learn", "show", "data/learn/mine", "--json").out)
    assert (shape["name"], shape["card"]["fit"], shape["card"]["held_out"]) == ("mine", 20, 20)
    used = line("learn", "use", "data/learn/mine", "--pool", str(pool))
    assert "mine plans now" in used.out
    text = pool.read_text(encoding="utf-8")
    assert text.startswith("# Mine.\n")
    assert tomllib.loads(text) == {
        "workers": "orchard",
        "planner": "mine",
        "planners": {"mine": "data/learn/mine/planner.json"},
    }
    planned = json.loads(line("plan", "What is 12 plus 30?", "--json", "--pool", str(pool)).out)
    assert "nearest questions" in planned["reasoning"]
    again = line("learn", "use", "--undo", "--pool", str(pool))
    assert "the Conductor plans by itself" in again.out
    assert "planner" not in tomllib.loads(pool.read_text(encoding="utf-8"))
    compared = line(
        *("evaluate", "run", "demo", "--limit", "3", "--pool", str(pool)),
        *("--planner", "planner:mine", "--planner", "worker:facts"),
    )
    assert compared.code == 0
    assert "planner:mine" in compared.out
    same = line("learn", "show", "data/learn/mine", "data/learn/mine")
    assert same.out == "They plan alike.\n"


def test_what_it_may_take_is_printed_before_anything_is_called(line: Line, pool: Path) -> None:
    result = line("learn", "mine", "demo", *SMALL, "--pool", str(pool), "--dry-run")
    assert result.code == 0
    assert "plans that are drawn" in result.out
    assert "4 plans at most" in result.out
    assert "No evaluation yet" in line("evaluate", "list").out


def test_what_reflection_may_take_is_printed_and_its_texts_are_shown(line: Line, pool: Path) -> None:
    model = '[conductor]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    pool.write_text(f'workers = "orchard"\n{model}', encoding="utf-8")
    command = ("learn", "mine", "demo", *SMALL, "--pool", str(pool), "--dry-run", "--method", "reflect")
    result = line(*command, "--reflections", "2")
    assert result.code == 0, result.err
    assert "2 reflections take 472 calls at most, retries apart" in result.out
    pool.write_text(f'{model}[[worker]]\nname = "sums"\nkind = "calculator"\n', encoding="utf-8")
    assert "'sums' calls no model and reflects on nothing" in line(*command, "--reflector", "sums").err
    file = planner_of(plans=[single("alpha")], questions=[TriedQuestion(question="Add 1 and 2.", right=(0,))])
    write_planner(file, Path("before.json"))
    texts = PlannerTexts(instruction="Ask alpha.", strengths={"alpha": "sums"})
    write_planner(file.model_copy(update={"texts": texts}), Path("after.json"))
    assert "\ninstruction: Ask alpha.\nstrengths of alpha: sums\n" in line("learn", "show", "after.json").out
    assert "then Ask alpha." in line("learn", "show", "before.json", "after.json").out
    workers = "".join(f'[[worker]]\nname = "{name}"\nkind = "simulated"\n' for name in ("alpha", "beta"))
    pool.write_text(workers, encoding="utf-8")
    assert "reads no prompt" in line("learn", "use", "after.json", "--pool", str(pool)).err
    assert pool.read_text(encoding="utf-8") == workers
    pool.write_text(model + workers, encoding="utf-8")
    assert "mine plans now" in line("learn", "use", "after.json", "--pool", str(pool)).out


def test_a_search_is_foretold_and_its_plans_are_printed_with_their_steps(line: Line, pool: Path) -> None:
    search = (*SMALL[:4], "--method", "search", "--plans", "5", "-p", "worker:facts", "--pool", str(pool))
    result = line("learn", "mine", "demo", *search, "--dry-run")
    assert "5 plans at most are made; each answers one question" in result.out
    assert line("learn", "mine", "demo", *search, "--database", "sqlite:///other/c.db").code == 0
    text = line("learn", "show", "other/learn/mine", "--plans").out
    assert "of 20 questions" in text
    assert "  1. facts: Answer the question." in text
    shape = json.loads(line("learn", "show", "other/learn/mine", "--plans", "--json").out)
    assert shape["method"] == "search"
    assert "facts" in {plan["workflow"]["steps"][0]["worker"] for plan in shape["plans"]}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("mine", "demo", "--limit", "5"), "5 questions; 20 are needed"),
        (("mine", "demo", "--name", "a b"), "is no name of a planner"),
        (("mine", "demo", "--held-out", "1"), "--held-out is a share between 0 and 1"),
        (("mine", "demo", "--method", "reflect"), "reads no prompt: name a model under [conductor]"),
        (("show", "nowhere.json"), "nowhere.json cannot be read"),
        (("use",), "Name a planner's FILE, or --undo"),
    ],
)
def test_bad_input_is_named(line: Line, pool: Path, arguments: tuple[str, ...], reason: str) -> None:
    result = line("learn", *arguments)
    assert result.code == 1
    assert reason in result.err
