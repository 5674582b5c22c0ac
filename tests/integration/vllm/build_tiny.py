"""Builds a tiny Qwen2 of random weights and its tokenizer. A script for the environment that has vLLM.

It writes a complete checkpoint, half a million parameters in the common format: all but the sense of its
words is as with a real model. Nothing of this project imports it.
"""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

CONTEXT = 32_768
"""Tokens a call may hold: as many as the real model's, and cheap, as positions are computed."""

ENDING = 9.0
"""How much stronger than by chance it feels about tokens with a quote or a line break, for or against.

Otherwise a sentence that only a quote can end, and any word may go on, is a thousand tokens long.
"""

END = "<|im_end|>"
PAD = "<|endoftext|>"
START = "<|im_start|>"

TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

WORDS = """
    a about access after agent all and answer are as at be before by can check code compare compute correct
    each earlier every explain final find first for from give have how in instruction integral is it its list
    math model next no not number of on one only or order plan problem program prove question read reason
    result review same see sentence several shall solve step summary task text than that the their then there
    these think this to translate two until use user verify what when where which why with word work worker
    workflow write you
""".split()


def main(folder: Path) -> None:
    """Write the checkpoint to `folder`, which exists."""
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(folder)
    _model(tokenizer).save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer: no text is foreign to it, and plans are its mother tongue."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_sentences(), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        bos_token=None,
        model_max_length=CONTEXT,
        additional_special_tokens=[START, END],
    )
    fast.chat_template = TEMPLATE
    return fast


def _sentences() -> list[str]:
    chance = random.Random(0)
    sentences = []
    for number in range(400):
        words = " ".join(chance.choices(WORDS, k=12))
        sentences.append(words.capitalize() + ".\n")
        sentences.append(
            f'model_id = [{number % 7}, {number % 3}]\nsubtasks = ["{words}", "{words}"]\n'
            f'access_list = [[], [0], "all"]'
        )
        sentences.append(json.dumps({"steps": [{"instruction": words, "worker": number % 7, "access": [0]}]}))
    return sentences


def _model(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=-(-len(tokenizer) // 64) * 64,
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    model = Qwen2ForCausalLM(config)
    ends = [number for number in range(len(tokenizer)) if set('"\n') & set(tokenizer.decode([number]))]
    with torch.no_grad():
        model.get_output_embeddings().weight[ends] *= ENDING
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


if __name__ == "__main__":
    main(Path(sys.argv[1]))
