"""A correction as a row to train with: in the Conductor's own form, read back, with the judgements heeded."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.planner.corrections import (
    Correction,
    Judged,
    JudgedPlan,
    LeftOut,
    Thumbs,
    judged_row_of,
    row_of,
)
from conductor.planner.parsing.parse import parse
from conductor.values.messages import Sampling
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import PlanPrompt, PromptMessage

WORKERS = ("alpha", "beta")
MESSAGES = (
    PromptMessage(role="system", content="You are a Conductor."),
    PromptMessage(role="user", content="Why?"),
)
PLANNED = Workflow.of(
    [Step(instruction="find", worker="alpha"), Step(instruction="merge", worker="beta", access=(0,))]
)
EDITED = PLANNED.with_worker(1, "alpha")


def judged(run: str, thumbs: Thumbs | None = None) -> Judged:
    return Judged(run=run, answer=f"answer of {run}", thumbs=thumbs, pool_label="simulated")


def correction(**values: Any) -> Correction:
    prompt = values.pop("prompt", PlanPrompt(messages=MESSAGES, workers=WORKERS, max_steps=5))
    fields: dict[str, Any] = {
        "session": "s",
        "query": "Why?",
        "pool_label": None,
        "plan": "p",
        "planner": "conductor",
        "planner_kind": "model",
        "dialect": "any",
        "reasoning": "Two steps do.",
        "prompt": prompt,
        "planned_revision": "r1",
        "planned": PLANNED,
        "planned_run": None,
        "revision": "r2",
        "edited": EDITED,
        "edited_run": None,
        "created_at": 1.0,
        "note": "Give it to alpha",
        "current": True,
    }
    return Correction(**fields | values)


def test_a_pair_has_the_prompt_as_it_was_sent_and_both_plans_in_one_form() -> None:
    row = row_of(correction(), kind="preferences", bare=True)
    assert row == {
        "prompt": [
            {"role": "system", "content": "You are a Conductor."},
            {"role": "user", "content": "Why?"},
        ],
        "chosen": [
            {
                "role": "assistant",
                "content": 'model_id = [0, 0]\nsubtasks = ["find", "merge"]\naccess_list = [[], [0]]',
            }
        ],
        "rejected": [
            {
                "role": "assistant",
                "content": 'model_id = [0, 1]\nsubtasks = ["find", "merge"]\naccess_list = [[], [0]]',
            }
        ],
    }


def test_a_supervised_row_is_the_better_plan_alone() -> None:
    pair, alone = (row_of(correction(), kind=kind, bare=True) for kind in ("preferences", "supervised"))
    assert isinstance(pair, dict)
    assert alone == {"prompt": pair["prompt"], "completion": pair["chosen"]}


def test_metadata_states_where_a_row_comes_from() -> None:
    planned = judged("n1")
    edited = judged("n2", "up")
    row = row_of(correction(planned_run=planned, edited_run=edited), kind="preferences")
    assert isinstance(row, dict)
    about = row["metadata"]
    assert (about["session"], about["planned_revision"], about["revision"]) == ("s", "r1", "r2")
    assert about["planner"] == {"name": "conductor", "kind": "model"}
    assert about["pool"] == {"label": None, "workers": list(WORKERS)}
    assert about["answers"] == {"planned": planned.model_dump(), "edited": edited.model_dump()}
    assert (about["better"], about["prompt_sent"], about["not_written"]) == ("edited", True, [])


@pytest.mark.parametrize(
    ("planned", "edited", "better"),
    [
        (None, None, "edited"),
        (None, "up", "edited"),
        ("down", None, "edited"),
        ("down", "up", "edited"),
        ("up", None, "edited"),
        ("up", "up", "edited"),
        ("up", "down", "planned"),
        (None, "down", None),
        ("down", "down", None),
    ],
)
def test_thumbs_decide_which_plan_is_the_better_one(
    planned: Thumbs | None, edited: Thumbs | None, better: str | None
) -> None:
    example = correction(planned_run=judged("n1", planned), edited_run=judged("n2", edited))
    row = row_of(example, kind="preferences")
    if better is None:
        assert isinstance(row, LeftOut)
        assert "thumbs down" in row.reason
        return
    assert isinstance(row, dict)
    assert row["metadata"]["better"] == better
    chosen, rejected = (
        parse(row[name][0]["content"], workers=WORKERS).workflow for name in ("chosen", "rejected")
    )
    assert (chosen, rejected) == ((EDITED, PLANNED) if better == "edited" else (PLANNED, EDITED))


PINNED = Output(fingerprint="f", text="so", worker="alpha", worker_kind="model", seconds=1.0, run="n", step=0)


@pytest.mark.parametrize(
    "edited",
    [
        PLANNED,
        PLANNED.with_sampling(0, Sampling(temperature=0.1)),
        PLANNED.with_pin(0, PINNED),
        PLANNED.with_sight_of_previous(1, True),
    ],
)
def test_what_no_plan_states_makes_no_row(edited: Workflow) -> None:
    row = row_of(correction(edited=edited), kind="preferences")
    assert row == LeftOut(reason="it changes nothing that a plan contains")


def test_tools_are_in_both_plans_where_the_prompt_listed_them() -> None:
    knows = PlanPrompt(messages=MESSAGES, workers=WORKERS, max_steps=5, tools=(("web",), ()))
    edited = PLANNED.with_tools(0, [])
    row = row_of(correction(prompt=knows, edited=edited), kind="preferences")
    assert isinstance(row, dict)
    assert row["chosen"][0]["content"].endswith("\ntools = [[], null]")
    assert row["rejected"][0]["content"].endswith("\ntools = [null, null]")
    assert row["metadata"]["not_written"] == []
    row = row_of(correction(edited=edited), kind="preferences")
    assert row == LeftOut(reason="it changes nothing that a plan contains")
    row = row_of(correction(edited=EDITED.with_tools(0, [])), kind="preferences")
    assert isinstance(row, dict)
    assert row["metadata"]["not_written"] == ["the tools of step 1"]


def test_what_has_no_place_in_a_plan_is_named_beside_what_has() -> None:
    edited = EDITED.with_sampling(0, Sampling(temperature=0.1)).with_pin(1, PINNED)
    row = row_of(correction(edited=edited), kind="preferences")
    assert isinstance(row, dict)
    assert row["metadata"]["not_written"] == [
        "the sampling parameters of step 1",
        "the pinned output of step 2",
    ]


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ({"edited": PLANNED.with_worker(0, "gamma")}, "gamma"),
        ({"prompt": PlanPrompt(messages=MESSAGES, workers=WORKERS, max_steps=1)}, "the limit is 1"),
        (
            {
                "dialect": "binary",
                "edited": PLANNED.add_step(Step(instruction="end", worker="beta", access=(1,))),
            },
            "no words",
        ),
    ],
)
def test_a_plan_that_was_not_allowed_is_left_out_and_states_why(values: dict[str, Any], detail: str) -> None:
    row = row_of(correction(**values), kind="preferences")
    assert isinstance(row, LeftOut)
    assert "in the required form" in row.reason
    assert detail in row.detail


def test_without_what_was_asked_there_is_no_row() -> None:
    row = row_of(correction(prompt=None), kind="supervised")
    assert isinstance(row, LeftOut)
    assert "did not store the prompt" in row.reason


def test_a_later_rounds_plan_may_show_the_round_before() -> None:
    prompt = PlanPrompt(messages=MESSAGES, workers=WORKERS, max_steps=5, round=2, form="json")
    planned = PLANNED.with_sight_of_previous(1, True)
    row = row_of(correction(prompt=prompt, planned=planned, edited=PLANNED), kind="preferences", bare=True)
    assert isinstance(row, dict)
    text = row["rejected"][0]["content"]
    assert '"access": ["all"]' in text
    assert parse(text, workers=WORKERS, round=2).workflow == planned


@pytest.mark.parametrize(("thumbs", "label"), [("up", True), ("down", False)])
def test_a_judged_plan_is_a_row_without_a_pair(thumbs: Thumbs, label: bool) -> None:
    prompt = PlanPrompt(messages=MESSAGES, workers=WORKERS, max_steps=5)
    about = {"plan": "p", "planner": "c", "planner_kind": "model", "dialect": "any"}
    plan = JudgedPlan(
        session="s",
        query="Why?",
        prompt=prompt,
        revision="r",
        workflow=PLANNED,
        edited=False,
        run=judged("a", thumbs),
        **about,
    )
    row = judged_row_of(plan)
    assert isinstance(row, dict)
    assert (row["label"], row["prompt"][1]["content"]) == (label, "Why?")
    assert parse(row["completion"][0]["content"], workers=WORKERS).workflow == PLANNED
    assert (row["metadata"]["answer"]["thumbs"], row["metadata"]["edited"]) == (thumbs, False)
    assert set(judged_row_of(plan, bare=True)) == {"prompt", "completion", "label"}
    assert isinstance(judged_row_of(plan.model_copy(update={"prompt": None})), LeftOut)
