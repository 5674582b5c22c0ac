"""The recipe's whole path on the CPU, with TRL's own trainer: small batches, a tiny Qwen2, two steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_qwen import CARDS, ITEMS, questions, write_tiny
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.errors import WorkerError
from conductor.learning.gauges import WINDOW
from conductor.learning.grpo.recipe import RECIPES, GrpoRecipe
from conductor.learning.grpo.trl_grpo import LOG, Training, train, trainer_config
from conductor.workers.pool.pool import Pool, offline_pool
from conductor.workers.simulated import SimulatedWorker
from studio.cli.line import main

OFFLINE = offline_pool()
SMALL = GrpoRecipe(
    steps=2, questions=2, rollouts=8, per_device=8, completion_tokens=16, learning_rate=1e-3, save_every=1
)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that has learnt a little."""
    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


def training(tiny: Path, folder: Path, *, pool: Pool = OFFLINE, **more: Any) -> Training:
    folder.mkdir(exist_ok=True)
    recipe = GrpoRecipe.model_validate(SMALL.model_dump() | {"model": str(tiny)} | more)
    cards = tuple(worker.card for worker in pool.workers)
    return Training(recipe, ITEMS, pool, cards, folder, cpu=True)


def logged(folder: Path) -> list[dict[str, Any]]:
    """The lines of steps; the last line is of the whole training."""
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    return [line for line in lines if "valid" in line]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    return found


def test_two_steps_change_the_weights_and_leave_a_folder_to_serve(tiny: Path, tmp_path: Path) -> None:
    remarks: list[str] = []
    made = train(training(tiny, tmp_path / "run"), resume=False, remark=remarks.append)
    before, after = weights(tiny), weights(made)
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    chats = {AutoTokenizer.from_pretrained(folder).chat_template for folder in (tiny, made)}
    assert len(chats) == 1
    steps = logged(tmp_path / "run")
    assert [line["step"] for line in steps] == [1, 2]
    for line in steps:
        assert 0 < line["right"] <= line["valid"]
        assert line["live"] > 0
        assert line["grad_norm"] > 0
        assert line["calls"] > 0
        assert line["calls_saved"] > 0
    assert remarks[0].startswith("step 1 of 2: ")
    assert "sharing outputs saved" in remarks[-1]


def test_a_run_goes_on_from_its_last_checkpoint_as_if_it_had_not_stopped(tiny: Path, tmp_path: Path) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    train(training(tiny, whole), resume=False, remark=lambda _: None)
    # A constant schedule and draws of a seed: the first step does not depend on how many follow.
    train(training(tiny, parted, steps=1), resume=False, remark=lambda _: None)
    train(training(tiny, parted), resume=True, remark=lambda _: None)
    assert [line["step"] for line in logged(parted)] == [1, 2]
    one, other = weights(whole / "conductor"), weights(parted / "conductor")
    assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


def test_an_adapter_learns_from_two_rounds_and_is_merged(tiny: Path, tmp_path: Path) -> None:
    made = train(
        training(tiny, tmp_path / "run", rounds=2, lora=8, steps=1), resume=False, remark=lambda _: None
    )
    assert not (made / "adapter_config.json").exists()
    before, after = weights(tiny), weights(made)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("proj" in name for name in changed)
    assert logged(tmp_path / "run")[0]["right"] > 0


def test_a_training_that_collapses_stops_with_a_checkpoint_and_its_cure(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, data = tmp_path / "run", tmp_path / "questions.jsonl"
    data.write_text(questions())
    # Where no plan may have two steps, all that are valid have one.
    recipe = GrpoRecipe.model_validate(
        SMALL.model_dump() | {"max_steps": 1, "steps": WINDOW + 2, "questions": 1}
    )
    monkeypatch.setitem(RECIPES, "paper", recipe)
    monkeypatch.setenv("CONDUCTOR_POOL", "offline")
    command = ["learn", "grpo", str(data), "--cpu", "--model", str(tiny), "--out", str(run)]
    assert main([*command, "--stop-on-collapse"]) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert f"stopped after step {WINDOW}: 100% of the valid plans have one step" in err
    assert "To train again, begin from a model" in err
    assert (run / f"checkpoint-{WINDOW}" / "optimizer.pt").exists()
    assert not (run / "conductor").exists()
    (alarm,) = [line for line in map(json.loads, (run / LOG).read_text().splitlines()) if "cure" in line]
    assert alarm["step"] == WINDOW
    assert alarm["alarm"] in err
    assert alarm["cure"] in err
    # The next step of the same command is of the same collapse; without the option it only warns.
    assert main([*command, "--stop-on-collapse"]) == 1
    assert f"stopped after step {WINDOW + 1}: " in " ".join(capsys.readouterr().err.split())
    assert main(command) == 0
    assert f"step {WINDOW + 2}: 100% of the valid plans" in " ".join(capsys.readouterr().err.split())
    assert (run / "conductor").exists()


def test_an_endpoint_that_dies_loses_no_step(tiny: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    # Calls are shared, so each question calls a worker once for each of its steps.
    dying = SimulatedWorker(CARDS[0].name, answer="35", fail_calls=frozenset(range(4, 1_000)))
    others = [SimulatedWorker(card.name, answer="35") for card in CARDS[1:]]
    for worker, card in zip((dying, *others), CARDS, strict=True):
        worker.card = worker.card.model_copy(update={"strengths": card.strengths})
    pool = replace(OFFLINE, workers=(dying, *others))
    remarks: list[str] = []
    with pytest.raises(WorkerError, match=r"was set to fail .* it goes on"):
        train(training(tiny, run, pool=pool, steps=9, save_every=9), resume=False, remark=remarks.append)
    reached = logged(run)[-1]["step"]
    assert (run / f"checkpoint-{reached}" / "optimizer.pt").exists()
    assert remarks[-1] == f"{reached} step{'s' * (reached > 1)} kept in {run / f'checkpoint-{reached}'}"
    train(training(tiny, run, steps=reached + 1, save_every=9), resume=True, remark=lambda _: None)
    assert [line["step"] for line in logged(run)] == [*range(1, reached + 2)]


def test_the_published_recipe_is_handed_to_trl_as_it_is() -> None:
    config = trainer_config(SMALL, Path("run"), cpu=True)
    assert (config.loss_type, config.scale_rewards) == ("bnpo", "group")
    assert (config.beta, config.num_iterations) == (0, 1)
    assert (config.temperature, config.epsilon, config.lr_scheduler_type) == (1.0, 0.2, "constant")
    assert (config.num_generations, config.generation_batch_size, config.shuffle_dataset) == (8, 16, False)
    assert config.vllm_structured_outputs_regex is None


def test_the_command_trains_and_names_the_lines_for_a_pool_file(tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "questions.jsonl"
    data.write_text(questions())
    run = tmp_path / "run"
    small = ("--questions", "2", "--rollouts", "4", "--per-device", "4", "--completion-tokens", "16")
    command = [sys.executable, "-m", "conductor", "learn", "grpo", str(data), "--cpu", "--model", str(tiny)]
    done = subprocess.run(
        [*command, *small, "--steps", "1", "--out", str(run), "--json"],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"CONDUCTOR_POOL": "offline"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "step 1 of 1: " in done.stderr
    printed = json.loads(done.stdout)
    assert weights(Path(printed["folder"]))
    assert 'prompt_style = "paper"' in printed["pool"]
