"""The sizes that a training's memory follows from: of a model by its configuration, and of this machine.

Knows torch and transformers, and what `accelerate launch` sets; the arithmetic is `memory`'s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from conductor.learning.grpo.memory import Machine, ModelSize, check_memory
from conductor.learning.grpo.recipe import GrpoRecipe


def check_gpu(recipe: GrpoRecipe, *, longest: int) -> None:
    """Raises `ConductorError` where the training cannot fit into this machine. See `check_memory`."""
    device = int(os.environ.get("LOCAL_RANK", "0"))
    gpu = torch.cuda.get_device_properties(device).total_memory
    check_memory(recipe, model_size(recipe.model), machine_of(os.environ, gpu=gpu), longest=longest)


def model_size(name: str) -> ModelSize:
    """The sizes of a model by its configuration alone: no weight is loaded."""
    config = AutoConfig.from_pretrained(name)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    # PEFT's "all-linear" leaves the output layer out.
    linear = [
        part
        for part in model.modules()
        if isinstance(part, torch.nn.Linear) and part is not model.get_output_embeddings()
    ]
    return ModelSize(
        parameters=sum(part.numel() for part in model.parameters()),
        widths=sum(part.in_features + part.out_features for part in linear),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        intermediate=getattr(text, "intermediate_size", 4 * text.hidden_size),
        vocabulary=text.vocab_size,
        kv=2 * text.num_hidden_layers * heads * head * 2,
    )


def machine_of(environment: Mapping[str, str], *, gpu: int) -> Machine:
    """This machine, with GPUs of so many bytes, as the processes of `accelerate launch` share it."""

    def on_cpu(what: str) -> bool:
        return environment.get(f"ACCELERATE_DEEPSPEED_OFFLOAD_{what}_DEVICE") == "cpu"

    zero3 = (
        environment.get("ACCELERATE_USE_DEEPSPEED") == "true"
        and environment.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3"
    )
    return Machine(
        gpu=gpu,
        host=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        processes=int(environment.get("WORLD_SIZE", "1")),
        zero3=zero3,
        offload=zero3 and on_cpu("PARAM") and on_cpu("OPTIMIZER"),
    )
