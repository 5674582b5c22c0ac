"""`evaluate` answers a data set with several planners, prints the table, and is a gate for a team's CI."""

from __future__ import annotations

import importlib.util
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from studio.cli.evaluation import commands
from tests.studio.cli.command_line import Line

QUESTIONS = [
    ("What is 6 * 7?", "42", "product"),
    ("What is 6 + 7?", "13", "sum"),
    ("What is the capital of France?", "Paris", "fact"),
    *((f"What is {n} * 11?", str(n * 11), "product") for n in range(2, 9)),
]


POOL = """
[[worker]]
name = "mathematics"
kind = "calculator"

[[worker]]
name = "facts"
kind = "simulated"
answer = "Paris"
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    """The questions, and beside them a pool of a worker that computes and one that knows a fact."""
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    lines = [
        json.dumps({"id": at, "input": question, "target": target, "metadata": {"category": category}})
        for at, (question, target, category) in enumerate(QUESTIONS)
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    return str(file)


@pytest.mark.thorough
@pytest.mark.slow
def test_an_evaluation_is_run_listed_read_and_compared(line: Line, data: str) -> None:
    refused = line("evaluate", "run", data)
    assert refused.code == 1
    assert "Line 11 of questions.jsonl is no item: it is not JSON" in refused.err
    planners = ("-p", "worker:facts", "-p", "worker:mathematics", "-p", "baseline:vote")
    result = line("evaluate", "run", data, "--skip-broken", "--json", *planners)
    assert "line 11 is left out" in result.err
    assert "571 questions detect a difference of 5 points" in result.err
    shape = json.loads(result.out)
    assert (result.code, shape["failure"]) == (0, None)
    right = {row["planner"]: row["right"] for row in shape["planners"]}
    assert right == {"worker:facts": 1, "worker:mathematics": 9, "baseline:vote": 10, "perfect router": 10}
    assert shape["categories"]["product"]["worker:mathematics"] == {"right": 8, "of": 8, "questions": 8}
    id = shape["evaluation"]
    table = line("evaluate", "table", id).out
    assert table.splitlines()[0].split()[:2] == ["planner", "right"]
    assert "worker:mathematics: 1 answer declined." in table
    lines = [each.split() for each in table.splitlines()]
    assert ["worker:facts", "10", "0.00", "facts", "100%", "single", "10"] in lines
    assert ["planner", "product", "sum", "fact"] in lines
    assert ["worker:facts", "0.000", "0.000", "1.000"] in lines
    assert line("evaluate", "table", id, "--form", "csv").out.startswith("planner,questions,answers,right")
    assert (
        r"worker:facts & 0.100 & 0.018--0.404 & 10 &" in line("evaluate", "table", id, "--form", "latex").out
    )
    assert line("evaluate", "table", id, "--form", "html").out.startswith("<!doctype html>")
    published = json.loads(line("evaluate", "table", id, "--published", "--json").out)
    assert published["published"][0]["accuracy"] == 77.27
    assert [row["planner"] for row in published["planners"]] == [row["name"] for row in published["planners"]]
    beside = line("evaluate", "table", id, "--published").out
    assert (
        beside.index("worker:mathematics")
        < beside.index("Published, not measured here")
        < beside.index("11,203")
    )
    for form in ("csv", "latex", "html"):
        refused = line("evaluate", "table", id, "--published", "--form", form)
        assert (refused.code, refused.out) == (1, "")
        assert f"leave it out for --form {form}" in refused.err
    gate = line("evaluate", "table", id, "--fail-if-beaten-by", "worker:mathematics")
    assert gate.code == 1
    assert "worker:mathematics is better than worker:facts" in gate.err
    assert line("evaluate", "resume", id, "--json", "--budget-calls", "500").code == 0
    apart = json.loads(line("evaluate", "compare", id, "worker:facts", "worker:mathematics", "--json").out)
    (fact, *sums) = apart["disagreements"]
    assert (fact["question"], fact["right"]) == ("What is the capital of France?", "worker:facts")
    assert len(sums) == 9
    session = json.loads(line("sessions", "show", fact["sessions"]["worker:facts"], "--json").out)
    assert session["session"]["query"] == "What is the capital of France?"
    listed = json.loads(line("evaluate", "list", "--json").out)["evaluations"]
    assert [evaluation["id"] for evaluation in listed] == [id]
    twice = line(
        "evaluate", "run", data, "--skip-broken", "--json", "-p", "worker:facts", "-p", "baseline:vote"
    )
    second = json.loads(twice.out)["evaluation"]
    (facts, *_) = json.loads(line("evaluate", "compare", id, second, "--json").out)["planners"]
    assert (facts["planner"], facts["first"], facts["second"]) == (
        "worker:facts",
        *[{"right": 1, "of": 10, "questions": 10}] * 2,
    )
    assert facts["difference"]["difference"] == 0
    assert "worker:facts" in line("evaluate", "compare", id, second).out
    seeded = line("evaluate", "run", data, "--skip-broken", "--json", "--seed", "5", "-p", "worker:facts")
    refused = line("evaluate", "compare", id, json.loads(seeded.out)["evaluation"])
    assert (refused.code, "they differ in the order of choices (seed)" in refused.err) == (1, True)
    fitted = json.loads(line("evaluate", "fit", id, "baseline:routerdc", "--out", "r.json", "--json").out)
    assert fitted == {
        "file": "r.json", "planner": "baseline:routerdc:fitted=r.json", "questions": 10,
        "workers": ["facts", "mathematics"], "encoder": "TF-IDF",
    }  # fmt: skip
    added = line("evaluate", "resume", id, "-p", "baseline:routerdc:fitted=r.json")
    assert added.code == 0
    assert "fitted on 10 of these 10 questions, which are no test of it" in added.out
    planned = line("plan", "What is 9 * 11?", "--planner", "baseline:routerdc:fitted=r.json", "--json")
    assert json.loads(planned.out)["workflow"]["steps"][0]["worker"] == "mathematics"
    assert "must end in .json" in line("evaluate", "fit", id, "baseline:routerdc", "--out", "r").err
    unknown = line("evaluate", "compare", id, "worker:facts", "worker:nobody")
    assert (unknown.code, "has no planner 'worker:nobody'" in unknown.err) == (1, True)


@pytest.mark.slow
def test_a_set_is_asked_for_by_its_name_and_read_from_a_file_of_the_user(line: Line, tmp_path: Path) -> None:
    sets = {each["name"]: each for each in json.loads(line("evaluate", "sets", "--json").out)["sets"]}
    assert sets["gpqa"]["licence"] == "CC-BY-4.0"
    assert "GPQA-Diamond" in line("evaluate", "sets").out
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps({"problem": "What is 6 * 7?", "answer": "42", "id": "1"}), encoding="utf-8")
    result = line("evaluate", "run", "AIME25", "--file", str(file), "--json", "-p", "worker:calculator")
    shape = json.loads(result.out)
    assert (shape["spec"]["data"], shape["planners"][0]["questions"]) == ("aime25", 1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("gpqa",), "GPQA-Diamond is not shipped: download gpqa_diamond.csv from https://"),
        (("gpqa", "--file", "x.csv", "--hub"), "not both"),
        (("gpqa", "--file", "x.csv", "--column", "id=ID"), "leave --column out"),
        (("x.jsonl", "--hub"), "'x.jsonl' is no set by name"),
        (("paper960",), "drawn from math500, mmlu, rlpr, livecodebench"),
        (("paper960", "--file", "no-folder"), "no-folder has 0 files math500.*: put test.jsonl there"),
        (("x.csv", "--encoding", "no-such"), "'no-such' is no encoding"),
    ],
)
def test_a_set_without_one_source_is_refused(line: Line, options: tuple[str, ...], reason: str) -> None:
    refused = line("evaluate", "run", *options)
    assert (refused.code, reason in refused.err) == (1, True), refused.err


@pytest.mark.thorough
@pytest.mark.slow
def test_a_gate_that_names_no_planner_is_refused_before_anything_is_called(line: Line, data: str) -> None:
    options = ("-p", "worker:mathematics", "--skip-broken")
    refused = line("evaluate", "run", data, *options, "--fail-if-beaten-by", "worker:mathematic")
    assert refused.code == 1
    assert "has no planner 'worker:mathematic'; it has worker:mathematics. Nothing was called" in refused.err
    (id,) = re.findall(r"evaluate resume (\w+)", refused.err)
    shape = json.loads(line("evaluate", "table", id, "--form", "json").out)
    assert [row["questions"] for row in shape["planners"]] == [0]
    resumed = line("evaluate", "resume", id, "--fail-if-beaten-by", "worker:mathematics")
    assert resumed.code == 0, resumed.err


@pytest.mark.thorough
@pytest.mark.slow
def test_a_changed_workflow_is_held_against_the_one_that_it_came_from(
    line: Line, data: str, tmp_path: Path
) -> None:
    """As a team's CI does it: two files of the repository, the changed one first."""
    files = {}
    for name, worker in (("changed", "facts"), ("main", "mathematics")):
        plan = {
            "format": "conductor-workflow", "version": 1,
            "steps": [{"instruction": "Answer.", "worker": worker}],
        }  # fmt: skip
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        files[name] = f"plan:{file}"
    planners = ("-p", files["changed"], "-p", files["main"], "--skip-broken")
    gate = line("evaluate", "run", data, *planners, "--fail-if-beaten-by", files["main"], "--json")
    assert gate.code == 1
    assert "is better than" in gate.err
    shape = json.loads(gate.out)
    assert [row["planner"] for row in shape["planners"]] == list(files.values())
    assert [each["source"] for each in shape["spec"]["given"]] == ["changed.json", "main.json"]
    better = ("-p", files["main"], "-p", files["changed"], "--skip-broken")
    assert line("evaluate", "run", data, *better, "--fail-if-beaten-by", files["changed"]).code == 0
    first = line("evaluate", "run", data, "-p", files["main"], "--skip-broken", "--json")
    added = line("evaluate", "resume", json.loads(first.out)["evaluation"], "-p", files["changed"], "--json")
    assert [row["planner"] for row in json.loads(added.out)["planners"]] == list(files.values())[::-1]
    missing = line("evaluate", "run", data, "--skip-broken", "-p", "plan:nowhere.json")
    assert (missing.code, "nowhere.json" in missing.err) == (1, True)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_workflow_is_tried_without_its_edges_and_steps_and_with_other_workers(
    line: Line, data: str, tmp_path: Path
) -> None:
    plan = {
        "format": "conductor-workflow", "version": 1,
        "steps": [
            {"instruction": "Answer.", "worker": "facts"},
            {"instruction": "Answer.", "worker": "mathematics", "access": [0]},
        ],
    }  # fmt: skip
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    options = (str(file), data, "--skip-broken", "--edges", "--steps")
    forecast = line("evaluate", "trials", *options, "--forecast")
    assert "3 variants on 5 answers each: at most 20 calls" in forecast.out
    assert json.loads(line("evaluate", "list", "--json").out)["evaluations"] == []
    shape = json.loads(line("evaluate", "trials", *options, "--json").out)
    trials = shape["trials"]
    assert [each["edits"] for each in trials["variants"]] == [
        [{"kind": "edge", "read": 0, "reader": 1}], [{"kind": "step", "step": 0}],
        [{"kind": "step", "step": 1}],
    ]  # fmt: skip
    assert trials["variants"][2]["accuracy"]["difference"] < 0
    assert (trials["base"], trials["margin"], trials["measure"]) == (f"plan:{file}", 0.05, "tokens")
    text = line("evaluate", "table", shape["evaluation"]).out
    assert "without 1 → 2" in text
    assert "No variant that takes less tokens was shown to be not worse. These are too few" in text
    assert line("evaluate", "trials", *options, "--margin", "2").code == 2
    whose = json.loads(line("evaluate", "run", data, "--skip-broken", "--json", "-p", "baseline:vote").out)
    plans = json.loads(
        line("evaluate", "trials-of", whose["evaluation"], "baseline:vote", "--access", "--json").out
    )
    assert plans["trials"]["variants"][0]["accuracy"]["difference"] < 0
    unknown = line("evaluate", "trials-of", whose["evaluation"], "conductor")
    assert (unknown.code, "has no planner 'conductor'" in unknown.err) == (1, True)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_demo_needs_neither_a_key_nor_a_pool_nor_a_planner(line: Line) -> None:
    result = line("evaluate", "run", "demo", "--limit", "18", "--json")
    assert "on the pool 'orchard'" in result.err
    shape = json.loads(result.out)
    assert (result.code, shape["failure"], shape["spec"]["data"]) == (0, None, "demo")
    rows = {row["planner"]: row for row in shape["planners"]}
    workers = [row for name, row in rows.items() if name.startswith("worker:")]
    mixture, router = rows["baseline:moa:aggregator=generalist"], rows["perfect router"]
    assert len(workers) == 6
    assert {row["questions"] for row in rows.values()} == {18}
    assert all(row["work_tokens"] > 0 for row in workers)
    # Mixture-of-Agents pays many times what a worker does, and in this world no router solves everything.
    assert mixture["work_tokens"] > 10 * max(row["work_tokens"] for row in workers)
    assert max(row["right"] for row in workers) < router["right"] < 18
    assert router["right"] >= mixture["right"] > 0
    again = line("evaluate", "resume", shape["evaluation"], "--json")
    assert (again.code, "'facts' is not as it was" in again.err) == (1, True)
    done = line("evaluate", "resume", shape["evaluation"], "--pool", "orchard", "--json")
    assert json.loads(done.out)["planners"] == shape["planners"]


def test_a_shipped_set_takes_no_file_of_the_user(line: Line) -> None:
    result = line("evaluate", "run", "demo", "--column", "input=Question")
    assert (result.code, "read by its name alone" in result.err) == (1, True)
    assert "demo: 300 questions of the orchard" in line("evaluate", "sets").out


@pytest.mark.slow
def test_a_judge_is_named_where_one_is_needed_and_is_a_model(line: Line, data: str) -> None:
    run = ("evaluate", "run", data, "--skip-broken", "-p", "worker:mathematics")
    for options, message in (
        (("--scorer", "judge"), "name the worker that judges with --judge"),
        (("--scorer", "judge", "--judge", "mathematics"), "'mathematics' calls no model and judges nothing"),
        (("--judge", "facts"), "No question is scored by a judge"),
    ):
        refused = line(*run, *options)
        assert (refused.code, message in refused.err) == (1, True), refused.err


@pytest.mark.slow
def test_answers_are_judged_by_the_worker_that_is_named(
    line: Line, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = tmp_path / "pool.toml"
    lines = (f'[[worker]]\nname = "{name}"\nkind = "simulated"\ntokens = 5\n' for name in ("one", "other"))
    pool.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    run = ("evaluate", "run", data, "--skip-broken", "--limit", "2", "-p", "worker:one", "--scorer", "judge")
    result = line(*run, "--judge", "other", "--json")
    shape = json.loads(result.out)
    assert shape["planners"][0]["unjudged"] == 2, "made-up words are no verdict"
    assert shape["planners"][0]["questions"] == 0
    table = line("evaluate", "table", shape["evaluation"]).out
    assert "worker:one: 2 answers not judged." in table
    assert "Judged by other; tokens a verdict: worker:one " in table


@pytest.mark.slow
def test_a_cluster_is_refused_for_a_store_in_a_file_before_anything_is_stored(line: Line, data: str) -> None:
    result = line("evaluate", "run", data, "--skip-broken", "-p", "worker:facts", "--ray", "127.0.0.1:6379")
    assert result.code == 1
    assert "A Ray cluster needs a store on PostgreSQL" in result.err
    assert json.loads(line("evaluate", "list", "--json").out) == {"evaluations": []}


@pytest.mark.slow
def test_evaluations_are_found_by_their_tags(line: Line, data: str) -> None:
    run = ("evaluate", "run", data, "--limit", "1", "--json", "-p", "worker:facts")
    first = json.loads(line(*run, "--tag", "nightly", "--tag", " facts ").out)
    assert first["spec"]["tags"] == ["facts", "nightly"]
    second = json.loads(line(*run, "--tag", "nightly").out)

    def listed(*tags: str) -> list[str]:
        options = [word for tag in tags for word in ("--tag", tag)]
        return [
            each["id"] for each in json.loads(line("evaluate", "list", "--json", *options).out)["evaluations"]
        ]

    assert listed("nightly") == [second["evaluation"], first["evaluation"]]
    assert listed("nightly", "facts") == [first["evaluation"]]
    assert "facts, nightly" in line("evaluate", "list").out
    assert line("evaluate", "list", "--tag", "weekly").out == "No evaluation has these tags.\n"
    assert "Tags: facts, nightly." in line("evaluate", "table", first["evaluation"], "--form", "html").out
    refused = line(*run, "--tag", " ")
    assert (refused.code, "--tag: a tag has 1 to 60 characters." in refused.err) == (1, True)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="the library is installed")
def test_an_export_names_the_library_that_it_needs(line: Line, data: str) -> None:
    run = line("evaluate", "run", data, "--limit", "1", "--json", "-p", "worker:facts")
    refused = line("evaluate", "export", json.loads(run.out)["evaluation"], "--to", "inspect")
    assert (refused.code, "pip install 'inspect-ai>" in refused.err) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--sequential",), "leave --sequential and --ray out"),
        (("--ray", "127.0.0.1:6379"), "leave --sequential and --ray out"),
        ((), "No worker of the pool is a model of an endpoint, so nothing is sent in batches"),
    ],
)
def test_batches_are_refused_where_they_make_no_sense(
    line: Line, data: str, more: tuple[str, ...], reason: str
) -> None:
    result = line("evaluate", "run", data, "--skip-broken", "--batch", "-p", "worker:facts", *more)
    assert (result.code, reason in result.err) == (1, True)
    assert json.loads(line("evaluate", "list", "--json").out) == {"evaluations": []}


@pytest.mark.slow
def test_a_budget_is_refused_on_a_cluster_before_anything_is_stored(
    line: Line, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "on_store_and_cluster", lambda *_: nullcontext())
    run = ("evaluate", "run", data, "--skip-broken", "-p", "worker:facts", "--ray", "127.0.0.1:6379")
    result = line(*run, "--budget-tokens", "100")
    assert result.code == 1
    assert "has a budget, which is counted in one process" in result.err
    assert json.loads(line("evaluate", "list", "--json").out) == {"evaluations": []}
