"""What differs between runs and revisions, and what a step read, is read in the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conductor.values.output import SIMULATED_LABEL
from conductor.workflow.file import write_plan
from storage import SessionStore
from studio.cli.output import terminal
from tests.studio.cli.command_line import Line
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

TRIO = workflow_of((), (0,), (0, 1)).with_worker(1, "beta")


@pytest.fixture
def session(line: Line, folder: Path, simulated: str) -> str:
    """A session of three steps that ran; then the second one got the other worker."""
    (folder / "pool.toml").write_text(Path(simulated).read_text())
    text = write_plan(TRIO, query="why?", origin="human", workers=TRIO.workers(), label=None)
    (folder / "plan.json").write_text(text)
    shape = json.loads(line("run", "--workflow", "plan.json", "--json").out)
    assert line("set", "last", "--step", "2", "--worker", "alpha").code == 0
    assert line("run", "--session", "last").code == 0
    return str(shape["session"])


def test_what_a_step_read_and_gave_is_shown(line: Line, session: str) -> None:
    text = line("sessions", "show", session, "--step", "3").out
    assert "\nIt saw step 1, by alpha\nfrom alpha\n\nIt saw step 2, by alpha\nfrom alpha\n" in text
    assert text.endswith("\nAnswer\nfrom alpha\n")
    sent = line("sessions", "show", "last", "--step", "3", "--saw").out
    assert "\nSent, as user\n" in sent
    assert "task 3" in sent
    shape = json.loads(line("sessions", "show", "last", "-s", "3", "--json").out)
    assert [each["step"] for each in shape["seen"]] == [0, 1]
    assert (shape["status"], shape["output"], shape["failure"]) == ("finished", "from alpha", None)


def test_a_reused_step_shows_what_was_sent_where_it_ran(line: Line, session: str) -> None:
    shape = json.loads(line("sessions", "show", session, "--step", "1", "--json").out)
    assert shape["status"] == "reused"
    assert "task 1" in shape["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--step", "4"), "There is no step 4; the run"),
        (("--step", "1", "--run", "abcdef"), "There is no run 'abcdef'"),
        (("--saw",), "--saw and --run go with --step"),
    ],
)
def test_a_step_that_is_not_there_is_refused(
    line: Line, session: str, arguments: tuple[str, ...], reason: str
) -> None:
    result = line("sessions", "show", session, *arguments)
    assert result.code != 0
    assert reason in result.err


def test_a_failed_step_shows_its_reason(line: Line, session: str) -> None:
    line("set", session, "--step", "1", "--instruction", "bad")
    assert line("run", "--session", session).code == 1
    text = line("sessions", "show", "last", "--step", "1").out
    assert "\nWhy its worker gave no answer\n" in text
    assert text.endswith("\nNo answer.\n")


def test_a_session_shows_its_graph_with_where_each_step_is(line: Line, session: str) -> None:
    text = line("sessions", "show", session).out
    assert "  ○   1. alpha: task 1 [reused]\n  ├─● 2. alpha: task 2 (sees 1) [finished" in text


def test_what_no_served_model_wrote_is_labelled_wherever_it_is_printed(line: Line, session: str) -> None:
    for command in (("watch", session), ("sessions", "show", session, "--step", "3")):
        assert f"({SIMULATED_LABEL})\n" in line(*command).err
        assert json.loads(line(*command, "--json").out)["label"] == SIMULATED_LABEL
    assert line("compare", session).out.count(f", finished ({SIMULATED_LABEL})\n") == 2
    assert json.loads(line("compare", session, "--json").out)["old"]["label"] == SIMULATED_LABEL


def test_two_runs_are_compared_by_every_name_they_have(line: Line, session: str) -> None:
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        new, old = store.runs.of_session(session)
    texts = {
        line("compare", *arguments).out
        for arguments in (
            ("last",), (session[:8],), (old.id, new.id), (old.id[:8], session),
            (session, "--revision", "1", "2"),
        )
    }  # fmt: skip
    assert len(texts) == 1
    text = texts.pop()
    assert "1. change step 2 (worker)\n   - beta: task 2 (sees 1)\n   + alpha: task 2 (sees 1)\n" in text
    assert text.endswith("\nStep 2\nfrom [-beta-]{+alpha+}\n")
    shape = json.loads(line("compare", old.id, new.id, "--json").out)
    assert (shape["old"]["revision"], shape["new"]["revision"], shape["same_answer"]) == (1, 2, True)
    assert [step["same_output"] for step in shape["steps"]] == [True, False, True]


def test_a_revision_that_never_ran_is_compared_by_its_workflow_alone(line: Line, session: str) -> None:
    assert line("set", session, "--step", "2", "--worker", "beta").code == 0
    text = line("compare", session, "--revision", "2", "3").out
    assert f"revision 3 of {session[:8]}, not run\n" in text
    assert text.endswith("   - alpha: task 2 (sees 1)\n   + beta: task 2 (sees 1)\n")


def test_colours_are_forced_and_refused(line: Line, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "from \x1b[31mbeta\x1b[0m\x1b[32malpha\x1b[0m" in line("compare", session).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in line("compare", session).out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--revision", "1", "9"), "has no revision 9; it has 2, from 1"),
        (("nope",), "There is no run 'nope'"),
        (("last", "--revision", "1", "2"), "--revision compares revisions of one session"),
    ],
)
def test_what_cannot_be_compared_is_named(
    line: Line, session: str, arguments: tuple[str, ...], reason: str
) -> None:
    result = line("compare", session, *arguments)
    assert result.code != 0
    assert reason in result.err


def test_the_run_of_another_process_is_watched_to_its_end(
    line: Line, folder: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Path("pool.toml").read_text().replace("tokens_per_second = 5000", "tokens_per_second = 2")
    Path("slow.toml").write_text(slow)
    line("set", session, "--step", "3", "--worker", "beta")
    root = str(Path(terminal.__file__).parents[3])
    command = [sys.executable, "-m", "conductor", "run", "--session", session, "--all", "--pool", "slow.toml"]
    monkeypatch.setenv("PYTHONPATH", root)
    with child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as other:
        with SessionStore.open("sqlite:///data/conductor.db") as store:
            until(lambda: (run := store.runs.latest(session)) and run.status == "running")
        result = line("watch", "last")
        assert other.communicate(timeout=60)[0] == "from beta\n"
    assert (result.code, result.out) == (0, "from beta\n")
    assert "[3/3] beta is done" in result.err
    assert result.err.endswith(f"next: python -m conductor sessions show {session[:8]}\n")


def test_a_watch_ends_with_its_person_and_leaves_the_run(
    line: Line, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = line("watch", session)
    assert (again.code, again.out) == (0, "from alpha\n")
    monkeypatch.setattr("studio.cli.sessions.watch._follow", _interrupted)
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        head = store.revisions.head(session)
        assert head is not None
        store.runs.start(run="f" * 16, session=session, revision=head.id)
        result = line("watch", session)
    assert result.code == 130
    assert "the run goes on" in result.err


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_address_of_a_session_is_printed(
    line: Line, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert line("open", "last").out == f"http://localhost:8501/?session={session}\n"
    monkeypatch.setenv("CONDUCTOR_APP_URL", "https://studio.example/app/")
    assert line("open", "last").out == f"https://studio.example/app/?session={session}\n"
    shape = json.loads(line("open", session[:6], "--url", "http://here", "--json").out)
    assert shape == {"session": session, "url": f"http://here/?session={session}"}
