"""The demonstration in small: what it writes, how it goes on after a kill, and what it notices of a collapse.

Steps are bounded rather than seconds, and few: nothing here asserts that much is learnt.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from conductor.learning.demonstration.contenders import CONDUCTOR, ORACLE, SPLITS, START, Results
from conductor.learning.demonstration.demonstration import TRAINED, WARM, Demonstration
from conductor.learning.demonstration.exam import QUESTIONS, read_pairs
from conductor.learning.demonstration.run_folder import METRICS, STATE, Metrics, RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.gauges import Stopped
from conductor.learning.small_llama.torch_llama import Texts, Vocabulary, log_probabilities, sample
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.card import read_card
from conductor.planner.local.local_prompt import NameMask, prompt_text
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

ROOT = Path(__file__).parents[3]
NAMES = orchard_pool().names

SMALL = DemoSettings(
    warm_steps=120, shy=0.5, grpo_steps=4, questions=4, group=4, evaluate_every=2, evaluation=9, acceptance=9
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
    results, _ = trained(folder, SMALL)
    assert isinstance(results, Results)
    return folder


def test_a_finished_run_has_its_conductors_and_its_table(small: Path):
    results = Results.model_validate(RunFolder(small, SMALL).results)
    rows = {row.planner: row for row in results.rows}
    assert rows[ORACLE].accuracy == 1
    assert rows[CONDUCTOR].tokens is not None
    pairs = read_pairs(small)
    assert pairs is not None
    assert len(pairs.pairs) == QUESTIONS
    assert any(pair.after is not None and pair.after.workflow is not None for pair in pairs.pairs)
    card = read_card(small / TRAINED)
    assert card.workers == NAMES
    assert card.least is not None
    assert card.results["sampled"] == results.sampled
    assert read_card(small / WARM).least is None
    kinds = [json.loads(line)["kind"] for line in (small / METRICS).read_text(encoding="utf-8").splitlines()]
    assert {kind: kinds.count(kind) for kind in ("warm start", "grpo", "evaluation")} == {
        **{"warm start": 12, "grpo": 4},
        "evaluation": 3,
    }


def test_a_start_is_measured_as_its_training_is(small: Path):
    results = Results.model_validate(RunFolder(small, SMALL).results)
    rows = {row.planner: row for row in results.rows}
    assert rows[START].accuracy == results.greedy_before
    assert set(results.before) == {"sampled", *SPLITS}
    assert [temperature for temperature, _ in results.cooled] == [0.7, 0.5, 0.35, 0.25]


def test_a_control_learns_the_right_plans_alone(tmp_path: Path):
    """Of a group without a right plan it learns nothing; GRPO learns the form of it."""
    settings = SHORT.model_copy(update={"learner": "rejection", "teacher": "random", "grpo_steps": 1})
    lines = trained(tmp_path / "run", settings)[1]
    (step,) = [line for line in lines if line["kind"] == "grpo"]
    before, after = (weights(tmp_path / "run" / name) for name in (WARM, TRAINED))
    assert (before == after) == (step["right"] == 0)


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
    samples = sample(
        model, vocabulary, prompts, pools, repeats=64, generator=torch.Generator().manual_seed(1), most=40
    )
    ends = NameMask.of(tokenizer, NAMES).ends
    for row, ids in enumerate(samples.ids[:, samples.width :].tolist()):
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
from conductor.learning.demonstration.demonstration import Demonstration
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
    with child(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        until(
            lambda: process.poll() is not None or (_has(killed, kind) and (killed / STATE).exists()),
            seconds=240,
            every=0.005,
        )
    assert not (killed / TRAINED).exists()
    run = Demonstration(RunFolder(killed, SHORT), SHORT, listen=lambda _: None)
    assert run.steps[0] > 0
    asyncio.run(run.run())
    assert RunFolder(killed, SHORT).metrics == lines
    assert weights(killed / TRAINED) == weights(whole / TRAINED)


@pytest.mark.parametrize(
    ("kind", "steps"), [("warm start", (10, 0)), ("evaluation", (20, 0)), ("grpo", (20, 1))]
)
def test_an_interrupted_run_goes_on_behind_its_last_finished_step(
    tmp_path: Path, kind: str, steps: tuple[int, int]
):
    settings = SHORT.model_copy(update={"evaluate_every": 50})
    _, lines = trained(tmp_path / "whole", settings)
    folder = RunFolder(tmp_path / "interrupted", settings)

    async def interrupted() -> None:
        training = asyncio.current_task()
        assert training is not None

        def listen(line: Metrics) -> None:
            if line["kind"] == kind:
                training.cancel()

        await Demonstration(folder, settings, listen=listen).run()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    run = Demonstration(folder, settings, listen=lambda _: None)
    assert run.steps == steps
    asyncio.run(run.run())
    assert folder.metrics == lines
    assert weights(folder.path / TRAINED) == weights(tmp_path / "whole" / TRAINED)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def _has(folder: Path, kind: str) -> bool:
    file = folder / METRICS
    return file.exists() and f'"kind": "{kind}"' in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shy", "lr"), [(1.0, 1e-4), (0.95, 5e-4)], ids=["a start of one step only", "a high rate"]
)
def test_a_collapse_is_noticed_within_twenty_steps_and_stopped(tmp_path: Path, shy: float, lr: float):
    settings = SMALL.model_copy(
        update={"shy": shy, "grpo_lr": lr, "grpo_steps": 20, "evaluate_every": 50, "stop_on_collapse": True}
    )
    stop, lines = trained(tmp_path / "run", settings)
    assert isinstance(stop, Stopped)
    assert stop.step < 20
    assert "router" in stop.alarm.what
    assert "take the question apart in a third of the cases" in stop.alarm.cure
    assert lines[-1]["kind"] == "alarm"
    assert not (tmp_path / "run" / TRAINED).exists()
