"""What fits into which GPUs: the table of a lab, and the arithmetic of each refusal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conductor.errors import ConductorError
from conductor.learning.grpo.memory import GB, Machine, ModelSize, check_memory, gpu_parts
from conductor.learning.grpo.recipe import RECIPES

QWEN_7B = ModelSize(
    parameters=7_615_616_512,
    widths=28 * (3584 * 12 + 2 * 512 + 3 * (3584 + 18_944) - 2 * 3584 - 2 * 3584),
    layers=28,
    hidden=3584,
    intermediate=18_944,
    vocabulary=152_064,
    kv=2 * 28 * 4 * 128 * 2,
)
H100, H200 = 85_000_000_000, 150_700_000_000
HOST = 500_000_000_000
PAPER = RECIPES["paper"]


def check(gpu: int, *, longest: int = 2000, machine: dict[str, Any] | None = None, **recipe: Any) -> None:
    there = Machine(gpu, **({"host": HOST} | (machine or {})))
    check_memory(PAPER.model_copy(update=recipe), QWEN_7B, there, longest=longest)


TWO = {"processes": 2, "zero3": True}
OFFLOADED = TWO | {"offload": True}


@pytest.mark.parametrize(
    ("gpu", "machine", "recipe", "reason"),
    [
        (H100, {}, {}, "weights 30.5 (7.62 bn x 4 B) + gradients 30.5 (7.62 bn x 4 B) + Adam 60.9 (7.62 bn"),
        (H200, {}, {}, "vLLM 75.3 (0.5 of the GPU)"),
        (H100, TWO, {}, "Adam 30.5 (7.62 bn x 8 B, over 2 GPUs)"),
        (H100, OFFLOADED, {}, None),
        (H100, OFFLOADED | {"host": 110_000_000_000}, {}, "offloaded states 121.8 (7.62 bn x 16 B)"),
        (H100, {}, {"lora": 16}, None),
        (24_000_000_000, {}, {"lora": 16}, "vLLM's share of a GPU (--gpu-memory 0.5): 12.0 GB are there"),
        (40_000_000_000, {}, {"lora": 16}, "vLLM 20.0 (0.5 of the GPU)"),
        (40_000_000_000, {}, {"lora": 16, "sleep": True, "per_device": 1}, None),
        (H100, {"processes": 2}, {}, "Adam 60.9 (7.62 bn x 8 B)"),
    ],
)  # fmt: skip
def test_what_cannot_fit_is_refused_with_the_arithmetic(
    gpu: int, machine: dict[str, Any], recipe: dict[str, Any], reason: str | None
) -> None:
    if reason is None:
        check(gpu, machine=machine, **recipe)
        return
    with pytest.raises(ConductorError, match=re.escape(reason)) as refused:
        check(gpu, machine=machine, **recipe)
    assert "Nothing was called." in str(refused.value)


@pytest.mark.parametrize(
    ("gpu", "machine", "recipe", "cure"),
    [
        (H100, {}, {}, "It would fit with ZeRO-3 with CPU offload (docs/grpo.md), or --lora 16, or --lora"),
        (H100, {}, {"lora": 64, "gpu_memory": 0.9}, "It would fit with --gpu-memory 0.3."),
        (8_000_000_000, {"host": HOST // 10}, {}, "Take a smaller model (--model)."),
    ],
)  # fmt: skip
def test_a_refusal_names_what_would_fit(
    gpu: int, machine: dict[str, Any], recipe: dict[str, Any], cure: str
) -> None:
    with pytest.raises(ConductorError, match=re.escape(cure)):
        check(gpu, machine=machine, **recipe)


def test_while_vllm_sleeps_its_share_is_not_counted_beside_gradients() -> None:
    machine = Machine(H200, HOST)
    awake, asleep = (
        {part.what for part in gpu_parts(recipe, QWEN_7B, machine, longest=2000)}
        for recipe in (PAPER, PAPER.model_copy(update={"sleep": True}))
    )
    assert awake - asleep == {"vLLM"}
    # While it samples, what Adam remembers is there beside it.
    with pytest.raises(ConductorError, match=r"Adam 60\.9 .* vLLM 75\.3"):
        check(H200, sleep=True)
    check(H200, sleep=True, gpu_memory=0.3, per_device=1)


def test_long_prompts_take_memory() -> None:
    def activations(longest: int) -> float:
        parts = gpu_parts(PAPER, QWEN_7B, Machine(H100, HOST), longest=longest)
        return next(part.bytes for part in parts if part.what == "activations") / GB

    assert activations(8192) == pytest.approx(activations(512) * 9216 / 1536)
