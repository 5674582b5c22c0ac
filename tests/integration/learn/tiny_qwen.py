"""A tiny Qwen2 that has been shown a few plans: what it samples is now right, now wrong, now no plan.

As a program (`PYTHONPATH=. python tiny_qwen.py FOLDER`) it writes that model with questions, for a training
that is tried on a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import Draw
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.trainer.trl_rollouts import Chat, chat_of, completion_prompt
from conductor.workers.pool.pool import orchard_pool
from conductor.workers.wording.wording import OURS
from conductor.workflow.model import Step, Workflow

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

PLANS = (
    'model_id = [2]\nsubtasks = ["Compute."]\naccess_list = [[]]',
    'model_id = [0]\nsubtasks = ["Look it up."]\naccess_list = [[]]',
    'model_id = [2, 3]\nsubtasks = ["Compute.", "Check."]\naccess_list = [[], ["all"]]',
    "model_id = [0]",
)
"""For the orchard's pool and a question of arithmetic: right, wrong, right in two steps, and no plan."""

ITEMS = [Item(id=str(at), input=f"What is {at} * 7?", target=(str(7 * at),)) for at in range(5, 15)]
CARDS = tuple(worker.card for worker in orchard_pool().workers)
STEPS = 40


def write_tiny(folder: Path) -> None:
    """Write the folder of a model that answers the prompts for `ITEMS` with one of `PLANS`."""
    torch.manual_seed(0)
    chats = _chats()
    tokenizer = _tokenizer(chats)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=-(-len(tokenizer) // 64) * 64,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=16_384,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    _show(model, tokenizer, chats)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def _chats() -> list[Chat]:
    """The prompts of first rounds, and one of a second."""
    recipe = GrpoRecipe()
    requests = [Draw(item, CARDS).request(recipe) for item in ITEMS]
    plan = Workflow.of([Step(instruction="Compute.", worker=CARDS[0].name)])
    second = requests[0].model_copy(update={"round": 2, "previous": plan})
    return [chat_of(request, recipe) for request in (*requests, second)]


def _tokenizer(chats: Sequence[Chat]) -> PreTrainedTokenizerFast:
    """Each plan is one token, and so is what all prompts have in common: prompts are short, and plans are
    learnt at once.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = [chat[1]["content"] for chat in chats]
    bpe.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=PAD, chat_template=TEMPLATE
    )
    instruction = texts[0].partition("What is")[0]
    tokenizer.add_tokens([*PLANS, chats[0][0]["content"], instruction, OURS.prefill])
    return tokenizer


def _show(model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, chats: Sequence[Chat]) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        loss = torch.zeros(())
        for at, plan in enumerate(PLANS):
            chat = chats[(step + at) % len(chats)]
            prompt = tokenizer(completion_prompt(tokenizer, chat))["input_ids"]
            answer = tokenizer(plan + END)["input_ids"]
            ids = torch.tensor([[*prompt, *answer]])
            labels = ids.clone()
            labels[0, : len(prompt)] = -100
            loss = loss + model(input_ids=ids, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def questions() -> str:
    """The items as the lines of a file."""
    return "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in ITEMS)


if __name__ == "__main__":
    write_tiny(Path(sys.argv[1]))
    (Path(sys.argv[1]) / "questions.jsonl").write_text(questions(), encoding="utf-8")
