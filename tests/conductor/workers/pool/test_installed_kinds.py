"""Workers and Conductors of installed packages in a pool file: what is refused, and with which words."""

from __future__ import annotations

import asyncio

import pytest

from conductor.errors import PoolError
from conductor.workers.health.probe import examine, targets
from conductor.workers.pool.pool import Pool, parse_pool
from tests.support.processes.installed_package import Install

CODE = """
from conductor import WorkerCard
from conductor.workers.pool.table import PlannerTable, WorkerTable

class Made:
    def __init__(self, name):
        self.card = WorkerCard(name=name, kind="offline", strengths="", model="made")
    async def stream(self, request):
        raise KeyError("no such thing")
        yield

class Mine(WorkerTable):
    way: str = "right"
    def build(self):
        return {
            "right": lambda: Made(self.name),
            "other name": lambda: Made("x"),
            "nothing": lambda: None,
            "raises": lambda: 1 / 0,
        }[self.way]()

class Plans(PlannerTable):
    way: str = "right"
    build = Mine.build

class Bare(WorkerTable):
    way: str = "right"

function = print
"""
ENTRY_POINTS = {
    "conductor.workers": {
        "mine": "my_kinds:Mine",
        "plain": "my_kinds:function",
        "bare": "my_kinds:Bare",
        "local": "my_kinds:Plans",
    },
    "conductor.planners": {"plans": "my_kinds:Plans", "worker": "my_kinds:Mine"},
}
WORKER = '[[worker]]\nname = "a"\nkind = "{kind}"\nway = "{way}"\n'
PLANNER = '[[worker]]\nname = "a"\nkind = "simulated"\n\n[conductor]\nkind = "{kind}"\nway = "{way}"\n'


@pytest.fixture(autouse=True)
def package(install: Install) -> None:
    install("my-kinds", ENTRY_POINTS, code=CODE)


def health_of(pool: Pool, role: str) -> str:
    async def last() -> str:
        target = next(each for each in targets(pool) if each.role == role)
        return [health async for health in examine(target, lambda _: None)][-1].findings[-1].sentence

    return asyncio.run(last())


@pytest.mark.parametrize(
    ("text", "kind", "way", "line", "reason"),
    [
        (WORKER, "mine", "other name", 3, "its card has the name 'x', not 'a'"),
        (WORKER, "mine", "nothing", 3, "AttributeError: 'NoneType' object has no attribute 'card'"),
        (WORKER, "mine", "raises", 3, "ZeroDivisionError: division by zero"),
        (
            WORKER,
            "plain",
            "right",
            3,
            "'plain' of the package my-kinds 1.2 cannot be used: it is not a subclass",
        ),
        (WORKER, "bare", "right", 3, "it has no method build"),
        (WORKER, "other", "right", 3, "or the kind of an installed package, which `conductor plugins` lists"),
        (WORKER, "plans", "right", 3, "or the kind of an installed package, which `conductor plugins` lists"),
        (PLANNER, "plans", "nothing", 6, "AttributeError: 'NoneType' object has no attribute 'card'"),
        (PLANNER, "plans", "raises", 6, "ZeroDivisionError: division by zero"),
        (PLANNER, "worker", "right", 6, "it is not a subclass of conductor.workers.pool.table.PlannerTable"),
        (PLANNER, "mine", "right", 6, "or the kind of an installed package, which `conductor plugins` lists"),
    ],
)
def test_a_kind_that_does_not_work_is_refused_at_its_line(
    text: str, kind: str, way: str, line: int, reason: str
) -> None:
    with pytest.raises(PoolError) as raised:
        parse_pool(text.format(kind=kind, way=way))
    assert (raised.value.line, raised.value.key) == (line, "kind")
    assert reason in str(raised.value)


def test_a_worker_that_raises_any_error_fails_its_examination() -> None:
    pool = parse_pool(WORKER.format(kind="mine", way="right"))
    assert health_of(pool, "worker").startswith("KeyError: 'no such thing'")


def test_a_conductor_that_only_plans_is_asked_nothing_and_named_in_the_label() -> None:
    pool = parse_pool(PLANNER.format(kind="plans", way="right"))
    assert health_of(pool, "conductor") == "Not known: it plans and answers no question."
    assert pool.label == "simulated workers; the Conductor is of an installed package"


def test_a_model_may_fall_back_to_a_worker_of_a_package() -> None:
    model = '[[worker]]\nname = "b"\nbase_url = "http://localhost:1/v1"\nmodel = "m"\nfallback = "a"\n'
    pool = parse_pool(model + WORKER.format(kind="mine", way="right"))
    assert pool.names == ("b", "a")
