"""`plan` shows what would be done and does nothing; `export` writes it to a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.orchestration.runtime import Runtime
from conductor.planner import rule_planner
from conductor.planner.rule_planner import Ruling, StepDraft
from conductor.workflow.file import read_plan
from storage import SessionStore
from tests.studio.cli.command_line import Line
from tests.support.runs.conductor_cases import ScriptedConductor

pytestmark = pytest.mark.slow


def test_a_person_reads_the_rule_the_shape_and_the_steps(line: Line) -> None:
    result = line("plan", "Compare the capitals of France and Germany.")
    assert result.code == 0
    assert result.out.startswith("Rule: comparison. ")
    assert "fan-out, 3 steps" in result.out
    assert "  1. smol: What is France known for?" in result.out
    assert "(sees 1, 2)" in result.out
    assert result.err.startswith("(simulated, no model is called)\n")


def test_a_program_reads_the_plan_its_session_and_label(line: Line) -> None:
    result = line("plan", "Compare France and Japan", "--max-steps", "3", "--json")
    shape = json.loads(result.out)
    assert result.code == 0
    assert (shape["ok"], shape["errors"], shape["repairs"]) == (True, [], [])
    assert shape["label"] == "simulated, no model is called"
    assert shape["findings"] == []
    assert [step["worker"] for step in shape["workflow"]["steps"]] == ["smol", "smol", "smol"]
    assert [step["worker_index"] for step in shape["workflow"]["steps"]] == [0, 0, 0]
    assert [step["access"] for step in shape["workflow"]["steps"]] == [[], [], [0, 1]]


def test_a_lower_limit_gives_a_shorter_plan(line: Line) -> None:
    shape = json.loads(line("plan", "Compare France and Japan", "--max-steps", "1", "--json").out)
    assert len(shape["workflow"]["steps"]) == 1


def test_a_named_planner_writes_the_plan_in_the_conductors_place(line: Line) -> None:
    orchard = ("--pool", "orchard", "--json")
    shape = json.loads(line("plan", "2 + 2", "--planner", "baseline:moa:layers=2", *orchard).out)
    workers = [step["worker"] for step in shape["workflow"]["steps"]]
    assert workers == ["facts", "letters", "solver", "checker", "generalist", "text", "facts"]
    voted = json.loads(line("run", "What is 2 + 2?", "--planner", "baseline:vote", *orchard).out)
    assert voted["answer"].endswith("4")
    assert [step["worker_index"] for step in voted["workflow"]["steps"]] == [0, 1, 2, 3, 4, 5, None]
    refused = line("plan", "2 + 2", "--planner", "moa:turns=2")
    assert (refused.code, refused.out) == (1, "")
    assert "takes no 'turns'" in refused.err


def test_what_the_plan_check_finds_is_a_line_each_and_no_reason_to_fail(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = (
        StepDraft("Look it up."),
        StepDraft("Answer from what you know."),
        StepDraft("Give the answer.", (0,)),
    )
    monkeypatch.setattr(rule_planner, "rule_for", lambda *_, **__: Ruling("rash", "No time.", drafts))
    result = line("plan", "Who was it?")
    warning = "conductor: warning: No step reads step 2, so its work cannot reach the answer.\n"
    assert result.code == 0
    assert warning in result.err
    result = line("plan", "Who was it?", "--json")
    assert result.err == warning
    assert json.loads(result.out)["findings"] == [
        {
            "rule": "unread-output",
            "step": 1,
            "severity": "warning",
            "sentence": "No step reads step 2, so its work cannot reach the answer.",
            "fixes": ["Let step 3 read step 2", "Remove step 2"],
        }
    ]


def test_a_plan_is_exported_with_its_pool_and_label(line: Line, folder: Path, simulated: str) -> None:
    session = json.loads(line("plan", "2 + 2", "--json").out)["session"]
    printed = line("export", session)
    read = read_plan(printed.out)
    assert printed.code == 0
    assert (read.query, read.origin) == ("2 + 2", "conductor")
    assert read.pool.label == "simulated, no model is called"
    assert read.pool.workers == ("smol", "calculator")
    result = line("export", session, "-o", "plan.json", "--json")
    assert json.loads(result.out) == {"session": session, "file": "plan.json"}
    assert (folder / "plan.json").read_text(encoding="utf-8") == printed.out
    assert line("export", session, "--pool", simulated).out == printed.out, "the pool of now is another one"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["export", "nobody"], "no session 'nobody'"),
        (["plan", " "], "The query is empty"),
    ],
)
def test_what_cannot_be_planned_or_exported_is_one_sentence(
    line: Line, arguments: list[str], reason: str
) -> None:
    result = line(*arguments)
    assert (result.code, result.out) == (1, "")
    assert reason in result.err


def test_a_file_that_cannot_be_written_is_named(line: Line) -> None:
    session = json.loads(line("plan", "2 + 2", "--json").out)["session"]
    result = line("export", session, "-o", "none/plan.json")
    assert result.code == 1
    assert result.err == "conductor: none/plan.json cannot be written: No such file or directory.\n"


def test_alternatives_stand_beside_each_other_and_equal_ones_are_marked(line: Line) -> None:
    result = line("plan", "What is 17 * 23?", "--alternatives", "3")
    assert result.code == 0
    assert result.out.startswith("Alternative 1: single, 1 step\n  ○ 1. calculator: ")
    assert result.out.count("the same plan as alternative 1.") == 2
    assert result.err.startswith("(simulated, no model is called)\n")


def test_a_program_reads_each_alternative(line: Line) -> None:
    shape = json.loads(line("plan", "2 + 2", "--alternatives", "2", "--json").out)
    first, second = shape["alternatives"]
    assert (first["number"], first["same_as"], first["ok"], first["failure"]) == (1, None, True, None)
    assert (second["number"], second["same_as"]) == (2, 1)
    assert first["workflow"] == second["workflow"]
    # None of them is the session's workflow.
    assert "no workflow yet" in line("export", shape["session"]).err


def test_one_of_the_alternatives_is_used(line: Line) -> None:
    session = json.loads(line("plan", "2 + 2", "--alternatives", "2", "--json").out)["session"]
    none = line("plan", "--session", session, "--use", "3")
    assert (none.code, "has no alternative 3; it has 2, from 1" in none.err) == (1, True)
    used = line("plan", "--session", session, "--use", "2")
    assert (used.code, used.out) == (0, "single, 1 step\n  ○ 1. calculator: 2 + 2\n")
    assert used.err.endswith(f"; next: python -m conductor run --session {session[:8]}\n")
    assert line("run", "--session", session).code == 0


@pytest.mark.parametrize("count", ["1", "6"])
def test_too_few_or_too_many_alternatives_are_wrong_arguments(line: Line, count: str) -> None:
    result = line("plan", "2 + 2", "--alternatives", count)
    assert result.code == 2
    assert "Invalid value for '--alternatives': Input should be " in result.err


@pytest.fixture
def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session whose process died while its Conductor was asked."""
    with SessionStore.open(f"sqlite:///{folder / 'data' / 'conductor.db'}") as store:
        session = store.sessions.create("What is 17*23?").id
        with monkeypatch.context() as patched:
            patched.setattr(store.processes.lock, "owner", "a store whose process died")
            store.plans.begin("p", session, planner="c", planner_kind="model")
    return session


def test_a_session_whose_planning_was_interrupted_is_planned_again(line: Line, interrupted: str) -> None:
    assert "interrupted" in line("sessions", "list").out
    result = json.loads(line("plan", "--session", interrupted[:6], "--json").out)
    assert (result["session"], result["ok"]) == (interrupted, True)
    assert "planned" in line("sessions", "list").out


def test_a_session_whose_planning_was_interrupted_is_planned_and_run(line: Line, interrupted: str) -> None:
    result = line("run", "--session", interrupted)
    assert result.code == 0
    assert "391" in result.out
    assert "no workflow yet; the Conductor is asked for one" in result.err


@pytest.mark.parametrize("arguments", [[], ["why?", "--session", "abcd"]])
def test_a_plan_is_of_a_query_or_of_a_session(line: Line, arguments: list[str]) -> None:
    result = line("plan", *arguments)
    assert result.code == 2
    assert "give a query or --session ID" in result.err


CHANGED = "model_id = [0]\nsubtasks = ['Say it.']\naccess_list = [[]]"


def changeable(line: Line, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session whose plan of three steps the pool's Conductor changes to one of one step."""
    session = json.loads(line("plan", "Compare France and Japan", "--json").out)["session"]
    conductor = ScriptedConductor((CHANGED,))
    monkeypatch.setattr(Runtime, "planner_for", lambda *_: conductor)
    return str(session)


def test_changes_are_asked_for_in_words_printed_and_taken_by_their_numbers(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = changeable(line, monkeypatch)
    proposal = line("plan", "--session", session, "--change", "one step, no verifier")
    assert proposal.code == 0
    assert proposal.out.startswith("1. ")
    assert "remove step 1" in proposal.out
    assert "nothing is changed yet" in proposal.err
    refused = line("plan", "--session", session, "--take", "9")
    assert (refused.code, "no change '9'" in refused.err) == (1, True)
    change = line("plan", "--session", session, "--take", "all")
    assert (change.code, change.out) == (0, "Revision 2: Took “one step, no verifier”\n")
    again = line("plan", "--session", session, "--leave")
    assert (again.code, "No change is open" in again.err) == (1, True)
    rows = line("export", "corrections", "--kind", "revisions").out.splitlines()
    assert [json.loads(row)["metadata"]["wish"] for row in rows] == ["one step, no verifier"]


def test_an_answer_that_changes_nothing_makes_no_revision(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = changeable(line, monkeypatch)
    for wish in ("one step", "one step, please"):
        proposal = line("plan", "--session", session, "--change", wish)
        take = line("plan", "--session", session, "--take", "all")
    assert proposal.out.startswith("The Conductor changes nothing.\n")
    assert "--take" not in proposal.err
    assert (take.code, take.out) == (1, "")
    assert "there is no change to take" in take.err


def test_a_change_that_is_left_changes_nothing_and_is_read_by_programs(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = changeable(line, monkeypatch)
    shape = json.loads(line("plan", "--session", session, "--change", "one step", "--json").out)
    assert (shape["wish"], len(shape["steps"]), len(shape["changes"])) == ("one step", 1, 4)
    left = json.loads(line("plan", "--session", session, "--leave", "--json").out)
    assert (left["change"], left["decision"]) == (shape["change"], "left")


def test_the_offline_rules_name_what_they_cannot_do(line: Line) -> None:
    session = json.loads(line("plan", "2 + 2", "--json").out)["session"]
    refused = line("plan", "--session", session, "--change", "no verifier")
    assert (refused.code, refused.out) == (1, "")
    assert "cannot change a plan from words" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "2 + 2", "--change", "more"),
        ("plan", "--session", "0", "--alternatives", "2", "--change", "more"),
        ("plan", "--session", "0", "--take", "all", "--leave"),
        ("plan", "--session", "0", "--use", "1", "--leave"),
        ("plan", "2 + 2", "--use", "1"),
    ],
)
def test_what_does_not_go_together_is_refused(line: Line, arguments: tuple[str, ...]) -> None:
    assert line(*arguments).code == 2
