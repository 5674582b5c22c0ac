"""`find-step` replaces outputs, ranks the steps, and refuses what could show nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.values.presets import Settings
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from tests.studio.cli.command_line import Line

pytestmark = pytest.mark.slow

PLAN = Workflow.of(
    [
        Step(instruction="Find it.", worker="alpha"),
        Step(instruction="Check it.", worker="alpha", access=(0,)),
        Step(instruction="Say it.", worker="alpha", access=(1,)),
    ]
)


@pytest.fixture
def session(line: Line, folder: Path, simulated: str) -> str:
    """A session whose workflow has run, each step with the answer of `alpha`."""
    file = folder / "plan.json"
    file.write_text(
        write_plan(PLAN, query="Where?", origin="human", workers=("alpha", "beta"), label=None),
        encoding="utf-8",
    )
    ran = line("run", "--workflow", str(file), "--pool", simulated, "--json")
    id: str = json.loads(ran.out)["session"]
    return id


def sought(line: Line, session: str, simulated: str, *more: str) -> tuple[int, str, str]:
    result = line("find-step", session, "--pool", simulated, *more)
    return result.code, result.out, result.err


def test_each_step_is_done_by_the_other_worker_and_the_one_that_turns_it_right_comes_first(
    line: Line, session: str, simulated: str
) -> None:
    code, out, err = sought(line, session[:6], simulated, "--answer", "from beta", "--worker", "beta")
    assert code == 0
    assert out.splitlines() == [
        "step 3, beta instead of alpha: the answer is right",
        "step 1, beta instead of alpha: the answer is still wrong",
        "step 2, beta instead of alpha: the answer is still wrong",
    ]
    assert "at most 3 runs, 6 calls" in err
    assert "A different output of step 3 makes the answer right." in err


def test_a_program_reads_the_ranking_with_the_control(line: Line, session: str, simulated: str) -> None:
    options = ("--answer", "beta", "--check", "contains", "--worker", "beta", "--step", "3", "--repeats", "2")
    shape = json.loads(sought(line, session, simulated, *options, "--json")[1])
    assert [(row["step"], row["worker"], row["right"], row["wrong"]) for row in shape["steps"]] == [
        (3, "beta", 2, 0),
        (None, None, 0, 2),
    ]
    assert shape["steps"][0]["beyond_chance"] is True


def test_a_forecast_runs_nothing(line: Line, session: str, simulated: str) -> None:
    options = ("--answer", "Paris", "--write", "1=Paris", "--forecast")
    code, out, _ = sought(line, session, simulated, *options)
    assert (code, out.startswith("At most 1 run, 2 calls")) == (0, True)
    assert json.loads(sought(line, session, simulated, *options, "--json")[1])["calls"] == 2
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert store.experiments.of_session(session) == ()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--worker", "beta"), 1, "Give the accepted answer"),
        (("--answer", "Paris"), 1, "Name who does the steps instead"),
        (("--answer", "Paris", "--step", "1"), 1, "Name who does the steps instead"),
        (("--answer", " ", "--worker", "beta"), 1, "The accepted answer is empty"),
        (("--answer", "Paris", "--worker", "zeta"), 1, "zeta"),
        (("--answer", "Paris", "--worker", "alpha"), 1, "does every step already"),
        (("--answer", "Paris", "--worker", "beta", "--step", "8"), 1, "There is no step 8"),
        (("--answer", "Paris", "--write", "3=Paris"), 1, "gives the answer itself"),
        (("--answer", "Paris", "--write", "Paris"), 2, "write STEP=TEXT"),
        (("--answer", "Paris", "--write", "0=Paris"), 1, "There is no step 0"),
        (("--answer", "Paris", "--worker", "beta", "--check", "number"), 1, "No answer can be"),
        (("--answer", "from alpha", "--worker", "beta"), 1, "is already right"),
    ],
)
def test_what_can_show_nothing_is_refused_with_what_to_do(
    line: Line, session: str, simulated: str, *, options: tuple[str, ...], code: int, message: str
) -> None:
    exit_code, _, err = sought(line, session, simulated, *options)
    assert (exit_code, message in " ".join(err.split())) == (code, True), err


def test_a_session_without_a_run_of_its_workflow_is_named(line: Line) -> None:
    planned = json.loads(line("plan", "What is 17 * 23?", "--json").out)["session"]
    result = line("find-step", planned, "--answer", "391", "--worker", "facts")
    assert (result.code, "run it first" in result.err) == (1, True)


@pytest.mark.parametrize(("scorer", "code"), [("exact", 0), ("judge", 1)])
def test_in_a_session_of_an_evaluation_its_question_has_the_accepted_answer(
    line: Line, folder: Path, simulated: str, scorer: str, code: int
) -> None:
    item = Item.model_validate({"id": "1", "input": "Where?", "target": "from beta", "scorer": scorer})
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        spec = EvaluationSpec(data="d", digest="d", planners=("a",), pool=(("alpha", "x"),))
        evaluation = store.evaluations.add(spec, [item])
        session = store.evaluations.begin_cell(
            evaluation.id,
            item=0,
            planner="a",
            repeat=0,
            query="Where?",
            settings=Settings(),
            pool_label=None,
            workflow=PLAN,
        )
    assert line("run", "--session", session, "--pool", simulated).code == 0
    exit_code, out, err = sought(line, session, simulated, "--worker", "beta")
    assert exit_code == code, err
    assert ("scored by 'judge'" in err) == (scorer == "judge")
    assert out.startswith("step 3, beta instead of alpha: the answer is right") == (scorer == "exact")
