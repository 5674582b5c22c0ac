"""The whole path on a real vLLM: served by our command, held to plans by our expressions, run on our pool.

The model is tiny and its weights are random: whatever is valid here is so because it is held to it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from conductor.planner.conductor import PlanRequest
from conductor.planner.parsing.parse import parse
from conductor.planner.prompt.prompt import plan_messages
from conductor.planner.prompt.structured_output import Constraint, PlanBounds
from conductor.values.messages import Message
from conductor.workers.pool.pool import read_pool
from conductor.workers.wording.wording import OURS
from conductor.workflow.file import write_plan
from conductor.workflow.plan_report import Dialect
from studio.cli.line import main
from tests.integration.vllm.real_vllm import KEY, VARIABLE, WORKERS, Served, commands

QUERY = "Which of France and Japan has more people, and by how many?"
MAX_STEPS = 5
DIALECTS: tuple[Dialect, ...] = ("any", "binary", "position")
"""Those that an expression can hold to the last detail; see `plan_regex` for the fourth."""

PLANS = [(DIALECTS[seed % 3], seed % 2 == 1, seed) for seed in range(20)]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Our side has the key too, and a folder of its own."""
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.chdir(tmp_path)


def written(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def completion(
    served: Served, pool_file: Path, *, constraint: Constraint, dialect: Dialect, think: bool, seed: int
) -> str:
    """One planning call that only this test sends."""
    cards = tuple(worker.card for worker in read_pool(pool_file).workers)
    held = PlanBounds(len(cards), MAX_STEPS, dialect, room_to_think=think).parameters(constraint)
    body: dict[str, Any] = {
        "model": served.conductor["model"],
        "messages": written(
            plan_messages(
                PlanRequest(query=QUERY, workers=cards, max_steps=MAX_STEPS),
                dialect=dialect,
                style="ours",
                room_to_think=think,
                form="json" if constraint == "json" else "lists",
            )
        ),
        "temperature": 1.0,
        "seed": seed,
        "max_tokens": 4000,
        **held,
    }
    with served.client() as client:
        answer = client.post("/chat/completions", json=body)
    assert answer.status_code == httpx.codes.OK, answer.text
    choice = answer.json()["choices"][0]
    assert choice["finish_reason"] == "stop" or constraint == "none"
    text: str = choice["message"]["content"]
    return text


def test_the_api_is_guarded_by_the_key_and_serves_the_named_model(served: Served) -> None:
    with served.client(key=None) as stranger, served.client() as client:
        assert stranger.get("/models").status_code == httpx.codes.UNAUTHORIZED
        listed = client.get("/models").json()["data"]
    assert [(model["id"], model["owned_by"]) for model in listed] == [("conductor", "vllm")]


def test_the_key_is_in_no_list_of_processes(served: Served) -> None:
    lines = commands()
    assert any("conductor vllm --model" in line for line in lines)
    assert any("--structured-outputs-config" in line for line in lines)
    assert not [line for line in lines if KEY in line]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_a_constrained_plan_is_valid_and_runs_to_its_end(
    served: Served, pool_file: Path, capsys: pytest.CaptureFixture[str], plan: tuple[Dialect, bool, int]
) -> None:
    dialect, think, seed = plan
    text = completion(served, pool_file, constraint="regex", dialect=dialect, think=think, seed=seed)
    report = parse(text, workers=WORKERS, dialect=dialect, max_steps=MAX_STEPS)
    assert (report.problems, report.repairs) == ((), ()), text
    assert report.workflow is not None
    Path("plan.json").write_text(
        write_plan(report.workflow, query=QUERY, origin="conductor", workers=WORKERS, label=None),
        encoding="utf-8",
    )
    code = main(["run", "--workflow", "plan.json", "--pool", str(pool_file), "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    run = json.loads(printed.out)
    assert (run["status"], run["label"]) == ("finished", None)
    assert [step["worker"] for step in run["steps"]] == [step.worker for step in report.workflow.steps]
    assert {(step["status"], step["worker_kind"]) for step in run["steps"]} == {("finished", "model")}
    assert all(step["usage"]["completion_tokens"] > 0 for step in run["steps"])
    assert run["answer"] == run["steps"][-1]["output"]


def test_plans_of_several_lengths_and_shapes_came_out(served: Served, pool_file: Path) -> None:
    plans = [
        parse(
            completion(served, pool_file, constraint="regex", dialect="any", think=False, seed=seed),
            workers=WORKERS,
            max_steps=MAX_STEPS,
        ).workflow
        for seed in range(6)
    ]
    assert len({len(plan) for plan in plans if plan is not None}) > 1
    assert any(step.access for plan in plans if plan is not None for step in plan.steps)


def test_without_a_constraint_the_same_model_writes_no_plan(served: Served, pool_file: Path) -> None:
    text = completion(served, pool_file, constraint="none", dialect="any", think=False, seed=0)
    assert not parse(text, workers=WORKERS, max_steps=MAX_STEPS).ok


@pytest.mark.parametrize("seed", range(3))
def test_our_schema_is_taken_and_kept(served: Served, pool_file: Path, seed: int) -> None:
    text = completion(served, pool_file, constraint="json", dialect="any", think=False, seed=seed)
    schema = PlanBounds(len(WORKERS), MAX_STEPS, "any").schema()
    jsonschema.validate(json.loads(text), schema)


def test_the_conductor_of_the_pool_plans_and_its_workers_answer(
    pool_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["run", QUERY, "--pool", str(pool_file), "--events"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    events = [json.loads(line) for line in printed.out.splitlines()]
    types = [event["type"] for event in events]
    assert not {"planning_retried", "plan_rejected", "step_retried", "step_failed"} & set(types), types
    assert types[0] == "planning_started"
    assert types[-1] == "run_finished"


def test_a_conductor_of_the_research_layout_goes_on_with_the_beginning_of_its_answer(
    served: Served, pool_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = 'prompt_style = "research"\ndialect = "binary"\nconstrain = "regex"\n'
    research = tmp_path / "research.toml"
    text = pool_file.read_text(encoding="utf-8")
    research.write_text(text.replace("[conductor]\n", f"[conductor]\n{keys}"), encoding="utf-8")
    code = main(["run", QUERY, "--pool", str(research), "--events", "--strict-form"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    events = [json.loads(line) for line in printed.out.splitlines()]
    assert events[-1]["type"] == "run_finished"
    planned = next(event for event in events if event["type"] == "workflow_planned")
    messages = planned["report"]["prompt"]["messages"]
    assert messages[-1] == {"role": "assistant", "content": OURS.prefill}
    read, count = read_by_vllm(served, messages)
    assert read.endswith(f"<|im_start|>assistant\n{OURS.prefill}")
    assert planned["usage"]["prompt_tokens"] == count


def read_by_vllm(served: Served, messages: list[dict[str, str]]) -> tuple[str, int]:
    """What the model reads of these messages, whose last one it goes on with, and its tokens."""
    with served.client() as client:
        tokens = client.post(_beside(client, "/tokenize"), json=_continued(served, messages)).json()["tokens"]
        body = {"model": served.conductor["model"], "tokens": tokens}
        text: str = client.post(_beside(client, "/detokenize"), json=body).json()["prompt"]
    return text, len(tokens)


def _continued(served: Served, messages: list[dict[str, str]]) -> dict[str, Any]:
    flags = {"continue_final_message": True, "add_generation_prompt": False}
    return {"model": served.conductor["model"], "messages": messages, **flags}


def _beside(client: httpx.Client, path: str) -> str:
    return str(client.base_url.copy_with(path=path))


def test_a_repeated_prompt_is_read_from_the_prefix_cache(served: Served) -> None:
    question = {"role": "user", "content": "one two three four " * 200}
    body = {"model": served.conductor["model"], "messages": [question], "max_tokens": 1}
    with served.client() as client:
        before = cached_tokens(client)
        for _ in range(2):
            assert client.post("/chat/completions", json=body).status_code == httpx.codes.OK
        assert cached_tokens(client) > before


def cached_tokens(client: httpx.Client) -> float:
    """The tokens that vLLM has found in its prefix cache so far."""
    text = client.get(str(client.base_url.copy_with(path="/metrics"))).text
    match = re.search(r"^vllm:prefix_cache_hits_total\{[^}]*\} (\S+)$", text, re.M)
    assert match is not None, text[:2000]
    return float(match[1])
