"""`run` answers a query or a file, for people and for programs; its exit code is the run's outcome."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import pytest

from conductor.files.project_folder import own_store
from conductor.runs.events import EVENT, RunFinished, StepStarted
from conductor.runs.state import fold
from conductor.values.budget import Budget
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from tests.studio.cli.command_line import Line, Result, process
from tests.support.cases.attached_files import pdf
from tests.support.endpoints.failing_endpoint import answers
from tests.support.processes.terminal import in_terminal
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

FACT = "What is the capital of France?"
PAIR = workflow_of((), (0,)).with_worker(1, "beta")


def written(workflow: Workflow, folder: Path, *, query: str | None = "why?") -> str:
    file = folder / "plan.json"
    text = write_plan(workflow, query=query, origin="human", workers=workflow.workers(), label=None)
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_person_reads_the_answer_and_that_no_model_was_called(line: Line) -> None:
    result = line("run", "What is 17 * 23?", "--pool", "built-in")
    assert result.code == 0
    assert result.out == "17 * 23 = 391\nAnswer: 391\n"
    assert "[1/1] calculator is done" in result.err
    last = result.err.splitlines()[-2:]
    assert last[0] == "(offline, no model is called)"
    assert re.fullmatch(
        r"conductor: session \w{8}; change it: python -m conductor edit \w{8} --pool built-in", last[1]
    )


def test_a_run_without_an_answer_has_an_exit_code_of_its_own_and_is_found_by_it(line: Line) -> None:
    result = line("run", "What is 1 / 0?")
    assert result.code == 3
    assert result.out.startswith("No answer: This divides by 0")
    assert "[1/1] calculator has no answer" in result.err
    assert "conductor: the run finished without an answer" in result.err
    result = line("run", "5!!!! / 0", "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["status"], shape["answered"]) == (3, "finished", False)
    assert [step["answered"] for step in shape["steps"]] == [False]
    assert line("run", FACT).code == 0
    listed = json.loads(line("sessions", "list", "--state", "unanswered", "--json").out)
    assert [each["state"] for each in listed["sessions"]] == ["unanswered"] * 2
    assert "no answer" in line("sessions", "list").out


def test_outside_a_project_this_users_own_store_is_made(line: Line, simulated: str, folder: Path) -> None:
    shutil.rmtree(folder / "data")
    assert line("run", written(PAIR, folder), "--pool", simulated).code == 0
    with SessionStore.open(f"sqlite:///{own_store()}") as store:
        assert store.sessions.count() == 1


def test_a_program_reads_one_json_object(line: Line) -> None:
    result = line("run", "What is 17 * 23?", "--json")
    assert (result.code, result.err) == (0, "")
    shape = json.loads(result.out)
    assert {"answer", "session", "run", "workflow", "steps", "usage"} <= set(shape)
    assert "391" in shape["answer"]
    assert shape["label"] == "offline, no model is called"
    [step] = shape["steps"]
    assert {"index", "worker", "status", "output", "usage", "seconds", "request_id"} <= set(step)
    assert (step["index"], step["worker"], step["status"]) == (0, "calculator", "finished")
    assert step["output"] == shape["answer"]
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0}
    assert shape["usage"] == {**nothing, "total_tokens": 0, "known": nothing}, "no request was made"
    assert [set(each) for each in shape["workflow"]["steps"]] == [
        {"instruction", "worker", "worker_index", "access"}
    ]


def test_events_are_json_lines_that_fold_to_the_run(line: Line, simulated: str, folder: Path) -> None:
    result = line("run", "--workflow", written(PAIR, folder), "--pool", simulated, "--events")
    events = [EVENT.validate_json(text) for text in result.out.splitlines()]
    assert result.code == 0
    assert isinstance(events[-1], RunFinished)
    state = fold(events)
    assert (state.status, state.answer, state.query) == ("finished", "from beta", "why?")


def test_events_of_a_query_begin_with_its_planning(line: Line) -> None:
    types = [json.loads(text)["type"] for text in line("run", FACT, "--events").out.splitlines()]
    assert types[0] == "planning_started"
    assert types.index("workflow_planned") < types.index("run_started") < types.index("run_finished")


def test_a_failed_run_exits_with_1_and_keeps_what_it_has(line: Line, simulated: str, folder: Path) -> None:
    workflow = workflow_of((), (), (0, 1)).with_instruction(0, "a bad one").with_worker(1, "beta")
    result = line("run", "--workflow", written(workflow, folder), "--pool", simulated, "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["status"], shape["answer"]) == (1, "failed", None)
    assert [step["status"] for step in shape["steps"]] == ["failed", "finished", "blocked"]
    assert shape["steps"][0]["error"] == "alpha was set to fail on this call."
    assert shape["steps"][1]["output"] == "from beta"


def test_a_person_reads_why_a_run_failed(line: Line, simulated: str, folder: Path) -> None:
    workflow = workflow_of(()).with_instruction(0, "a bad one")
    result = line("run", "--workflow", written(workflow, folder), "--pool", simulated)
    assert (result.code, result.out) == (1, "")
    assert "failed: alpha was set to fail" in result.err
    assert "conductor: the run failed; there is no answer." in result.err


def test_an_exported_plan_runs_again(line: Line, folder: Path) -> None:
    session = json.loads(line("run", FACT, "--json").out)["session"]
    assert line("export", session, "--output", "plan.json").code == 0
    text = (folder / "plan.json").read_text(encoding="utf-8")
    exported = json.loads(line("export", session[:8], "shorter.json", "--json").out)
    assert (exported["session"], (folder / "shorter.json").read_text(encoding="utf-8")) == (session, text)
    again = json.loads(line("run", "--workflow", "plan.json", "--json").out)
    assert again["status"] == "finished"
    assert again["session"] != session
    assert again["answer"]


def test_a_query_beside_a_file_counts_over_the_files_own(line: Line, simulated: str, folder: Path) -> None:
    file = written(PAIR, folder)
    result = line("run", "how?", "--workflow", file, "--pool", simulated, "--events")
    assert json.loads(result.out.splitlines()[0])["query"] == "how?"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run"], "give a query, --workflow FILE, or --session ID"),
        (["run", "q", "--json", "--events"], "choose one of --json and --events"),
        (["run", "q", "--nonsense"], "No such option: --nonsense"),
    ],
)
def test_wrong_arguments_exit_with_2(line: Line, arguments: list[str], reason: str) -> None:
    result = line(*arguments)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", ""], "The query is empty"),
        (["run", "x" * 100_000], "100,000 characters; the limit is 50,000"),
        (["run", "--workflow", "nope.json"], r"nope\.json cannot be read: No such file"),
        (["run", "--workflow", "."], "cannot be read: Is a directory"),
        (["run", "--workflow", "/dev/zero"], "more than 10,000,000 bytes, the most for a workflow file"),
        (["run", "--workflow", "text.txt"], "The file is not JSON"),
        (["run", "--workflow", "unasked.json"], "The file names no query"),
        (["run", "--workflow", "strange.json"], "needs alpha, beta, which this pool does not have"),
        (["run", "q", "--pool", "nope.toml"], r"nope\.toml cannot be read: No such file or directory\."),
        (["run", "q", "--pool", "/dev/zero"], "more than 1,000,000 bytes, the most for a pool file"),
        (["run", "q", "--pool", "key.toml"], r"key\.toml, line 4: worker 1, sped: unknown key"),
        (["run", "q", "--pool", "twice.toml"], r"twice\.toml, line 6: a second worker is named 'a'"),
        (["run", "q", "--database", "sqlite:///text.txt"], "is not a database"),
        (
            ["run", "q", "--database", "sqlite:////proc/none/a.db"],
            "The folder of the store .* cannot be made",
        ),
        (["run", "q", "--database", "sqlite:////proc/self/a.db"], r"The store /proc/self/a\.db cannot be"),
        (["run", "q", "--database", "nonsense"], "names no database"),
    ],
)
def test_an_error_is_one_sentence_and_exits_with_1(
    line: Line, arguments: list[str], reason: str, folder: Path
) -> None:
    (folder / "text.txt").write_text("hello", encoding="utf-8")
    Path(written(PAIR, folder, query=None)).rename(folder / "unasked.json")
    (folder / "unasked.json").write_text(
        (folder / "unasked.json")
        .read_text(encoding="utf-8")
        .replace('"alpha"', '"smol"')
        .replace('"beta"', '"smol"'),
        encoding="utf-8",
    )
    Path(written(PAIR, folder)).rename(folder / "strange.json")
    worker = '[[worker]]\nkind = "simulated"\nname = "a"\n'
    (folder / "key.toml").write_text(f"{worker}sped = 3\n", encoding="utf-8")
    (folder / "twice.toml").write_text(worker * 2, encoding="utf-8")
    result = line(*arguments)
    assert (result.code, result.out) == (1, "")
    assert re.fullmatch(r"conductor: [^\n]+\n", result.err)
    assert re.search(reason, result.err)


def test_only_debug_shows_where_an_error_comes_from(line: Line) -> None:
    assert "Traceback" not in line("run", "").err
    assert "Traceback" in line("run", "", "--debug").err


@pytest.mark.thorough
def test_an_interrupt_stops_the_run_and_keeps_what_is_done(folder: Path) -> None:
    slow = '[[worker]]\nkind = "simulated"\nname = "alpha"\nanswer = "kept"\n'
    slow += '[[worker]]\nkind = "simulated"\nname = "beta"\nlatency = 60\n'
    (folder / "slow.toml").write_text(slow, encoding="utf-8")
    arguments = ("run", "--workflow", written(PAIR, folder), "--pool", "slow.toml", "--events")
    with process(*arguments, folder=folder) as running:
        assert running.stdout is not None
        lines = []
        for text in running.stdout:
            lines.append(text)
            event = EVENT.validate_json(text)
            if isinstance(event, StepStarted) and event.step == 1:
                running.send_signal(signal.SIGINT)
        err = running.communicate(timeout=60)[1]
    state = fold(EVENT.validate_json(text) for text in lines)
    assert running.returncode == 130
    assert re.fullmatch(r"stopping\nconductor: session \w{8}; again: .*\n", err)
    assert state.status == "cancelled"
    assert [(step.status, step.text) for step in state.steps] == [("finished", "kept"), ("cancelled", "")]
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert fold(store.runs.events(state.run)) == state


@pytest.mark.thorough
def test_a_killed_run_is_resumed_from_what_it_had_finished(line: Line, folder: Path) -> None:
    slow = '[[worker]]\nkind = "simulated"\nname = "alpha"\nanswer = "kept"\n'
    slow += '[[worker]]\nkind = "simulated"\nname = "beta"\nanswer = "late"\nlatency = {}\n'
    (folder / "slow.toml").write_text(slow.format(60), encoding="utf-8")
    arguments = ("run", "--workflow", written(PAIR, folder), "--pool", "slow.toml", "--events")
    with (
        process(*arguments, folder=folder) as running,
        SessionStore.open("sqlite:///data/conductor.db") as store,
    ):
        listed = until(store.sessions.listed)
        until(lambda: store.runs.outputs(listed[0].id), what="the first step is kept")
        running.kill()
        running.communicate(timeout=60)
    (folder / "slow.toml").write_text(slow.format(0), encoding="utf-8")
    result = line("run", "--session", listed[0].id, "--pool", "slow.toml")
    assert (result.code, result.out) == (0, "late\n")
    assert result.err.startswith("conductor: 1 of 2 steps will run, 1 reused, ~")
    assert "\n[1/2] alpha's output is reused\n" in result.err
    again = line("run", "--session", listed[0].id, "--pool", "slow.toml").err
    assert again.startswith("conductor: Nothing to run: every step's output is known.\n")


@pytest.mark.thorough
def test_a_reader_who_leaves_does_not_stop_the_run(folder: Path, simulated: str) -> None:
    arguments = ("run", "--workflow", written(PAIR, folder), "--pool", simulated, "--events")
    with process(*arguments, folder=folder) as running:
        running.stdout.close()
        err = running.stderr.read()
        assert running.wait(timeout=60) == 0
    assert re.fullmatch(r"conductor: session \w{8}; change it: .*\n", err)


@pytest.mark.thorough
def test_a_terminal_shows_who_works_until_all_is_done(folder: Path, simulated: str) -> None:
    arguments = ("run", "--workflow", written(PAIR, folder), "--pool", simulated)
    with in_terminal(*arguments, folder=folder, variables={}) as terminal:
        assert terminal.end() == 0
        text, screen = terminal.text, terminal.screen
    assert re.search(r"[⠀-⣿] step 1: alpha 0:00:0", text)
    assert "[1/2] alpha works\n" in text
    # The answer stands there once, as it came.
    assert "chain, 2 steps\n  ○ 1. alpha: task 1\n" in text
    assert re.search(r"from beta\n\[2/2\] beta is done, [0-9.]+ s\nconductor: this session", text)
    assert text.count("from beta") == 1
    assert re.search(r"\(simulated, no model is called\)\nconductor: session .*\n$", text)
    # The cursor is hidden while they are shown, and back at the end.
    assert screen.rindex(b"\x1b[?25h") > screen.rindex(b"\x1b[?25l")


def test_a_dry_run_calls_and_stores_nothing(line: Line, folder: Path, simulated: str) -> None:
    file = written(PAIR, folder)
    session = json.loads(line("run", "--workflow", file, "--pool", simulated, "--json").out)["session"]
    changed = folder / "changed.json"
    changed.write_text(Path(file).read_text().replace("task 2", "another task"))
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        for arguments, sentence in {
            ("--workflow", file): "All 2 steps will run",
            ("--session", session): "Nothing to run: every step's output is known.",
            ("--session", session, "--workflow", str(changed)): "1 of 2 steps will run, 1 reused",
            ("--session", session, "--all"): "All 2 steps will run",
            ("What is 2 + 2?", "--planner", "worker:alpha"): "The step will run",
        }.items():
            result = line("run", *arguments, "--dry-run", "--pool", simulated)
            assert (result.code, sentence in result.out, result.err) == (0, True, ""), arguments
        assert store.sessions.count() == 1
        assert len(store.revisions.of_session(session)) == 1
        assert len(store.runs.of_session(session)) == 1
    shape = json.loads(line("run", "--workflow", file, "--dry-run", "--pool", simulated, "--json").out)
    assert shape["estimate"]["calls"] == 2


def test_quiet_leaves_what_failed_alone(line: Line, folder: Path, simulated: str) -> None:
    written_pair = written(PAIR, folder)
    good = line("run", "--workflow", written_pair, "--pool", simulated, "-q")
    assert (good.code, good.out, good.err) == (0, "from beta\n", "")
    written_bad = written(workflow_of(()).with_instruction(0, "bad"), folder)
    bad = line("run", "--workflow", written_bad, "--pool", simulated, "-q")
    assert bad.code == 1
    assert re.fullmatch(r"\[1/1\] failed: .*\nconductor: the run failed; there is no answer.\n", bad.err)


@pytest.fixture
def chain(line: Line, folder: Path, simulated: str) -> tuple[Line, str]:
    """A line on a simulated pool, and the session of a chain of three that it has run."""

    def on_pool(*arguments: str) -> Result:
        return line(*arguments, "--pool", simulated)

    file = written(workflow_of((), (0,), (1,)), folder)
    return on_pool, json.loads(on_pool("run", "--workflow", file, "--json").out)["session"]


@pytest.mark.parametrize(
    ("scope", "statuses"),
    [
        ([], ["reused", "reused", "reused"]),
        (["--all"], ["finished", "finished", "finished"]),
        (["--from", "2"], ["reused", "finished", "finished"]),
        (["--to", "2"], ["reused", "reused", "waiting"]),
        (["--only", "3"], ["waiting", "preloaded", "finished"]),
    ],
)
def test_a_session_runs_again_as_far_as_asked(
    chain: tuple[Line, str], scope: list[str], statuses: list[str]
) -> None:
    line, session = chain
    result = line("run", "--session", session, *scope, "--json")
    assert result.code == 0
    assert [step["status"] for step in json.loads(result.out)["steps"]] == statuses


def test_a_session_runs_again_by_the_beginning_of_its_id(chain: tuple[Line, str]) -> None:
    line, session = chain
    assert json.loads(line("run", "--session", session[:4], "--json").out)["session"] == session


@pytest.mark.parametrize("command", [["run", "--session"], ["export"]])
def test_what_names_no_session_is_refused(line: Line, command: list[str]) -> None:
    result = line(*command, "aaa")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("conductor: 'aaa' is too short for a session's id")


def test_a_session_that_runs_again_keeps_its_settings_but_for_those_named(chain: tuple[Line, str]) -> None:
    line, session = chain
    changes = ("--budget-seconds", "600", "--budget-calls", "1", "--mode", "mini", "--exclude", "beta")
    result = line("run", "--session", session, "--all", "--json", *changes)
    shape = json.loads(result.out)
    assert (result.code, shape["status"], shape["budget_crossed"]) == (1, "over_budget", "calls")
    again = json.loads(line("run", "--session", session, "--budget-calls", "9", "--json").out)
    assert again["status"] == "finished"
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        settings = store.sessions.find(session).settings
    assert settings == Settings(
        max_steps=1, economical=True, workers=("alpha",), budget=Budget(seconds=600, calls=9)
    )


def test_a_pinned_step_whose_inputs_changed_is_named(line: Line, folder: Path, simulated: str) -> None:
    pin = Output(
        fingerprint="of-other inputs",
        text="So it was.",
        worker="beta",
        worker_kind="simulated",
        seconds=1.0,
        run="",
        step=1,
    )
    file = written(PAIR.with_pin(1, pin), folder)
    result = line("run", "--workflow", file, "--pool", simulated)
    assert "conductor: step 2 is pinned, and its inputs changed; unpin it" in result.err
    shape = json.loads(line("run", "--workflow", file, "--pool", simulated, "--json").out)
    assert [step["pinned_inputs_changed"] for step in shape["steps"]] == [False, True]


def test_what_a_first_run_takes_is_estimated_before_it(line: Line, folder: Path, simulated: str) -> None:
    file = written(PAIR, folder)
    err = line("run", "--workflow", file, "--pool", simulated).err.splitlines()
    about = next(result for result in err if result.startswith("conductor: All 2 steps will run, ~"))
    # How fast a simulated worker answers is not known before its first answer.
    assert about.endswith(" tokens, assuming 400 tokens per answer.")
    assert err.index(about) < err.index("[1/2] alpha works")
    assert " will run.\n" in line("run", "What is 17 * 23?").err, "no amount is known"


def test_planning_counts_in_the_budget_of_a_run(line: Line) -> None:
    result = line("run", FACT, "--budget-calls", "1", "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["status"], shape["budget_crossed"]) == (1, "over_budget", "calls")
    assert {step["status"] for step in shape["steps"]} == {"waiting"}


def test_of_a_part_the_output_is_printed_and_marked_as_no_answer(chain: tuple[Line, str]) -> None:
    line, session = chain
    steps = json.loads(line("run", "--session", session, "--json").out)["steps"]
    result = line("run", "--session", session, "--to", "2")
    assert (result.code, result.out) == (0, steps[1]["output"] + "\n")
    assert "this is what step 2 gave" in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--session", "x", "why?"], "give --session alone"),
        (["--session", "x", "--all", "--to", "1"], "choose one of --from, --to, --only and --all"),
    ],
)
def test_a_run_that_is_not_clear_is_refused(line: Line, arguments: list[str], reason: str) -> None:
    outcome = line("run", *arguments)
    assert outcome.code == 2
    assert reason in outcome.err


def test_a_step_that_is_not_there_is_an_error(chain: tuple[Line, str]) -> None:
    line, session = chain
    result = line("run", "--session", session, "--only", "7")
    assert (result.code, result.out) == (1, "")
    assert "There is no step 7" in result.err


KEYLESS = '[[worker]]\nname = "keyless"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
KEYLESS += 'api_key_env = "NO_SUCH_API_KEY"\n'
FACTS = '[[worker]]\nkind = "simulated"\nname = "facts"\nanswer = "Paris"\n'
UNSET = "NO_SUCH_API_KEY is not set; export it, or write it into .streamlit/secrets.toml."


def test_a_worker_without_its_key_stops_only_what_uses_it(line: Line, folder: Path) -> None:
    pool = folder / "pair.toml"
    pool.write_text(KEYLESS + FACTS, encoding="utf-8")
    result = line("run", FACT, "--pool", str(pool))
    assert (result.code, "Paris" in result.out) == (0, True)
    assert f"conductor: keyless is not offered to the Conductor: {UNSET}\n" in result.err
    left_out = line("run", FACT, "--pool", str(pool), "--workers", "facts")
    assert (left_out.code, "keyless" in left_out.err) == (0, False)
    named = line("run", FACT, "--pool", str(pool), "--workers", "keyless,facts")
    assert (named.code, named.err) == (1, f"conductor: keyless cannot be used: {UNSET}\n")
    assigned = workflow_of((), (0,)).with_worker(0, "facts").with_worker(1, "keyless")
    failed = line("run", "--workflow", written(assigned, folder), "--pool", str(pool))
    assert failed.code == 1
    assert f"keyless: {UNSET}" in failed.err


def test_a_run_waits_at_a_gate_and_goes_on_later(line: Line, simulated: str, folder: Path) -> None:
    trio = workflow_of((), (0,), (0, 1))
    result = line("run", "--workflow", written(trio, folder), "--pause-before", "2", "--pool", simulated)
    assert result.code == 4
    assert result.out == ""
    assert "waiting before step 2; alpha would be sent:" in result.err
    assert "task 2" in result.err
    session = re.search(r"run --session (\w+) .*--continue", result.err)
    assert session is not None
    again = line("run", "--session", session[1], "--pool", simulated)
    assert again.code == 4
    done = line("run", "--session", session[1], "--continue", "--pool", simulated)
    assert done.code == 0, done.err
    assert done.out
    rerun = line("run", "--session", session[1], "--pool", simulated)
    assert rerun.code == 0
    assert "step 2 was reused, so the run did not wait before it" in rerun.err
    none = line("run", "--session", session[1], "--continue", "--pool", simulated)
    assert none.code == 1
    assert "No run of this session waits at a gate" in none.err


@pytest.mark.parametrize("arguments", [["why?", "--continue"], ["--session", "abcd", "--continue", "--all"]])
def test_continue_is_for_a_session_alone(line: Line, arguments: list[str]) -> None:
    result = line("run", *arguments)
    assert result.code == 2
    assert "--continue goes on" in result.err


def test_a_file_is_attached_to_the_query(line: Line, simulated: str, folder: Path) -> None:
    (folder / "report.pdf").write_bytes(pdf("The river has 6650 km."))
    options = ("--file", "report.pdf", "--pool", simulated, "--json")
    result = line("run", "How long?", *options)
    session = json.loads(result.out)["session"]
    with SessionStore.open(f"sqlite:///{folder}/data/conductor.db") as store:
        (file,) = store.sessions.find(session).earlier_conversation.files
    assert (file.name, file.text) == ("report.pdf", "The river has 6650 km.")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["why?"], 1, "The file 'notes.txt' is not attached: it is neither a text"),
        (["--session", "abcd"], 2, "--file goes with a QUERY alone"),
    ],
)
def test_a_file_that_cannot_be_attached_is_refused(
    line: Line, folder: Path, arguments: list[str], code: int, reason: str
) -> None:
    (folder / "notes.txt").write_bytes(b"\0")
    result = line("run", *arguments, "--file", "notes.txt")
    assert (result.code, reason in result.err) == (code, True)


def test_a_gate_before_a_step_that_is_not_there_is_refused(line: Line, simulated: str, folder: Path) -> None:
    result = line("run", "--workflow", written(PAIR, folder), "--pause-before", "7", "--pool", simulated)
    assert result.code == 1
    assert "There is no step 7; this workflow has 2." in result.err


def test_samples_stay_what_they_were_in_a_run_by_the_session(line: Line, folder: Path) -> None:
    sample = Step(instruction="Solve it.", worker="model")
    join = Step(instruction="Join.", worker="model", access=(0, 1, 2))
    with numbering_model() as (url, prompts):
        pool = folder / "samples.toml"
        pool.write_text(f'[[worker]]\nname = "model"\nmodel = "m"\nbase_url = "{url}"\nstrengths = "s"\n')
        file = written(Workflow.of([sample, sample, sample, join]), folder)
        first = json.loads(line("run", "--workflow", file, "--pool", str(pool), "--json").out)
        again = json.loads(line("run", "--session", first["session"], "--pool", str(pool), "--json").out)
        assert len(prompts) == 4
    assert len({step["output"] for step in first["steps"]}) == 4
    assert [step["output"] for step in again["steps"]] == [step["output"] for step in first["steps"]]
    assert [step["status"] for step in again["steps"]] == ["reused"] * 4
    assert not any(step["of_equal_step"] for step in again["steps"])


@contextmanager
def numbering_model() -> Iterator[tuple[str, list[str]]]:
    """A model on the loopback address that numbers its answers; its base URL, and the prompts so far."""
    prompts: list[str] = []
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with lock:
                prompts.append(body)
                number = len(prompts)
            answers(f"sample {number}")(self)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", prompts
        server.shutdown()
