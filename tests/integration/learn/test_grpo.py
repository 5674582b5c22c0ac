"""The recipe's whole path on the CPU, with TRL's own trainer: small batches, a tiny Qwen2, two steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.commands.config.config_args import load_config_from_file
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.errors import WorkerError
from conductor.learning import grpo
from conductor.learning.gauges import WINDOW
from conductor.learning.grpo.alarm import Idle
from conductor.learning.grpo.recipe import RECIPES, GrpoRecipe
from conductor.learning.grpo.trainer.gpu import machine_of, model_size
from conductor.learning.grpo.trainer.training import Training
from conductor.learning.grpo.trainer.trl_grpo import train, trainer_config
from conductor.learning.grpo.trainer.trl_log import LOG
from conductor.workers.pool.pool import Pool, orchard_pool
from conductor.workers.simulated import SimulatedWorker
from studio.cli.line import main
from tests.integration.learn.tiny_qwen import CARDS, ITEMS, questions, write_tiny
from tests.support.endpoints.fake_vllm import free_port
from tests.support.processes.child_process import child

ORCHARD = orchard_pool()
SMALL = GrpoRecipe(
    steps=2, questions=2, rollouts=8, per_device=8, completion_tokens=16, learning_rate=1e-3, save_every=1,
    evaluate_every=1,
)  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that has learnt a little."""
    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


def training(tiny: Path, folder: Path, *, pool: Pool = ORCHARD, **more: Any) -> Training:
    folder.mkdir(exist_ok=True)
    recipe = GrpoRecipe.model_validate(SMALL.model_dump() | {"model": str(tiny)} | more)
    cards = tuple(worker.card for worker in pool.workers)
    return Training(recipe, ITEMS, pool, cards, folder, cpu=True)


def logged(folder: Path) -> list[dict[str, Any]]:
    """The lines of steps, without those of evaluations and of the whole training."""
    return [line for line in lines_of(folder) if "valid" in line]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines()]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    return state


def test_two_steps_change_the_weights_and_leave_a_folder_to_serve(tiny: Path, tmp_path: Path) -> None:
    remarks: list[str] = []
    path = train(training(tiny, tmp_path / "run"), resume=False, remark=remarks.append)
    assert isinstance(path, Path)
    before, after = weights(tiny), weights(path)
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    chats = {AutoTokenizer.from_pretrained(folder).chat_template for folder in (tiny, path)}
    assert len(chats) == 1
    steps = logged(tmp_path / "run")
    assert [line["step"] for line in steps] == [1, 2]
    for line in steps:
        assert 0 < line["right"] <= line["valid"]
        assert line["live"] > 0
        assert line["grad_norm"] > 0
        assert line["calls"] > 0
        assert line["calls_saved"] > 0
    heads = [remark.partition(":")[0] for remark in remarks[:-1]]
    held_out = [f"after step {step}, held-out questions" for step in (0, 1, 2)]
    assert heads == [held_out[0], "step 1 of 2", held_out[1], "step 2 of 2", held_out[2]]
    assert "sharing outputs saved" in remarks[-1]
    evaluations = [line for line in lines_of(tmp_path / "run") if "eval_right" in line]
    assert [line["step"] for line in evaluations] == [0, 1, 2]
    card = (path / "README.md").read_text(encoding="utf-8")
    assert "by 2 steps of GRPO with Conductor Studio on 10 questions" in card
    assert all(f"| {step} | " in card for step in (0, 1, 2))
    assert "trl-lib" not in card + (tmp_path / "run" / "README.md").read_text(encoding="utf-8")


def test_a_run_goes_on_from_its_last_checkpoint_as_if_it_had_not_stopped(tiny: Path, tmp_path: Path) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    train(training(tiny, whole), resume=False, remark=lambda _: None)

    def interrupt(remark: str) -> None:
        if remark.startswith("after step 1,"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(training(tiny, parted), resume=False, remark=interrupt)
    train(training(tiny, parted), resume=True, remark=lambda _: None)
    assert [line["step"] for line in logged(parted)] == [1, 2]
    one, other = weights(whole / "conductor"), weights(parted / "conductor")
    assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


def test_an_adapter_learns_from_two_rounds_and_is_merged(tiny: Path, tmp_path: Path) -> None:
    path = train(training(tiny, tmp_path / "run", rounds=2, lora=8), resume=False, remark=lambda _: None)
    assert isinstance(path, Path)
    assert not (path / "adapter_config.json").exists()
    before, after = weights(tiny), weights(path)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("proj" in name for name in changed)
    assert logged(tmp_path / "run")[0]["right"] > 0


def test_a_training_that_collapses_stops_with_a_checkpoint_and_its_cure(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, data = tmp_path / "run", tmp_path / "questions.jsonl"
    data.write_text(questions(), encoding="utf-8")
    # Where no plan may have two steps, all that are valid have one.
    recipe = GrpoRecipe.model_validate(
        SMALL.model_dump() | {"max_steps": 1, "steps": WINDOW + 2, "questions": 1}
    )
    monkeypatch.setitem(RECIPES, "paper", recipe)
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    command = ["learn", "grpo", str(data), "--cpu", "--model", str(tiny), "--out", str(run)]
    assert main([*command, "--stop-on-collapse"]) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert f"stopped after step {WINDOW}: 100% of the valid plans have one step" in err
    assert "To train again, begin from a model" in err
    assert (run / f"checkpoint-{WINDOW}" / "optimizer.pt").exists()
    assert not (run / "conductor").exists()
    (alarm,) = [
        line
        for line in map(json.loads, (run / LOG).read_text(encoding="utf-8").splitlines())
        if "cure" in line
    ]
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
    # The worker that most plans name fails.
    workers = [SimulatedWorker(card.name, answer="35") for card in CARDS]
    workers[2] = SimulatedWorker(CARDS[2].name, answer="35", fail_calls=frozenset(range(4, 1_000)))
    for worker, card in zip(workers, CARDS, strict=True):
        worker.card = worker.card.model_copy(update={"strengths": card.strengths})
    pool = replace(ORCHARD, workers=tuple(workers))
    remarks: list[str] = []
    with pytest.raises(WorkerError, match=r"was set to fail .* it goes on"):
        train(training(tiny, run, pool=pool, steps=9, save_every=9), resume=False, remark=remarks.append)
    reached = logged(run)[-1]["step"]
    assert (run / f"checkpoint-{reached}" / "optimizer.pt").exists()
    assert remarks[-1] == f"{reached} step{'s' * (reached > 1)} kept in {run / f'checkpoint-{reached}'}"
    train(training(tiny, run, steps=reached + 1, save_every=9), resume=True, remark=lambda _: None)
    assert [line["step"] for line in logged(run)] == [*range(1, reached + 2)]


def test_a_training_in_which_nothing_can_be_learnt_stops_with_the_cause(tiny: Path, tmp_path: Path) -> None:
    # Soon all rollouts of a question are the same.
    same = training(tiny, tmp_path / "run", temperature=0.01, steps=4 * WINDOW)
    stopped = train(same, resume=False, remark=lambda _: None)
    assert isinstance(stopped, Idle)
    assert WINDOW <= stopped.step < 4 * WINDOW
    assert stopped.reason.startswith(f"Nothing was learnt in {WINDOW} steps")
    assert lines_of(tmp_path / "run")[-1]["train_runtime"] > 0
    assert (tmp_path / "run" / f"checkpoint-{stopped.step}" / "optimizer.pt").exists()


def test_metrics_are_sent_to_tensorboard(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    train(
        replace(training(tiny, tmp_path / "run", steps=1), report_to="tensorboard"),
        resume=False,
        remark=print,
    )
    assert list((tmp_path / "run").rglob("events.out.tfevents.*"))


def test_the_learning_rate_rises_and_falls_along_a_cosine(tiny: Path, tmp_path: Path) -> None:
    settings = training(tiny, tmp_path / "run", steps=4, warm_up=0.25, held_out=0.0)
    train(settings, resume=False, remark=lambda _: None)
    rates = [line["learning_rate"] for line in logged(tmp_path / "run")]
    assert rates == pytest.approx([0.0, 1e-3, 0.75e-3, 0.25e-3])


def test_a_models_size_follows_from_its_configuration(tiny: Path) -> None:
    size = model_size(str(tiny))
    assert size.parameters == sum(
        each.numel() for each in AutoModelForCausalLM.from_pretrained(tiny).parameters()
    )
    assert (size.layers, size.hidden, size.intermediate) == (2, 128, 256)
    assert size.kv == 2 * 2 * 1 * 64 * 2
    adapted = get_peft_model(
        AutoModelForCausalLM.from_pretrained(tiny), LoraConfig(r=8, target_modules="all-linear")
    )
    assert 8 * size.widths == adapted.get_nb_trainable_parameters()[0]


def test_offload_is_read_from_what_accelerate_sets() -> None:
    launched = {
        "ACCELERATE_USE_DEEPSPEED": "true",
        "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3",
        "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE": "cpu",
        "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE": "cpu",
        "WORLD_SIZE": "2",
    }
    machine = machine_of(launched, gpu=1)
    assert (machine.processes, machine.zero3, machine.offload) == (2, True, True)
    machine = machine_of(launched | {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE": "none"}, gpu=1)
    assert (machine.zero3, machine.offload) == (True, False)


def test_the_shipped_file_for_accelerate_is_one_that_it_reads() -> None:
    file = Path(grpo.__path__[0]) / "zero3_offload.yaml"
    read = load_config_from_file(str(file))
    assert read.distributed_type == "DEEPSPEED"
    assert read.deepspeed_config["offload_param_device"] == "cpu"
    assert read.num_processes == 2


ON_ONE_OF_TWO = """
import os, sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from tests.integration.learn.test_grpo import ORCHARD, SMALL, training
from conductor.learning.grpo.trainer.trl_grpo import train
from conductor.workers.simulated import SimulatedWorker
from tests.integration.learn.tiny_qwen import CARDS
from dataclasses import replace

pool = ORCHARD
if os.environ["RANK"] == "1":
    pool = replace(pool, workers=tuple(SimulatedWorker(card.name, fail_on="") for card in CARDS))
made = training(Path(sys.argv[1]), Path(sys.argv[2]), pool=pool)
train(replace(made, cards=CARDS), resume=False, remark=print)
"""


def test_workers_that_fail_in_one_of_two_processes_end_both(tiny: Path, tmp_path: Path) -> None:
    script = tmp_path / "one_of_two.py"
    script.write_text(ON_ONE_OF_TWO, encoding="utf-8")
    here = Path(__file__).parent
    paths = [str(place) for place in (here, here.parents[1], here.parents[2])]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    with ExitStack() as both:
        processes = [
            both.enter_context(
                child(
                    [sys.executable, str(script), str(tiny), str(tmp_path / "run"), *paths],
                    env=os.environ | address | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )
            for rank in range(2)
        ]
        printed = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [1, 1], printed
    assert "Another process of this training ended: " in printed[0]
    assert "was set to fail" in printed[1]


def test_the_published_recipe_is_handed_to_trl_as_it_is(tiny: Path, tmp_path: Path) -> None:
    config = trainer_config(training(tiny, tmp_path / "run"))
    assert (config.loss_type, config.scale_rewards) == ("bnpo", "group")
    assert (config.beta, config.num_iterations) == (0, 1)
    assert (config.temperature, config.epsilon, config.lr_scheduler_type) == (1.0, 0.2, "cosine")
    assert (config.warmup_steps, config.get_warmup_steps(200)) == (0.03, 6)
    correction = (config.vllm_importance_sampling_mode, config.vllm_importance_sampling_clip_max)
    assert (config.vllm_importance_sampling_correction, *correction) == (True, "sequence_mask", 3.0)
    assert (config.num_generations, config.generation_batch_size, config.shuffle_dataset) == (8, 16, False)
    assert config.vllm_structured_outputs_regex is None


def test_the_command_trains_and_names_the_lines_for_a_pool_file(tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "questions.jsonl"
    data.write_text(questions(), encoding="utf-8")
    run = tmp_path / "run"
    small = ("--questions", "2", "--rollouts", "4", "--per-device", "4", "--completion-tokens", "16")
    command = [sys.executable, "-m", "conductor", "learn", "grpo", str(data), "--cpu", "--model", str(tiny)]
    done = subprocess.run(
        [*command, *small, "--steps", "1", "--out", str(run), "--json"],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"CONDUCTOR_POOL": "orchard"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "step 1 of 1: " in done.stderr
    printed = json.loads(done.stdout)
    assert weights(Path(printed["folder"]))
    assert 'prompt_style = "research"' in printed["pool"]
