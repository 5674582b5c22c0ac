"""A real Inspect evaluation against the API: each model answers, its tokens are summed, its sessions kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool
from tests.support.processes.api_server import ServedApi, serving_api

POOL = Pool(workers=(Calculator("mathematics"), Calculator("sums")))
MODELS = ("conductor", "baseline:vote", "worker:mathematics")
QUESTIONS = (("What is 6 * 7?", "42"), ("What is 17 * 23?", "391"), ("What is 2 + 2?", "5"))
"""The last target is wrong on purpose."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    with serving_api(tmp_path_factory.mktemp("store") / "store.db", POOL) as api:
        yield api


@pytest.fixture(scope="module")
def logs(served: ServedApi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Inspect wrote, by model: all of it in one evaluation, with parameters that have no effect here."""
    folder = tmp_path_factory.mktemp("inspect")
    data = folder / "sums.jsonl"
    lines = [{"id": at, "input": query, "target": target} for at, (query, target) in enumerate(QUESTIONS)]
    shutil.copy(Path(__file__).with_name("sums.py"), folder)
    data.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = subprocess.run(
        [
            *(os.environ["CONDUCTOR_TEST_INSPECT"], "-m", "inspect_ai", "eval"),
            *("sums.py", "-T", f"data={data}", "--display", "none"),
            *("--model", ",".join(f"openai-api/conductor/{model}" for model in MODELS)),
            *("--seed", "7", "--top-p", "0.9", "--log-format", "json", "--log-dir", str(folder / "logs")),
        ],
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(folder),
            "CONDUCTOR_BASE_URL": served.base_url,
            "CONDUCTOR_API_KEY": served.key,
        },
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "logs").glob("*.json")]
    return {log["eval"]["model"].removeprefix("openai-api/conductor/"): log for log in documents}


@pytest.mark.parametrize("model", MODELS)
def test_a_task_is_answered_and_scored(logs: dict[str, Any], model: str) -> None:
    log = logs[model]
    assert (log["status"], log["results"]["completed_samples"]) == ("success", len(QUESTIONS))
    verdicts = [sample["scores"]["match"]["value"] for sample in log["samples"]]
    assert verdicts == ["C", "C", "I"]


@pytest.mark.parametrize("model", MODELS)
def test_tokens_are_summed_and_each_answer_is_a_session(
    served: ServedApi, logs: dict[str, Any], model: str
) -> None:
    (usage,) = logs[model]["stats"]["model_usage"].values()
    own = [sample["output"]["usage"] for sample in logs[model]["samples"]]
    assert usage["total_tokens"] == sum(each["total_tokens"] for each in own) > 0
    for sample, (question, _) in zip(logs[model]["samples"], QUESTIONS, strict=True):
        (call,) = [event["call"] for event in sample["events"] if event["event"] == "model"]
        about = call["response"]["conductor"]
        assert (about["counted"], about["without_effect"]) == (True, ["seed", "top_p"])
        assert served.bench.store.sessions.find(about["session"]).query == question
