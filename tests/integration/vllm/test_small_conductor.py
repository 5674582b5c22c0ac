"""vLLM serves the folder of a small Conductor, and plans as this program does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from conductor.llama.model import read_llama
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.prompt import prompt_text
from conductor.workers.local_model import SHIPPED


def test_vllm_plans_as_this_program_does(tmp_path: Path):
    names = orchard_pool().names
    prompts = [prompt_text(question.text, names) for question in draw(45, seed=5, split="test")]
    asked, found = tmp_path / "asked.json", tmp_path / "found.json"
    asked.write_text(json.dumps(prompts), encoding="utf-8")
    script = Path(__file__).with_name("continue_texts.py")
    environment = {
        **os.environ, "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"
    }  # fmt: skip
    python, folder = os.environ["CONDUCTOR_TEST_VLLM"], SHIPPED["orchard"]
    command = [python, str(script), str(folder), str(asked), str(found)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    own = read_llama(SHIPPED["orchard"])
    planned = [own.write(own.read(prompt), most=160, forbidden=lambda _: ()).text for prompt in prompts]
    assert json.loads(found.read_text(encoding="utf-8")) == planned
