"""vLLM serves the folder of a small Conductor, which plans as it does here, held to an expression or not."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conductor.llama.numpy_llama import read_llama
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.local_prompt import prompt_text
from conductor.planner.prompt.structured_output import PlanBounds
from conductor.workers.local_model import SHIPPED

NAMES = orchard_pool().names


def plan_regex() -> str:
    """The expression of a plan whose workers are named, as a small Conductor names them."""
    numbered = PlanBounds(workers=len(NAMES), max_steps=5, dialect="any").regex()
    plans = numbered.split("model_id = ")
    named = f"(?:{'|'.join(NAMES)})"
    number = f"[0-{len(NAMES) - 1}]"
    lists = [plan.split("subtasks = ", maxsplit=1) for plan in plans[1:]]
    return plans[0] + "".join(
        f"model_id = {workers.replace(number, named)}subtasks = {rest}" for workers, rest in lists
    )


@pytest.fixture(scope="module")
def prompts() -> Sequence[str]:
    return [prompt_text(question.text, NAMES) for question in draw(45, seed=5, split="test")]


@pytest.fixture(scope="module")
def continued(prompts: Sequence[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What vLLM writes: likeliest plans, sampled ones, and those held to an expression."""
    folder = tmp_path_factory.mktemp("continued")
    modes: dict[str, dict[str, Any]] = {
        "likeliest": {"temperature": 0.0, "regex": None},
        "sampled": {"temperature": 1.0, "regex": None},
        "likeliest, held": {"temperature": 0.0, "regex": plan_regex()},
        "sampled, held": {"temperature": 1.0, "regex": plan_regex()},
    }
    source, target = folder / "prompts.json", folder / "texts.json"
    source.write_text(json.dumps([{"texts": prompts, **each} for each in modes.values()]), encoding="utf-8")
    script = Path(__file__).with_name("continue_texts.py")
    environment = {
        **os.environ, "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"
    }  # fmt: skip
    command = [
        os.environ["CONDUCTOR_TEST_VLLM"],
        str(script),
        str(SHIPPED["orchard"]),
        str(source),
        str(target),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(zip(modes, json.loads(target.read_text(encoding="utf-8")), strict=True))


def test_vllm_plans_as_this_program_does(prompts: Sequence[str], continued: dict[str, list[str]]) -> None:
    own = read_llama(SHIPPED["orchard"])
    planned = [own.write(own.read(prompt), most=160, forbidden=lambda _: ()).text for prompt in prompts]
    assert continued["likeliest"] == planned


@pytest.mark.parametrize("mode", ["likeliest", "sampled"])
def test_an_expression_changes_nothing_in_what_a_trained_conductor_plans(
    continued: dict[str, list[str]], mode: str
) -> None:
    assert continued[f"{mode}, held"] == continued[mode]
    assert len(set(continued[mode])) > 10
