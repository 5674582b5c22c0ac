"""The recipe on weights of a real model: those that the app installs, converted from their GGUF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.learning.grpo.recipe import RECIPES, GrpoRecipe
from conductor.learning.grpo.trainer.trl_log import LOG
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file
from studio.cli.line import main
from tests.integration.learn.tiny_qwen import questions

TWO_STEPS = GrpoRecipe(
    steps=2, questions=1, rollouts=2, per_device=2, completion_tokens=32, lora=4, temperature=1.2,
    prompt_style="ours", held_out=0, save_every=2,
)  # fmt: skip


def write_converted(folder: Path) -> None:
    """Write the shipped model as float32 weights with its tokenizer, about 540 MB."""
    file = model_file(SHIPPED_MODEL)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    # transformers refuses to store weights that it takes for those of the file, which have fewer bits.
    del model.config.quantization_config
    model.hf_quantizer = None
    model.save_pretrained(folder)


def test_two_steps_train_a_real_model_from_a_gguf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_converted(tmp_path / "model")
    data, run = tmp_path / "questions.jsonl", tmp_path / "run"
    data.write_text("".join(questions().splitlines(keepends=True)[:4]), encoding="utf-8")
    monkeypatch.setitem(RECIPES, "paper", TWO_STEPS)
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    command = ["learn", "grpo", str(data), "--cpu", "--model", str(tmp_path / "model"), "--out", str(run)]
    assert main(command) == 0, capsys.readouterr().err
    lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if "valid" in line]
    assert [line["step"] for line in steps] == [1, 2]
    assert all(line["completions/mean_length"] > 1 for line in steps)
    trained = AutoModelForCausalLM.from_pretrained(run / "conductor")
    tokenizer = AutoTokenizer.from_pretrained(run / "conductor")
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    with torch.no_grad():
        answer = trained.generate(**chat, max_new_tokens=12, do_sample=False)
    # Two steps leave it what it was.
    assert "Paris" in tokenizer.decode(answer[0])
