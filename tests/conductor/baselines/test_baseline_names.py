"""What baselines are called where people read, and the words that they may be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.baselines.named import label_of, planner_named, with_prompt
from conductor.baselines.options import OURS, Options, digest_of, texts_of
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.errors import PlanError
from conductor.evaluation.report import planner_name
from conductor.planner.conductor import Planned, PlanRequest
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow

POOL = Pool(workers=(SimulatedWorker("a"), SimulatedWorker("b")))

LABELS = [
    ("conductor", "conductor", "Conductor"),
    ("worker:gpt", "worker:gpt", "gpt"),
    ("baseline:moa", "baseline:moa", "Mixture-of-Agents"),
    ("baseline:masrouter", "baseline:masrouter (not fitted)", "MasRouter (not fitted)"),
    (
        "baseline:masrouter:mode=chain",
        "baseline:masrouter:mode=chain (not fitted)",
        "MasRouter (not fitted), mode=chain",
    ),
    (
        "baseline:masrouter:fitted=m.json",
        "baseline:masrouter:fitted=m.json",
        "MasRouter, fitted=m.json",
    ),
    ("baseline:trinity", "baseline:trinity (fixed order)", "Trinity (fixed order)"),
    (
        "baseline:self-consistency:gpt",
        "baseline:self-consistency:gpt",
        "Self-consistency, gpt",
    ),
    ("baseline:rules", "baseline:rules", "Rules"),
]


@pytest.mark.parametrize(("name", "label", "title"), LABELS)
def test_a_baseline_carries_what_it_is_in_its_name(name: str, label: str, title: str) -> None:
    assert label_of(name) == label
    assert planner_name(name) == title


async def test_a_plan_names_what_it_falls_short_of() -> None:
    items = [item async for item in planner_named("baseline:trinity").stream(request())]
    assert getattr(items[0], "text", "").startswith("Trinity (fixed order): ")


def request() -> PlanRequest:
    return PlanRequest(query="why?", workers=tuple(worker.card for worker in POOL.workers))


# -- words ----------------------------------------------------------------------------------------------


def test_a_file_takes_the_place_of_our_words(tmp_path: Path) -> None:
    plain, table = tmp_path / "moa.txt", tmp_path / "all.toml"
    plain.write_text("Combine them.\n\nResponses from models:\n", encoding="utf-8")
    table.write_text('[trinity]\nthink = "T"\n[reflect]\nreview = "R"\n', encoding="utf-8")
    assert texts_of("moa", None) == OURS["moa"]
    assert texts_of("moa", str(plain)) == {"aggregate": "Combine them.\n\nResponses from models:"}
    assert texts_of("reflect", str(table)) == {"review": "R"}
    assert texts_of("trinity", str(table)) == {**OURS["trinity"], "think": "T"}
    assert digest_of(str(plain)) != digest_of(str(table))


@pytest.mark.parametrize(
    ("method", "name", "text", "reason"),
    [
        ("trinity", "a.txt", "Be one.", "has think, work, verify; write them as TOML"),
        ("moa", "a.toml", "[moa", "is no TOML"),
        ("moa", "a.toml", '[reflect]\nreview = "x"', "has no texts for moa"),
        ("moa", "a.toml", "[moa]\naggregate = 1", "has no texts for moa"),
        ("moa", "a.toml", '[moa]\nother = "x"', "there is no other; there are aggregate"),
        ("moa", "a.txt", " \n", "has 0 characters"),
        ("moa", "a.txt", "x" * 100_001, "has 100,001 characters"),
        ("moa", "a.txt", b"\xff", "it is no UTF-8 text"),
        ("moa", "a.txt", None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    tmp_path: Path, method: str, name: str, text: str | bytes | None, reason: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PlanError, match=reason):
        texts_of(method, str(path))


async def workflow_of(name: str) -> Workflow:
    items = [item async for item in planner_named(name).stream(request())]
    return next(item.workflow for item in items if isinstance(item, Planned))


def answered(text: str) -> Output:
    return Output(
        fingerprint=text, text=text, worker="a", worker_kind="simulated", seconds=0, run="r", step=0
    )


async def test_workers_are_sent_the_files_words_and_one_head_of_the_list(tmp_path: Path) -> None:
    path = tmp_path / "moa.txt"
    path.write_text("Combine them.\n\nResponses from models:", encoding="utf-8")
    workflow = await workflow_of(f"baseline:moa:layers=2,prompt={path}")
    assert workflow.steps[-1].instruction == "Combine them.\n\nResponses from models:"
    bound = BoundWorkflow.of(workflow, query="why?", pool=POOL)
    outputs = {at: answered(text) for at, text in enumerate(("one", "two"))}
    system = bound.request(2, outputs).messages[0].content
    assert system == "Combine them.\n\nResponses from models:\n1. one\n2. two"


def test_a_prompt_goes_behind_the_names_of_the_planners_that_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[moa]\naggregate = "A"\n[trinity]\nwork = "W"\n', encoding="utf-8")
    names = ["conductor", "worker:a", "baseline:moa:layers=2", "baseline:trinity", "baseline:reflect:a"]
    assert with_prompt(names, str(path)) == [
        "conductor",
        "worker:a",
        f"baseline:moa:layers=2,prompt={path}",
        f"baseline:trinity:prompt={path}",
        "baseline:reflect:a",
    ]
    with pytest.raises(PlanError, match="has no texts for reflect"):
        with_prompt(["baseline:reflect:a"], str(path))
    with pytest.raises(PlanError, match="No planner of these takes a prompt; these do: baseline:reflect"):
        with_prompt(["conductor", "baseline:vote"], str(path))


def test_only_a_person_at_this_machine_may_name_the_file() -> None:
    assert Options(prompt="words").names_file
    assert Options(fitted="f.json").names_file
    assert not Options(fitted="f").names_file
