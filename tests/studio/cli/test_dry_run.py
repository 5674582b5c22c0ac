"""`--dry-run` of whatever may pay: it prints what would be called, calls nothing and stores nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage import SessionStore
from tests.studio.cli.command_line import Line
from tests.studio.cli.test_examples import commands
from tests.support.endpoints.fake_openai import FakeOpenAI, serving

POOL = """
[conductor]
base_url = "URL"
model = "simulated"

[[worker]]
name = "alpha"
base_url = "URL"
model = "simulated"
price_prompt = 1.0
price_completion = 2.0
"""
QUESTIONS = "".join(json.dumps({"input": f"{n}?", "target": str(n)}) + "\n" for n in range(3))
FLOW = {
    "format": "conductor-workflow", "version": 1, "query": "Why?",
    "steps": [
        {"instruction": "Answer.", "worker": "alpha"},
        {"instruction": "Check.", "worker": "alpha", "access": [0]},
    ],
}  # fmt: skip

MAY_PAY = {
    "plan", "run", "gallery run", "find-step", "doctor", "learn grpo",
    "evaluate run", "evaluate resume", "evaluate fit", "evaluate trials", "evaluate trials-of",
}  # fmt: skip


def test_whatever_may_pay_has_it() -> None:
    options = {
        path: {name for each in command.params for name in each.opts} for path, command in commands().items()
    }
    assert {path for path, names in options.items() if "--dry-run" in names} >= MAY_PAY


@pytest.mark.slow
def test_nothing_is_called_or_stored(line: Line, folder: Path) -> None:
    (folder / "q.jsonl").write_text(QUESTIONS)
    (folder / "flow.json").write_text(json.dumps(FLOW))
    with serving(FakeOpenAI()) as served:
        (folder / "pool.toml").write_text(POOL.replace("URL", served.base_url))
        session = json.loads(line("run", "--workflow", "flow.json", "--json").out)["session"]
        ended = line(
            "evaluate", "run", "q.jsonl", "-p", "worker:alpha", "--limit", "1", "--repeats", "2", "-q"
        )
        assert ended.code == 0
        calls = len(served.log.entries)
        with SessionStore.open("sqlite:///data/conductor.db") as store:
            before = store.sessions.count(), len(store.evaluations.listed())
            for arguments, sentence in {
                ("plan", "Why?"): "conductor plans in 1 call, 3 at most.\n",
                ("plan", "Why?", "--alternatives", "2", "--attempts", "1"): "conductor plans in 2 calls.\n",
                (
                    "plan",
                    "--session",
                    session,
                    "--change",
                    "Use beta",
                ): "conductor plans in 1 call, 3 at most.\n",
                (
                    "plan",
                    "--session",
                    session,
                    "-p",
                    "worker:alpha",
                ): "worker:alpha plans and calls no model.\n",
                ("run", "Why?"): "Its steps are known only then.\n",
                ("run", "Why?", "-p", "worker:alpha"): "The step will run, ~",
                ("run", "--session", session, "--all"): "All 2 steps will run, ~",
                ("gallery", "run", "debate", "Tea?"): "All 5 steps will run, ~",
                ("find-step", session, "--answer", "x", "--write", "1=x"): "At most 1 run, 1 call",
                ("evaluate", "run", "q.jsonl"): "6 answers: ~3 calls, ~",
                ("evaluate", "run", "q.jsonl", "-p", "plan:flow.json", "-p", f"plan:{session}"): "~6 calls",
                ("evaluate", "resume", "last", "-p", "baseline:vote"): "2 answers: ~",
                ("evaluate", "resume", "last"): "0 answers",
                ("evaluate", "trials", "flow.json", "q.jsonl", "--steps"): "variants on",
                ("evaluate", "fit", "last", "baseline:routerdc"): "1 question: no model is called.",
                ("doctor",): "conductor",
            }.items():
                result = line(*arguments, "--dry-run")
                assert (result.code, sentence in result.out, result.err) == (0, True, ""), (arguments, result)
            assert (store.sessions.count(), len(store.evaluations.listed())) == before
        assert len(served.log.entries) == calls
