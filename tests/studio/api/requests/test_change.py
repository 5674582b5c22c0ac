"""A client has the Conductor change a workflow in words before it runs."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.simulated import SimulatedWorker
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text

ONE = plan_text((0, "Write.", "[]"))
TWO = plan_text((0, "Write.", "[]"), (1, "Check.", '["all"]'))
WISH = "let beta check it"


def ask(client: OpenAI, *, model: str = "conductor", **steering: Any) -> Any:
    return client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Why?"}], extra_body={"conductor": steering}
    )


def played(stage: Stage, *plans: str) -> ScriptedConductor:
    workers = (SimulatedWorker(name="alpha", answer="draft"), SimulatedWorker(name="beta", answer="checked"))
    return stage.plays(*workers, plans=plans)


@pytest.fixture
def written(stage: Stage, client: OpenAI) -> Any:
    """What an answer with a workflow of one step has about itself; the step waits for no person."""
    played(stage, ONE)
    return ask(client).conductor


def test_the_workflow_of_the_request_is_changed_and_run(stage: Stage, client: OpenAI, written: Any) -> None:
    workflow = written["workflow"]
    workflow["steps"][0]["sampling"]["temperature"] = 0.3
    workflow["steps"][0]["on_failure"] = {"retries": 2}
    conductor = played(stage, TWO)
    answer = ask(client, workflow=workflow, change=f" {WISH} ")
    change = conductor.requests[0].change
    assert change is not None
    assert (change.wish, len(change.workflow)) == (WISH, 1)
    assert answer.choices[0].message.content == "checked"
    first, second = answer.conductor["workflow"]["steps"]
    assert (first["sampling"]["temperature"], first["on_failure"]["retries"]) == (0.3, 2)
    assert second["worker"] == "beta"
    assert answer.conductor["rounds"] == 1


def test_a_stored_workflow_is_changed_in_a_session_of_its_own(
    stage: Stage, client: OpenAI, written: Any
) -> None:
    played(stage, TWO)
    answer = ask(client, model=f"workflow:{written['session']}", change=WISH)
    assert answer.conductor["session"] != written["session"]
    assert len(stage.workbench.required_head(written["session"]).workflow) == 1
    assert len(stage.workbench.required_head(answer.conductor["session"]).workflow) == 2


def test_a_conductor_that_gives_no_valid_plan_is_asked_once(
    stage: Stage, client: OpenAI, written: Any
) -> None:
    conductor = played(stage, "no plan", TWO)
    with pytest.raises(openai.APIStatusError) as refused:
        ask(client, workflow=written["workflow"], change=WISH)
    assert refused.value.code == "no_workflow"
    assert len(conductor.requests) == 1


def test_the_offline_rules_refuse_with_their_reason(stage: Stage, client: OpenAI, written: Any) -> None:
    stage.plays(SimulatedWorker(name="alpha"), plans=OfflineConductor())
    with pytest.raises(openai.APIStatusError, match="cannot change a plan") as refused:
        ask(client, workflow=written["workflow"], change=WISH)
    assert refused.value.code == "no_workflow"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "there is no workflow to change"),
        ({"model": "worker:alpha"}, "there is no workflow to change"),
        ({"given": True, "change": " "}, "The change is empty"),
        ({"given": True, "change": "x" * 4_001}, "conductor.change"),
        ({"given": True, "change": 3}, "conductor.change"),
    ],
)
def test_what_cannot_be_changed_is_refused_by_name(
    client: OpenAI, written: Any, settings: dict[str, Any], reason: str
) -> None:
    workflow = {"workflow": written["workflow"]} if settings.pop("given", False) else {}
    with pytest.raises(openai.BadRequestError, match=reason) as refused:
        ask(client, **{"change": WISH, **workflow, **settings})
    assert refused.value.param == "conductor.change"
