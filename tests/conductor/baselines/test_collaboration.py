"""MasRouter's modes are unrolled into the steps of the reference: who sees whom, in how many calls."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from conductor.baselines.collaboration import (
    MOST_AGENTS,
    TASKS,
    Agent,
    Chances,
    draw_group,
    mode_of,
    task_of,
    unrolled,
)
from conductor.baselines.options import MODES, Mode
from conductor.values.messages import Sampling
from conductor.workflow.model import Step, Workflow

GROUP = [Agent("beta", "Mathematician"), Agent("alpha", "Teacher"), Agent("beta", "Inspector")]


@pytest.mark.parametrize(
    ("mode", "access"),
    [
        ("io", [(), (), (), (0, 1, 2)]),
        ("cot", [(), (), (), (0, 1, 2)]),
        ("chain", [(), (0,), (1,), (0, 1, 2)]),
        ("full", [(), (0,), (0, 1), (0, 1, 2)]),
        ("debate", [(), (), (), (1, 2), (0, 2), (0, 1), (3, 4, 5)]),
        ("reflection", [(), (), (), (0,), (1,), (2,), (3, 4, 5)]),
    ],
)
def test_who_sees_whom_in_each_mode(mode: Mode, access: list[tuple[int, ...]]) -> None:
    workflow = unrolled("Math", mode, GROUP, Sampling(temperature=0.5))
    assert [step.access for step in workflow.steps] == access
    agents = ["beta", "alpha", "beta"]
    assert [step.worker for step in workflow.steps] == [*agents * (len(access) // 3), "beta"]
    assert workflow.steps[1].instruction.startswith("Teacher: Solve it in small steps")
    assert ("step by step" in workflow.steps[0].instruction) == (mode == "cot")
    assert all(step.sampling.temperature == 0.5 for step in workflow.steps)


@pytest.mark.parametrize("mode", MODES)
def test_a_workflows_mode_is_known_again(mode: Mode) -> None:
    draw = random.Random(2)
    for task in TASKS:
        _, agents = draw_group(task, ["a", "b"], Chances.alike(2), draw, mode=mode, agents=None)
        workflow = unrolled(task, mode, agents, Sampling(max_tokens=9))
        assert mode_of(workflow) == mode
        assert mode_of(workflow.with_sampling(0, Sampling(temperature=0.9))) == mode
        assert mode_of(workflow.with_instruction(len(workflow) - 1, "Decide.")) is None
    assert mode_of(Workflow.of([Step(instruction="Answer.", worker="a")])) is None


@pytest.mark.parametrize("mode", MODES)
def test_one_agent_and_six(mode: Mode) -> None:
    for count in (1, MOST_AGENTS):
        agents = [Agent(f"w{at}", "Programmer") for at in range(count)]
        calls = (2 if mode in ("debate", "reflection") else 1) * count + 1
        workflow = unrolled("Code", mode, agents, Sampling())
        assert len(workflow) == calls
        # Of workers that as many agents have, the first one decides.
        assert workflow.steps[-1].worker == "w0"


@pytest.mark.parametrize(
    ("query", "task"),
    [
        ("What is 17 * 23?", "Math"),
        ("Solve x^2 = 16 for x.", "Math"),
        ("Write a Python function that sorts a list.", "Code"),
        ("Who was the first person to reach the South Pole?", "Commonsense"),
        ("...", "Commonsense"),
    ],
)
def test_the_task_is_read_off_the_words(query: str, task: str) -> None:
    assert task_of(query) == task


def test_a_group_is_drawn_by_its_chances_and_kept_to_what_is_given() -> None:
    draw = random.Random(1)
    groups = [
        draw_group(
            "Math", ["a", "b", "c"], Chances([0, 3, 1, 0, 0, 0], [1, 0, 1]), draw, mode=None, agents=None
        )
        for _ in range(400)
    ]
    sizes = Counter(len(agents) for _, agents in groups)
    assert set(sizes) == {2, 3}
    assert 250 < sizes[2] < 350
    assert {agent.worker for _, agents in groups for agent in agents} == {"a", "c"}
    assert {mode for mode, _ in groups} == set(MODES)
    assert {agent.role for _, agents in groups for agent in agents} == set(TASKS["Math"].roles)
    # In the pool's order, whatever was drawn first.
    assert all(
        [each.worker for each in agents] == sorted(each.worker for each in agents) for _, agents in groups
    )
    held = [draw_group("Code", ["a"], Chances.alike(1), draw, mode="chain", agents=5) for _ in range(9)]
    assert {(mode, len(agents)) for mode, agents in held} == {("chain", 5)}
