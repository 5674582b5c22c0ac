"""A small Conductor of random weights in a folder: all but its sense is as with a trained one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from conductor.learning.small_llama.folder import Weights, llama_config, make_tokenizer, write_folder
from conductor.planner.local.card import ConductorCard
from conductor.planner.local.local_prompt import plan_text, prompt_text
from conductor.workflow.model import Step, Workflow

WORKERS = ("facts", "letters", "solver", "checker", "generalist", "text")

PLAN = Workflow.of(
    [
        Step(instruction="Find the capital.", worker="facts"),
        Step(instruction="Count the letters of the answer.", worker="letters", access=(0,)),
    ]
)

TEXTS = [
    prompt_text(f"How many letters has the capital of {country}?", WORKERS) + plan_text(PLAN)
    for country in ("France", "Japan", "Peru", "Chad", "Mali", "Cuba", "Italy", "Nepal")
]


def write_untrained(folder: Path, *, seed: int = 0, workers: tuple[str, ...] = WORKERS) -> Path:
    """Write a Conductor of random weights to `folder`; returns it."""
    tokenizer = make_tokenizer(TEXTS, workers, size=400)
    config = llama_config(tokenizer)
    card = ConductorCard(name="untrained", data="nothing", workers=workers, seed=seed, licence="Apache-2.0")
    weights = random_weights(config, seed)
    write_folder(folder, config=config, tokenizer=tokenizer, weights=weights, card=card)
    return folder


def random_weights(config: dict[str, int], seed: int) -> Weights:
    """Norms near 1, all else wide enough that the model is sure of its nonsense."""
    draw = np.random.default_rng(seed)
    return {
        name: (
            1 + 0.1 * draw.standard_normal(shape) if len(shape) == 1 else 0.3 * draw.standard_normal(shape)
        ).astype(np.float32)
        for name, shape in llama_shapes(config).items()
    }


def llama_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter that the folder stores, by name."""
    wide, inner, size = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (size, wide),
        "model.norm.weight": (wide,),
    }
    for layer in range(config["num_hidden_layers"]):
        place = f"model.layers.{layer}"
        shapes |= {f"{place}.self_attn.{name}_proj.weight": (wide, wide) for name in "qkvo"}
        shapes |= {f"{place}.mlp.{name}_proj.weight": (inner, wide) for name in ("gate", "up")}
        shapes[f"{place}.mlp.down_proj.weight"] = (wide, inner)
        shapes |= {f"{place}.{name}_layernorm.weight": (wide,) for name in ("input", "post_attention")}
    return shapes
