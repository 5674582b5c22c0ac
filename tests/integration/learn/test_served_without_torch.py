"""The runtime without torch gives the text that transformers gives, from the same folder."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.llama.numpy_llama import Cache, read_llama
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.local_prompt import prompt_text
from conductor.workers.local_model import SHIPPED
from tests.support.runs.local_conductor import WORKERS, write_untrained

PROMPTS = 200
_TOKENS = 48
_WORDS = "how many letters has the capital of France Japan Peru 12 7 times plus word orchard's ?".split()


def _prompts() -> list[str]:
    chance = random.Random(4)
    return [
        prompt_text(
            " ".join(chance.choices(_WORDS, k=chance.randint(2, 24))),
            chance.sample(WORKERS, chance.randint(1, 6)),
        )
        for _ in range(PROMPTS)
    ]


def test_a_folder_gives_the_text_that_transformers_gives(tmp_path: Path):
    # Of random weights two tokens may be equally likely but for rounding; with this seed none are.
    folder = write_untrained(tmp_path / "made", seed=0)
    llama, theirs = read_llama(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert str(theirs.dtype) == "torch.float32"
    same = 0
    for prompt in _prompts():
        ids = tokenizer(prompt)["input_ids"]
        assert ids == llama.read(prompt)
        rows = torch.tensor([ids])
        output = theirs.generate(
            rows, attention_mask=torch.ones_like(rows), max_new_tokens=_TOKENS, do_sample=False
        )[0, len(ids) :]
        expected = tokenizer.decode(output, skip_special_tokens=True)
        same += llama.write(ids, most=_TOKENS, forbidden=lambda _: ()).text == expected
    assert same == PROMPTS


def test_the_shipped_conductor_plans_as_with_transformers():
    folder = SHIPPED["orchard"]
    llama, theirs = read_llama(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    names, same = orchard_pool().names, 0
    for question in draw(PROMPTS, seed=93, split="test"):
        batch = tokenizer(prompt_text(question.text, names), return_tensors="pt")
        row = theirs.generate(**batch, max_new_tokens=160, do_sample=False)[0, batch["input_ids"].shape[1] :]
        ids = llama.read(prompt_text(question.text, names))
        written = llama.write(ids, most=160, forbidden=lambda _: ())
        same += written.ended and written.text == tokenizer.decode(row, skip_special_tokens=True)
    assert same == PROMPTS


def test_logits_are_those_of_transformers(tmp_path: Path):
    folder = write_untrained(tmp_path / "made", seed=3)
    llama, theirs = read_llama(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    for prompt in _prompts()[:20]:
        ids = llama.read(prompt)
        with torch.inference_mode():
            expected = theirs(torch.tensor([ids])).logits[0].numpy()
        np.testing.assert_allclose(llama.logits(ids, Cache(llama.config, len(ids))), expected, atol=2e-3)


def test_the_chat_template_gives_the_prompt_as_it_is(tmp_path: Path):
    tokenizer = AutoTokenizer.from_pretrained(write_untrained(tmp_path / "made"))
    prompt = prompt_text("How long is it?", WORKERS)
    messages = [{"role": "user", "content": prompt}]
    assert tokenizer.apply_chat_template(messages, tokenize=False) == prompt
