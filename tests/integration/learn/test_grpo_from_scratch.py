"""`examples/grpo_from_scratch.py`: its language of plans, and that it trains and measures."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conductor.orchard import draw
from conductor.workflow.model import Workflow

EXAMPLE = Path(__file__).parents[3] / "examples" / "grpo_from_scratch.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grpo_from_scratch", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short_enough_to_be_read():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 300


def test_a_plan_is_read_back_from_its_tokens(example: ModuleType):
    for question in draw(27, seed=1):
        assert example.read_plan(example.plan_tokens(question.oracle)) == question.oracle


def test_tokens_that_are_no_plan_have_none(example: ModuleType):
    step = example.plan_tokens(Workflow.of(draw(1, seed=1)[0].oracle.steps[:1]))[:3]
    sees_itself = [*step[:2], example.SEEN + 1]
    for tokens in ([], step, [example.END], [*step[:2], example.END], [*sees_itself, example.END]):
        assert example.read_plan(tokens) is None
    assert example.read_plan([*step, example.END, *step]) is not None


def test_it_trains_and_measures():
    command = [sys.executable, EXAMPLE, "--warm-steps", "3", "--steps", "2", "--questions", "9"]
    here = {**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=here)
    before, step, after = done.stdout.splitlines()
    assert re.match(r"before GRPO: [01]\.\d{3} of the likeliest plans right", before)
    assert re.match(r"step 2: \d+% of sampled plans right, \d+% of the groups", step)
    assert after.startswith("after it:")
