"""The demonstration in small: what it writes, how it goes on after a kill, and what it notices of a collapse.

Steps are bounded rather than seconds, and few: nothing here asserts that much is learnt.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.learning.demonstration.acceptance import Results
from conductor.learning.demonstration.contenders import CONDUCTOR, ORACLE
from conductor.learning.demonstration.plan_pairs import ASKED, read_pairs
from conductor.learning.demonstration.run_folder import METRICS, STATE, Metrics, RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.demonstration.training import TRAINED, WARM, Demonstration
from conductor.learning.gauges import Stopped
from conductor.learning.small_llama.model import Texts, Vocabulary, log_probabilities, sample
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.card import read_card
from conductor.planner.local.prompt import NameMask, prompt_text

ROOT = Path(__file__).parents[3]
NAMES = orchard_pool().names

SMALL = DemoSettings(
    warm_steps=120, grpo_steps=4, questions=4, group=4, evaluate_every=2, evaluation=9, acceptance=9
)

SHORT = SMALL.model_copy(update={"warm_steps": 20, "warm_batch": 8})


def trained(folder: Path, settings: DemoSettings) -> tuple[Results | Stopped, list[Metrics]]:
    """What a run in the folder comes to, and its lines of metrics."""
    lines: list[Metrics] = []
    run = Demonstration(RunFolder(folder, settings), settings, listen=lines.append)
    return asyncio.run(run.run()), lines


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run whose plans are mostly valid."""
    folder = tmp_path_factory.mktemp("small") / "run"
    found, _ = trained(folder, SMALL)
    assert isinstance(found, Results)
    return folder


def test_a_finished_run_has_its_conductors_its_table_and_its_pictures(small: Path):
    found = Results.model_validate(RunFolder(small, SMALL).results)
    rows = {row.planner: row for row in found.rows}
    assert rows[ORACLE].accuracy == 1
    assert rows[CONDUCTOR].tokens is not None
    assert {path.name for path in small.glob("*.svg")} == {"accuracy.svg", "gauges.svg", "plans.svg"}
    pairs = read_pairs(small)
    assert pairs is not None
    assert len(pairs.pairs) == ASKED
    assert any(pair.after is not None and pair.after.workflow is not None for pair in pairs.pairs)
    card = read_card(small / TRAINED)
    assert card.workers == NAMES
    assert card.least is not None
    assert card.results["sampled"] == found.sampled
    assert read_card(small / WARM).least is None
    kinds = [json.loads(line)["kind"] for line in (small / METRICS).read_text().splitlines()]
    assert {kind: kinds.count(kind) for kind in ("warm start", "grpo", "evaluation")} == {
        **{"warm start": 12, "grpo": 4},
        "evaluation": 3,
    }


def test_transformers_writes_the_same_plan_from_the_folder(small: Path):
    model = AutoModelForCausalLM.from_pretrained(small / TRAINED)
    tokenizer = AutoTokenizer.from_pretrained(small / TRAINED)
    vocabulary = Vocabulary.of(Tokenizer.from_file(str(small / TRAINED / "tokenizer.json")), NAMES)
    prompts = [prompt_text(question.text, NAMES) for question in draw(6, seed=8, split="test")]
    ours = sample(model, vocabulary, prompts, [NAMES] * len(prompts), most=60)
    for prompt, text in zip(prompts, ours.texts, strict=True):
        read = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], return_tensors="pt", return_dict=True
        )
        written = model.generate(**read, max_new_tokens=60)[0, read["input_ids"].shape[1] :]
        assert tokenizer.decode(written, skip_special_tokens=True) == text


def test_no_sampled_plan_names_a_worker_that_its_pool_lacks(small: Path):
    model = AutoModelForCausalLM.from_pretrained(small / TRAINED)
    tokenizer = Tokenizer.from_file(str(small / TRAINED / "tokenizer.json"))
    vocabulary = Vocabulary.of(tokenizer, NAMES)
    pools = [("letters", "text"), ("facts", "solver", "checker")]
    prompts = [prompt_text(question.text, pools[at % 2]) for at, question in enumerate(draw(2, seed=9))]
    made = sample(
        model, vocabulary, prompts, pools, repeats=64, generator=torch.Generator().manual_seed(1), most=40
    )
    ends = NameMask.of(tokenizer, NAMES).ends
    for row, ids in enumerate(made.ids[:, made.width :].tolist()):
        end = next((at for at, token in enumerate(ids) if token in ends), len(ids))
        named = set(NAMES) & set(tokenizer.decode(ids[:end]).replace("[", " ").replace(",", " ").split())
        assert named <= set(pools[row // 64])


def test_padding_changes_no_probability(small: Path):
    model = AutoModelForCausalLM.from_pretrained(small / TRAINED)
    vocabulary = Vocabulary.of(Tokenizer.from_file(str(small / TRAINED / "tokenizer.json")), NAMES)
    rows = [("Question: short?\n", "model_id = [facts]"), ("Question: a much longer one?\n" * 3, "text")]
    with torch.inference_mode():
        together = log_probabilities(model, vocabulary, Texts.of(vocabulary, rows))
        for row, text in enumerate(rows):
            alone = log_probabilities(model, vocabulary, Texts.of(vocabulary, [text]))[0]
            torch.testing.assert_close(together[row, : len(alone)], alone, atol=1e-4, rtol=1e-4)


SCRIPT = """
import asyncio, sys
from pathlib import Path
from conductor.learning.demonstration.training import Demonstration
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
settings = DemoSettings.model_validate_json(sys.argv[2])
asyncio.run(Demonstration(RunFolder(Path(sys.argv[1]), settings), settings, listen=print).run())
"""


@pytest.mark.parametrize("kind", ["warm start", "grpo"])
def test_a_killed_run_goes_on_to_the_same_conductor(tmp_path: Path, kind: str):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    _, lines = trained(whole, SHORT)
    command = [sys.executable, "-c", SCRIPT, str(killed), SHORT.model_dump_json()]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None and not (_has(killed, kind) and (killed / STATE).exists()):
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (killed / TRAINED).exists()
    run = Demonstration(RunFolder(killed, SHORT), SHORT, listen=lambda _: None)
    assert run.steps[0] > 0
    asyncio.run(run.run())
    assert RunFolder(killed, SHORT).metrics == lines
    weights = [(folder / TRAINED / "model.safetensors").read_bytes() for folder in (whole, killed)]
    assert weights[0] == weights[1]


def _has(folder: Path, kind: str) -> bool:
    file = folder / METRICS
    return file.exists() and f'"kind": "{kind}"' in file.read_text()


@pytest.mark.parametrize(
    ("shy", "lr"), [(1.0, 1e-4), (0.95, 5e-4)], ids=["a start of one step only", "a high rate"]
)
def test_a_collapse_is_noticed_within_twenty_steps_and_stopped(tmp_path: Path, shy: float, lr: float):
    settings = SMALL.model_copy(
        update={"shy": shy, "grpo_lr": lr, "grpo_steps": 20, "evaluate_every": 50, "stop_on_collapse": True}
    )
    found, lines = trained(tmp_path / "run", settings)
    assert isinstance(found, Stopped)
    assert found.step < 20
    assert "router" in found.alarm.what
    assert "third take the question apart" in found.alarm.cure
    assert lines[-1]["kind"] == "alarm"
    assert not (tmp_path / "run" / TRAINED).exists()
