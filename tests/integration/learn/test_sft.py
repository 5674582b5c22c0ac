"""The supervised start on the CPU, with TRL's own trainer and a tiny Qwen2; GRPO goes on from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.baselines.learnt_file import identity_hash
from conductor.baselines.planner_file.planner_file import (
    PlannerFile,
    TriedPlan,
    TriedQuestion,
    write_planner,
)
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.supervised import PlanLesson, plan_lessons
from conductor.learning.grpo.trainer.trl_rollouts import chat_of, completion_prompt
from conductor.learning.grpo.trainer.trl_sft import teach
from conductor.workflow.model import Step, Workflow
from studio.cli.line import main
from tests.integration.learn.tiny_qwen import CARDS, ITEMS, PLANS, questions, write_tiny
from tests.support.cases.planner_cases import planner_of

# Two steps, which are right, and which the model writes in one of four cases.
RIGHT = Workflow.of(
    [
        Step(instruction="Compute.", worker=CARDS[2].name),
        Step(instruction="Check.", worker=CARDS[3].name, access=(0,)),
    ]
)


def planner_file() -> PlannerFile:
    file = planner_of(
        plans=[TriedPlan(workflow=RIGHT, origin="conductor")],
        questions=[TriedQuestion(question=item.question, right=(0,)) for item in ITEMS],
    )
    return file.model_copy(update={"workers": tuple((card.name, identity_hash(card)) for card in CARDS)})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


def recipe_of(tiny: Path, **more: Any) -> GrpoRecipe:
    return GrpoRecipe.model_validate(
        {"model": str(tiny), "lora": 8, "learning_rate": 5e-3, "steps": 4, "save_every": 1} | more
    )


def likelihood(folder: Path, lesson: PlanLesson, recipe: GrpoRecipe) -> float:
    """The mean logarithm of the probability of the plan's tokens."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    prompt = tokenizer(completion_prompt(tokenizer, chat_of(lesson.request, recipe)))["input_ids"]
    ids = torch.tensor([[*prompt, *tokenizer(lesson.plan)["input_ids"], tokenizer.eos_token_id]])
    labels = ids.clone()
    labels[0, : len(prompt)] = -100
    with torch.no_grad():
        return -float(model(input_ids=ids, labels=labels).loss)


def test_right_plans_become_likelier_and_grpo_goes_on_from_them(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    write_planner(planner_file(), tmp_path / "planner.json")
    run, recipe = tmp_path / "sft", recipe_of(tiny)
    command = ["learn", "sft", str(tmp_path), "--cpu", "--model", str(tiny), "--out", str(run)]
    assert main([*command, "--learning-rate", "5e-3", "--lora", "8", "--epochs", "16"]) == 0
    assert "10 plans learnt in 20 steps" in capsys.readouterr().err
    (lesson, *_) = plan_lessons(planner_file(), CARDS, recipe)
    assert lesson.plan == PLANS[2]
    before, after = (likelihood(folder, lesson, recipe) for folder in (tiny, run / "conductor"))
    assert after > before + 0.2
    assert not (run / "conductor" / "adapter_config.json").exists()
    card = (run / "conductor" / "README.md").read_text(encoding="utf-8")
    assert "by 20 steps of learning right plans with Conductor Studio on 10 questions of numbers" in card
    assert "trl-lib" not in card
    data = tmp_path / "questions.jsonl"
    data.write_text(questions(), encoding="utf-8")
    more = ["--steps", "1", "--questions", "2", "--rollouts", "8", "--per-device", "8"]
    grpo = ["learn", "grpo", str(data), "--cpu", "--model", str(run / "conductor"), *more]
    assert main([*grpo, "--completion-tokens", "16", "--out", str(tmp_path / "grpo"), "--yes"]) == 0
    assert (tmp_path / "grpo" / "conductor").exists()


def test_a_run_goes_on_from_its_last_checkpoint(tiny: Path, tmp_path: Path) -> None:
    remarks: list[str] = []
    more: dict[str, Any] = {"data": "numbers", "cpu": True, "remark": remarks.append}
    short, long = recipe_of(tiny, steps=2), recipe_of(tiny, steps=4)
    lessons = plan_lessons(planner_file(), CARDS, short)
    teach(short, lessons, tmp_path, resume=False, **more)
    assert (tmp_path / "checkpoint-2" / "optimizer.pt").exists()
    teach(long, lessons, tmp_path, resume=True, **more)
    assert sorted(each.name for each in tmp_path.glob("checkpoint-*")) == ["checkpoint-3", "checkpoint-4"]
