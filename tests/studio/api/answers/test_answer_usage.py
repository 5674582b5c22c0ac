"""`usage` is of the call that gave the answer, whatever else was called for it; all calls stand beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from conductor.errors import ServeError, WorkerError
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.protocol import WorkerCard
from studio.api.answers.answer_usage import shows_sum
from studio.api.app import api
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text

ONE, TWO = plan_text((0, "answer", "[]")), plan_text((0, "draft", "[]"), (1, "answer", "[0]"))


@dataclass
class Counting:
    """Answers with its `texts` one after another, the last one again and again, or fails where one is None;
    each call takes 100 and 1 tokens more than the one before, unless they have the `usage`.
    """

    name: str
    read: int
    texts: Sequence[str | None] = ("So.",)
    usage: Usage | None = None
    calls: int = field(default=0, init=False)

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(name=self.name, kind="model", strengths="counts", model=self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        text = self.texts[min(self.calls, len(self.texts) - 1)]
        usage = self.usage or Usage(
            prompt_tokens=self.read + 100 * self.calls, completion_tokens=1 + self.calls
        )
        self.calls += 1
        if text is None:
            raise WorkerError(f"{self.name} broke off.", used=usage)
        yield Delta(text=text)
        yield Completion(text=text, usage=usage)


Plays = Callable[[Stage], dict[str, Any]]


def two_steps(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20), plans=(BROKEN, TWO))
    return {"model": "conductor"}


def second_round(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20), plans=(TWO, ONE))
    return {"model": "conductor", "conductor": {"rounds": 2}}


def kept_answer(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20), plans=(TWO, KEEP))
    return {"model": "conductor", "conductor": {"rounds": 2}}


def call_again(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20, (None, "So.")))
    return workflow({"worker": "beta", "on_failure": {"retries": 1, "pause": 0.0}})


def fallback(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20, (None,)))
    return workflow({"worker": "beta", "on_failure": {"fallback": "alpha"}})


def text_of_rule(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20, (None,)))
    return workflow({"worker": "beta", "on_failure": {"output": "No idea"}})


def vote(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10, ("3",)), Counting("beta", 20, ("4",)), Counting("gamma", 30, ("4",)))
    return {"model": "baseline:vote"}


def calculation(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Calculator())
    return workflow({"worker": "alpha"}, {"worker": "calculator", "instruction": "2 + 3", "access": []})


def step_of_a_conductor(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20), plans=(TWO,), nests=True)
    return workflow({"worker": "conductor"})


def worker_alone(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10))
    return {"model": "worker:alpha"}


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    """A request with these steps, each reads the one before."""
    written = [
        {"instruction": f"Do {at}.", "access": [at - 1] if at else [], **step}
        for at, step in enumerate(steps)
    ]
    file = {"format": "conductor-workflow", "version": 1, "steps": written}
    return {"model": "conductor", "conductor": {"workflow": file}}


CASES: list[tuple[Plays, tuple[int, int] | None, tuple[int, int]]] = [
    (two_steps, (20, 1), (230, 22)),
    (second_round, (110, 2), (340, 24)),
    (kept_answer, (20, 1), (230, 22)),
    (call_again, (120, 2), (140, 3)),
    (fallback, (10, 1), (30, 2)),
    (text_of_rule, None, (20, 1)),
    (vote, (20, 1), (60, 3)),
    (calculation, None, (10, 1)),
    (step_of_a_conductor, (20, 1), (130, 12)),
    (worker_alone, (10, 1), (10, 1)),
]


def usages(stage: Stage, plays: Plays) -> list[tuple[dict[str, Any] | None, dict[str, Any]]]:
    """`usage` with the names of chat completions and `conductor`, of both APIs, whole and from a stream."""
    bodies = []
    for path in ("chat/completions", "responses"):
        asks = {"messages": [{"role": "user", "content": "Why?"}]} if path[0] == "c" else {"input": "Why?"}
        for streams in (False, True):
            options = {"stream_options": {"include_usage": True}} if streams and path[0] == "c" else {}
            body = {**plays(stage), **asks, "stream": streams, **options}
            answer = httpx.post(f"{stage.base_url}/{path}", json=body, timeout=60)
            assert answer.status_code == 200, answer.text
            bodies.append(last_of(answer.text) if streams else answer.json())
    return [(in_chat_words(body["usage"]), body["conductor"]) for body in bodies]


def last_of(stream: str) -> dict[str, Any]:
    shapes = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    if "response" in shapes[-1]:
        return dict(shapes[-1]["response"])
    return {"usage": shapes[-1]["usage"], "conductor": shapes[-2]["conductor"]}


def in_chat_words(shape: Any) -> Any:
    if not isinstance(shape, dict):
        return shape
    return {
        name.replace("input_", "prompt_").replace("output_", "completion_"): in_chat_words(value)
        for name, value in shape.items()
    }


def tokens(shape: dict[str, Any]) -> tuple[int, int]:
    assert shape["total_tokens"] == shape["prompt_tokens"] + shape["completion_tokens"]
    return shape["prompt_tokens"], shape["completion_tokens"]


@pytest.mark.parametrize(("plays", "own", "all_calls"), CASES, ids=[case[0].__name__ for case in CASES])
def test_usage_is_that_of_the_answers_own_call_and_the_sum_stands_beside_it(
    stage: Stage, plays: Plays, own: tuple[int, int] | None, all_calls: tuple[int, int]
) -> None:
    for usage, conductor in usages(stage, plays):
        assert usage is not None
        assert conductor["counted"] is (own is None)
        assert tokens(usage)[0] == 1 if own is None else tokens(usage) == own
        assert tokens(usage["conductor"]) == all_calls
        assert (usage["conductor"]["calls"], sum(all_calls)) == (conductor["calls"], conductor["tokens"])
        details = (usage["prompt_tokens_details"], usage["completion_tokens_details"])
        apart = tuple(each["orchestration_tokens"] for each in details)
        assert apart == tuple(whole - part for whole, part in zip(all_calls, own or (0, 0), strict=True))


@pytest.mark.parametrize(("plays", "own", "all_calls"), CASES[:3])
def test_the_servers_owner_may_have_the_sum_there(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    plays: Plays,
    own: tuple[int, int],
    all_calls: tuple[int, int],
) -> None:
    monkeypatch.setenv("CONDUCTOR_USAGE", "sum")
    for usage, _ in usages(stage, plays):
        assert usage is not None
        assert tokens(usage) == all_calls == tokens(usage["conductor"])
        apart = usage["prompt_tokens_details"]["orchestration_tokens"]
        assert apart == all_calls[0] - own[0]


def test_no_server_starts_where_the_setting_is_another_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_USAGE", "total")
    with pytest.raises(ServeError, match="CONDUCTOR_USAGE is 'total'; write answer or sum"):
        api(lambda: pytest.fail("not needed"), None)  # type: ignore[arg-type]
    monkeypatch.setenv("CONDUCTOR_USAGE", "")
    assert not shows_sum()


def unknown_plan(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), plans=ScriptedConductor((ONE,), usage=Usage()))
    return {"model": "conductor"}


def test_an_unknown_call_beside_the_answers_own_leaves_its_usage_there(stage: Stage) -> None:
    for usage, conductor in usages(stage, unknown_plan):
        assert usage is not None
        assert tokens(usage) == (10, 1)
        assert usage["prompt_tokens_details"]["orchestration_tokens"] is None
        assert (usage["conductor"]["total_tokens"], conductor["tokens"]) == (None, None)
        assert usage["conductor"]["known"]["prompt_tokens"] == 10


def unknown_answer(stage: Stage) -> dict[str, Any]:
    stage.plays(Counting("alpha", 10), Counting("beta", 20, usage=Usage()), plans=(TWO,))
    return {"model": "conductor"}


def test_an_unknown_usage_of_the_answers_own_call_is_null(stage: Stage) -> None:
    for usage, conductor in usages(stage, unknown_answer):
        assert (usage, conductor["known"]["prompt_tokens"]) == (None, 110)
