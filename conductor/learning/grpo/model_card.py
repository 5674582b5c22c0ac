"""The card of a trained Conductor's folder: how it was trained, on what, and what was measured. Pure.

Knows the recipe; the form is that of the hub's model cards (huggingface.co/docs/hub/model-cards).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.text.formatting import percent, quantity

CARD = "README.md"

_SUPERVISED = {
    "model", "steps", "learning_rate", "warm_up", "lora", "prompt_tokens", "completion_tokens", "max_steps",
    "dialect", "prompt_style", "prompt_from", "seed",
}  # fmt: skip
"""The settings of a recipe by which right plans are learnt."""

_MEASURED = {"valid": "valid plans", "right": "right answers"}


def model_card(
    recipe: GrpoRecipe,
    *,
    data: str,
    questions: int,
    workers: Sequence[str],
    steps: int,
    measured: Sequence[Mapping[str, object]] = (),
    is_supervised: bool = False,
) -> str:
    """The Markdown of a Conductor after `steps` steps on `questions` of `data`, with these workers.

    `measured` are the evaluations of the held-out questions in their order, as the log has them.
    `is_supervised`: it learnt right plans, and had no rewards.
    """
    method = "learning right plans" if is_supervised else "GRPO"
    front = "\n".join(
        [
            "---",
            f"base_model: {json.dumps(recipe.model)}",
            "library_name: transformers",
            "pipeline_tag: text-generation",
            f"tags: [conductor, orchestration, {'sft' if is_supervised else 'grpo'}]",
            "---",
        ]
    )
    values = recipe.model_dump(mode="json", include=_SUPERVISED if is_supervised else None)
    settings = "\n".join(f"| {name} | {value} |" for name, value in values.items())
    return "\n\n".join(
        [
            front,
            "# A Conductor",
            "It writes workflows: steps with an instruction, a worker and the earlier steps that it reads. "
            f"It was trained from `{recipe.model}` by {quantity(steps, 'step')} of {method} with Conductor "
            f"Studio on {quantity(questions, 'question')} of {data}, with the workers {', '.join(workers)}.",
            f"Serve it with `conductor vllm --model FOLDER`, dialect `{recipe.dialect}` and prompt style "
            f"`{recipe.prompt_style}`. With other workers than those it was trained with, measure it first.",
            _results(measured),
            f"## The recipe\n\n| setting | value |\n| --- | --- |\n{settings}",
            ("" if is_supervised else "The method is that of arXiv 2512.04388. ")
            + "The licence is that of the base model.\n",
        ]
    )


def _results(measured: Sequence[Mapping[str, object]]) -> str:
    if not measured:
        return "No held-out questions were evaluated while it was trained."
    rows = [
        f"| {line['step']} | {' | '.join(_share(line.get(f'eval_{name}')) for name in _MEASURED)} |"
        for line in measured
    ]
    heads = ["step", *_MEASURED.values()]
    return "\n".join(
        [
            "## Held-out questions, one completion each at the training's temperature\n",
            f"| {' | '.join(heads)} |",
            f"|{' --- |' * len(heads)}",
            *rows,
        ]
    )


def _share(value: object) -> str:
    return percent(value) if isinstance(value, int | float) else "-"
