"""A small Conductor plans with the workers it knows, and hands over to the rules what it does not know."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import PoolError
from conductor.llama.numpy_llama import Written
from conductor.planner.conductor import PlanRequest
from conductor.planner.local.card import CARD, Confidence, read_card
from conductor.planner.local.local_conductor import LocalConductor
from conductor.planner.local.local_prompt import plan_text
from conductor.planner.planner import plan
from conductor.runs.events import AnswerKept, Event, PlanningFailed, PlanRejected, WorkflowPlanned
from conductor.runs.request import ChangeRequest
from conductor.values.messages import Usage
from conductor.workers.pool.schema import LocalConductorTable
from conductor.workers.protocol import WorkerCard
from conductor.workflow.plan_report import HandedOver
from tests.support.runs.local_conductor import PLAN, WORKERS, write_untrained

CARDS = tuple(WorkerCard(name=name, kind="simulated", strengths="", model=name) for name in WORKERS)
STRANGER = WorkerCard(name="gpt-5", kind="model", strengths="", model="gpt-5")
SURE = Confidence(question=-50.0, plan=-50.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_untrained(tmp_path_factory.mktemp("local") / "untrained")


def _conductor(folder: Path, **settings: Any) -> LocalConductor:
    return LocalConductor(LocalConductorTable(kind="local", model=str(folder), name="small", **settings))


def _scripted(folder: Path, text: str, *, least: Confidence | None = SURE, **means: Any) -> LocalConductor:
    """A Conductor whose model writes `text`, as sure as `means` has it."""
    planner = _conductor(folder)
    planner.trained = planner.trained.model_copy(update={"least": least})
    written = Written(**{"tokens": (1, 2), "text": text, "ended": True, "read_mean": -1, "mean": -1} | means)
    planner.llama = _Scripted(planner.llama, written)  # type: ignore[assignment]
    return planner


class _Scripted:
    """The model of a folder, but for what it writes."""

    def __init__(self, llama: Any, written: Written) -> None:
        self.config, self.read, self._written = llama.config, llama.read, written

    def write(self, *_: object, **__: object) -> Written:
        return self._written


def _planned(conductor: LocalConductor, query: str = "How long is it?", **more: Any) -> Event:
    request = PlanRequest(**{"query": query, "workers": CARDS} | more)

    async def last() -> Event:
        return [event async for event in plan(request, conductor=conductor, run="r")][-1]

    return asyncio.run(last())


@pytest.mark.slow
def test_a_plan_in_names_is_read_without_a_repair_and_its_prompt_is_kept(folder: Path):
    event = _planned(_scripted(folder, plan_text(PLAN)))
    assert isinstance(event, WorkflowPlanned)
    report = event.report
    assert (report.workflow, report.repairs, report.handed_over) == (PLAN, (), None)
    assert report.prompt is not None
    assert (report.prompt.form, report.prompt.sent) == ("names", True)
    assert report.prompt.messages[0].content == (
        f"Question: How long is it?\nWorkers: {', '.join(WORKERS)}\n"
    )
    assert event.usage.completion_tokens == 3


def test_workers_that_the_model_does_not_know_are_left_out_of_its_prompt(folder: Path):
    event = _planned(_scripted(folder, plan_text(PLAN)), workers=(STRANGER, CARDS[1], CARDS[0]))
    assert isinstance(event, WorkflowPlanned)
    assert event.report.prompt is not None
    assert event.report.prompt.messages[0].content.endswith("Workers: facts, letters\n")
    assert event.report.prompt.workers == ("gpt-5", "letters", "facts")


@pytest.mark.slow
def test_a_name_that_the_pool_does_not_have_is_never_written(folder: Path):
    conductor = _conductor(folder)
    for offered in (("letters",), ("solver", "text")):
        _, written = conductor.write("What is 2 + 2?", offered)
        forbidden = conductor._mask.forbidden(offered)
        ends = [token for token in written.tokens if token in conductor._mask.ends][:1]
        listed = written.tokens[: written.tokens.index(ends[0])] if ends else written.tokens
        assert forbidden.isdisjoint(listed)


UNSURE = Confidence(question=-2.0, plan=-0.5)


@pytest.mark.parametrize(
    ("means", "more", "reason"),
    [
        ({"read_mean": -3.0, "mean": -0.1}, {}, "the question is far from what small was trained on"),
        ({"read_mean": -1.0, "mean": -0.9}, {}, "its plan would be a guess"),
        ({"read_mean": -1.0, "mean": -0.1, "ended": False}, {}, "did not end its plan within"),
        ({}, {"query": "word " * 2_000}, "tokens, and small reads"),
        ({}, {"workers": (STRANGER,)}, "none of the workers"),
    ],
)
def test_what_the_model_does_not_know_is_handed_to_the_rules_with_the_reason(
    folder: Path, means: dict[str, Any], more: dict[str, Any], reason: str
):
    event = _planned(_scripted(folder, plan_text(PLAN), least=UNSURE, **means), **more)
    assert isinstance(event, WorkflowPlanned)
    handed = event.report.handed_over
    assert isinstance(handed, HandedOver)
    assert (handed.planner, handed.planner_kind) == ("offline planner", "offline")
    assert reason in handed.reason
    assert event.report.workflow != PLAN
    assert event.report.reasoning.startswith(f"Handed over to the rules: {handed.reason}")
    assert "Rule: " in event.report.reasoning
    assert event.report.repairs == ()
    written = bool(means)
    assert event.usage == (
        Usage(prompt_tokens=event.usage.prompt_tokens, completion_tokens=2 + means.get("ended", True))
        if written
        else Usage()
    )


def test_a_later_round_keeps_the_answer_by_the_rules(folder: Path):
    event = _planned(_scripted(folder, plan_text(PLAN)), round=2, previous=PLAN)
    assert isinstance(event, AnswerKept)
    assert event.report.handed_over is not None
    assert "one round" in event.reason


@pytest.mark.thorough
@pytest.mark.slow
def test_a_plan_that_is_not_valid_is_rejected_and_another_one_is_drawn(folder: Path):
    conductor = _conductor(folder)
    first = _planned(conductor)
    rejected = first.report if isinstance(first, PlanRejected | WorkflowPlanned) else None
    assert rejected is not None
    texts = {conductor.write("How long is it?", WORKERS, attempt=at)[1].text for at in (0, 0, 1, 2)}
    assert len(texts) == 3


@pytest.mark.slow
def test_a_folder_without_a_card_that_can_be_read_is_no_conductor(folder: Path, tmp_path: Path):
    other = write_untrained(tmp_path / "other")
    assert read_card(other).workers == WORKERS
    (other / CARD).write_text("{}", encoding="utf-8")
    with pytest.raises(PoolError, match=r"conductor-card.json: name: Field required"):
        _conductor(other)


def test_a_change_in_words_is_refused_by_the_model_and_by_the_rules(folder: Path):
    event = _planned(_scripted(folder, plan_text(PLAN)), change=ChangeRequest(workflow=PLAN, wish="shorter"))
    assert isinstance(event, PlanningFailed)
    assert event.message.startswith("small was trained to plan, and not to change a plan in words. ")
    assert "built-in planner follows fixed rules and cannot" in event.message
