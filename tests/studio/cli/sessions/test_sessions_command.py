"""`sessions`: listing, finding, showing, changing, moving and removing sessions from the terminal."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from time import time
from typing import Any

import pytest

from conductor.runs.events import RunFinished, StepFinished
from conductor.text.formatting import size
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import PlanProblem, PlanReport
from storage import SessionStore
from tests.studio.cli.command_line import Line
from tests.support.endpoints.fake_openai import FakeOpenAI, serving
from tests.support.stores.store_scenario import charged

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]


def chain(*instructions: str) -> Workflow:
    steps = enumerate(instructions)
    return Workflow.of(
        Step(instruction=text, worker="alpha", access=(at - 1,) if at else ()) for at, text in steps
    )


@pytest.fixture
def store(folder: Path) -> Iterator[SessionStore]:
    """The default store, which commands open beside it."""
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        yield store


@pytest.fixture
def session(store: SessionStore) -> str:
    """A session with a branch: two edits of one revision; the first one is current."""
    id = store.sessions.create("Which\nriver?", title="Rivers", pool_label="simulated").id
    first = store.revisions.add(id, chain("find"), origin="human", note="By hand")
    store.revisions.add(id, chain("look"), origin="human", note="Reworded")
    store.revisions.undo(id)
    store.revisions.add(id, chain("look", "merge"), origin="human", note="One more step", parent=first.id)
    return id


def shape(text: str) -> Any:
    return json.loads(text)


# -- list and search -------------------------------------------------------------------------------


def test_sessions_are_listed_newest_first_in_columns(line: Line, store: SessionStore, session: str) -> None:
    other = store.sessions.create("東京 <b>\x1b[31m").id
    result = line("sessions", "list")
    headings, first, second = result.out.splitlines()
    assert headings.split() == ["id", "state", "updated", "shape", "steps", "tokens", "title"]
    assert first.split() == [other[:8], "new", *first.split()[2:4], "-", "-", "-", "東京", "<b>\ufffd[31m"]
    assert second.split()[:2] == [session[:8], "planned"]
    assert second[headings.index("shape") :].split() == ["chain", "2", "-", "Rivers"]
    assert (result.code, result.err) == (0, "conductor: 2 sessions.\n")


def test_a_list_has_a_json_line_for_each_session(line: Line, store: SessionStore, session: str) -> None:
    store.sessions.create("second")
    rows = [json.loads(row) for row in line("sessions", "list", "--jsonl").out.splitlines()]
    assert rows == json.loads(line("sessions", "list", "--json").out)["sessions"]
    assert line("sessions", "search", "nowhere", "--jsonl").out == ""


def test_a_session_that_failed_is_red_where_colours_are_shown(
    line: Line, simulated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line("run", "bad", "--pool", simulated, "--workers", "alpha")
    assert "\x1b[" not in line("sessions", "list").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert re.search(r"\x1b\[31m\w{8}  failed .*\x1b\[0m\n", line("sessions", "list").out)


def test_a_part_of_a_list_names_the_option_that_shows_the_rest(line: Line, store: SessionStore) -> None:
    ids = [store.sessions.create(f"question {at}").id for at in range(5)]
    result = line("sessions", "list", "--limit", "2", "--after", ids[4][:8])
    assert [row.split()[-1] for row in result.out.splitlines()[1:]] == ["3", "2"]
    assert result.err == f"conductor: 2 sessions; --after {ids[2][:8]} shows the next.\n"
    assert line("sessions", "list", "--after", ids[2]).err == "conductor: 2 sessions.\n"
    assert line("sessions", "list", "--after", ids[0]).err == "conductor: no session comes after that one.\n"


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (["--state", "planned"], ["Rivers"]),
        (["--state", "planned", "--state", "new"], ["Hills", "Rivers"]),
        (["--topology", "chain"], ["Rivers"]),
        (["--worker", "alpha"], ["Rivers"]),
        (["--worker", "nobody"], []),
        (["--tag", "wet", "--tag", "long"], ["Rivers"]),
        (["--tag", "wet", "--tag", "dry"], []),
        (["--since", "2001-01-01"], ["Hills", "Rivers"]),
        (["--until", "2001-01-01"], []),
        (["--until", "9999-12-31"], ["Hills", "Rivers"]),
        (["--tokens", "..5"], []),
        (["--deleted"], ["Lakes"]),
    ],
)
def test_options_choose_among_sessions(
    line: Line, store: SessionStore, session: str, options: list[str], titles: list[str]
) -> None:
    store.sessions.add_tag(session, "wet")
    store.sessions.add_tag(session, "long")
    store.sessions.create("Hills")
    store.sessions.delete(store.sessions.create("Lakes").id)
    listed = shape(line("sessions", "list", "--json", *options).out)
    assert [summary["title"] for summary in listed["sessions"]] == titles


def test_days_are_whole_and_of_this_place(line: Line, folder: Path) -> None:
    first = datetime(2026, 11, 1).astimezone().timestamp()
    last = datetime(2026, 11, 2).astimezone().timestamp() - 0.001
    times = {"before": first - 1, "first": first, "last": last, "after": last + 1}
    for name, at in times.items():
        with SessionStore.open("sqlite:///data/conductor.db", clock=lambda at=at: at) as store:
            store.sessions.create(name)
    for options, titles in (
        (["--since", "2026-11-01"], ["after", "last", "first"]),
        (["--until", "2026-11-01"], ["last", "first", "before"]),
        (["--since", "2026-11-01", "--until", "2026-11-01"], ["last", "first"]),
        (["--until", "2026-11-01T00:00"], ["first", "before"]),
    ):
        listed = shape(line("sessions", "list", "--json", *options).out)["sessions"]
        assert [summary["title"] for summary in listed] == titles


def test_words_are_found_with_their_place(line: Line, store: SessionStore, session: str) -> None:
    result = line("sessions", "search", "river")
    assert result.out.splitlines()[2].strip() == "query: Which river?"
    (row,) = shape(line("sessions", "search", "merg", "--json").out)["sessions"]
    assert row["id"] == session
    assert row["snippet"] == {"kind": "instruction", "parts": [["merge", True]]}
    nothing = line("sessions", "search", "absent")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "conductor: no session is like that.\n")


def test_an_empty_store_names_how_a_session_is_made(line: Line) -> None:
    assert line("sessions", "list").err.startswith("conductor: there is no session yet; `run` or the app")
    assert shape(line("sessions", "list", "--json").out) == {"sessions": [], "further": None}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["list", "--tokens", "few"], "'few' is no range; write 100..5000, 100.. or ..5000"),
        (["list", "--tokens", ".."], "'..' is no range"),
        (
            ["list", "--tokens", "5000..100"],
            "At least 5,000 and at most 100 tokens is not a range; swap the two.",
        ),
        (
            ["search", "x", "--since", "2026-11-02", "--until", "2026-11-01"],
            "The last day is before the first; swap the two.",
        ),
        (["list", "--since", "yesterday"], "'yesterday' is no day; write it as 2026-11-01"),
        (["list", "--until", "today"], "'today' is no day; write it as 2026-11-01"),
        (
            ["list", "--state", "odd"],
            "'--state': 'odd' is not one of new, planned",
        ),
        (["list", "--limit", "0"], "Input should be greater than or equal to 1"),
        (["search"], "Missing argument 'WORDS'"),
        (["vacuum", "--older-than", "-1"], "--older-than"),
        (["export"], "name sessions, or add --all"),
        (["export", "--all", "--json"], "--json sums up what was written to --output"),
        (["delete", "abcd1234"], ""),
        ([], "Missing command"),
    ],
)
def test_wrong_arguments_are_refused(line: Line, arguments: list[str], reason: str) -> None:
    result = line("sessions", *arguments)
    assert result.code == (1 if arguments[:1] == ["delete"] else 2)
    assert reason in result.err


# -- show ------------------------------------------------------------------------------------------


def test_a_session_is_shown_with_its_revisions_as_a_tree(
    line: Line, store: SessionStore, session: str
) -> None:
    store.sessions.add_tag(session, "wet")
    lines = line("sessions", "show", session[:6]).out.splitlines()
    assert lines[0] == "Rivers"
    assert f"  id       {session}" in lines
    assert "  tags     wet" in lines
    at = lines.index("3 revisions, newest first")
    assert [row.split()[:2] for row in lines[at + 2 : at + 5]] == [["●", "3"], ["│", "○"], ["○─╯", "1"]]
    assert lines[at + 2].endswith("One more step  (current)")
    assert lines[-1] == "No answer yet."


def test_a_planning_that_failed_is_shown_with_its_reason(line: Line, folder: Path) -> None:
    pool = folder / "refused.toml"
    with serving(FakeOpenAI(key="sk-right")) as served:
        conductor = f'[conductor]\nbase_url = "{served.base_url}"\nmodel = "simulated"\n'
        pool.write_text(f'{conductor}[[worker]]\nkind = "simulated"\nname = "a"\n', encoding="utf-8")
        assert line("plan", "Why?", "--pool", str(pool)).code == 1
    (session,) = shape(line("sessions", "list", "--json").out)["sessions"]
    assert session["state"] == "unplanned"
    text = line("sessions", "show", session["id"]).out
    assert "rejected" not in text
    assert re.search(r"\nWhy there is no plan\nconductor: .* answered 401 Unauthorized", text)
    result = shape(line("sessions", "show", session["id"], "--json").out)
    assert "401 Unauthorized" in result["no_plan"]


def test_a_plan_that_was_rejected_is_shown_with_its_problems(
    line: Line, store: SessionStore, session: str
) -> None:
    report = PlanReport(text="?", problems=(PlanProblem(step=None, message="There is no plan."),))
    other = store.sessions.create("Why?").id
    for each in (other, session):
        store.plans.add(each, planner="p", planner_kind="model", report=report, usage=Usage())
    result = line("sessions", "show", other).out
    assert "  state    rejected" in result
    assert "\nWhy there is no plan\nThere is no plan.\n" in result
    store.revisions.add(session, chain("by hand"), origin="human")
    assert "Why there is no plan" not in line("sessions", "show", session).out


def test_json_has_all_of_a_session(line: Line, folder: Path, simulated: str) -> None:
    ran = shape(line("run", "--workflow", str(planned(folder)), "--pool", simulated, "--json").out)
    result = shape(line("sessions", "show", ran["session"], "--json").out)
    assert result["answer"] == ran["answer"]
    assert [run["id"] for run in result["runs"]] == [ran["run"]]
    assert result["session"]["state"] == "finished"
    (revision,) = result["revisions"]
    assert (revision["current"], len(revision["workflow"]["steps"])) == (True, 2)
    text = line("sessions", "show", ran["session"]).out
    assert f"\nAnswer\n{ran['answer']}\n" in text
    assert f"\n{ran['run'][:8]}  finished" in text


def test_a_stopped_session_is_called_so_in_lists_and_alone(
    line: Line, store: SessionStore, session: str
) -> None:
    head = store.revisions.head(session)
    store.runs.start(run="n1", session=session, revision=head.id)
    end = RunFinished(run="n1", seq=0, at=5.0, outcome="cancelled", answer=None, answer_step=None)
    store.runs.append(end).result(timeout=60)
    assert "  state    stopped" in line("sessions", "show", session).out.splitlines()
    assert " stopped " in line("sessions", "list", "--state", "stopped").out


def test_a_stopped_run_leaves_a_lower_bound_of_what_a_session_used(
    line: Line, store: SessionStore, session: str
) -> None:
    head = store.revisions.head(session)
    store.runs.start(run="n1", session=session, revision=head.id)
    output = Output(
        fingerprint="f",
        text="done",
        worker="alpha",
        worker_kind="model",
        usage=Usage(prompt_tokens=3_600, completion_tokens=70, cost=0.25),
        seconds=1.0,
        run="n1",
        step=0,
    )
    lost = Charge(worker="alpha", kind="model", purpose="step", stopped=True)
    end = RunFinished(
        run="n1", seq=1, at=5.0, outcome="interrupted", answer=None, answer_step=None, charges={0: lost}
    )
    for event in (charged(StepFinished(run="n1", seq=0, at=4.0, step=0, output=output)), end):
        store.runs.append(event).result(timeout=60)
    used = {"tokens": 3_670, "tokens_at_least": True, "cost": 0.25, "cost_at_least": True}
    used |= {"calls": 2, "cost_at_most": False}
    result = shape(line("sessions", "show", session, "--json").out)
    assert (result["session"]["used"], result["runs"][0]["used"]) == (used, used)
    text = line("sessions", "show", session).out.splitlines()
    assert "  tokens   at least 3,670" in text
    assert "  cost     at least $0.2500" in text
    (listed,) = shape(line("sessions", "list", "--json").out)["sessions"]
    assert (listed["tokens"], listed["tokens_at_least"]) == (3_670, True)
    assert "at least 3,670" in line("sessions", "list").out


def planned(folder: Path) -> Path:
    """A workflow file for the simulated pool."""
    file = folder / "plan.json"
    text = write_plan(
        chain("find", "merge"), query="why?", origin="human", workers=("alpha", "beta"), label=None
    )
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("abc", "'abc' is too short for a session's id; write at least 4 of its characters."),
        ("zzzz", "There is no session 'zzzz' in this store; `sessions list` shows which there are."),
        ("%%%%", "There is no session '%%%%' in this store"),
        ("", "'' is too short for a session's id"),
    ],
)
def test_what_names_no_session_is_refused(line: Line, session: str, name: str, reason: str) -> None:
    result = line("sessions", "show", name)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"conductor: {reason}")


def test_a_beginning_that_several_ids_have_is_refused(
    line: Line, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = iter(["aaaa1", "aaaa2", "aaaa"])
    monkeypatch.setattr("storage.tables.sessions.new_id", lambda: next(ids))
    for name in ("one", "two"):
        store.sessions.create(name)
    result = line("sessions", "rename", "aaaa", "three")
    assert result.err == (
        "conductor: 'aaaa' begins the ids of 2 sessions (aaaa1, aaaa2); write more of it.\n"
    )
    store.sessions.create("whole")
    assert shape(line("sessions", "show", "aaaa", "--json").out)["session"]["title"] == "whole"


# -- changes ---------------------------------------------------------------------------------------


def test_sessions_are_deleted_and_restored(line: Line, store: SessionStore, session: str) -> None:
    refused = line("sessions", "delete", session)
    assert refused.code == 2
    assert "add --yes to delete" in refused.err
    result = line("sessions", "delete", session[:5], session, "--yes", "--json")
    assert shape(result.out) == {"deleted": [session]}
    assert store.sessions.count() == 0
    assert line("sessions", "restore", session).out == f"restored {session[:8]}  Rivers\n"
    assert store.sessions.count() == 1


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("Yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_deleting_at_a_terminal_asks_first(
    line: Line, session: str, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    result = line("sessions", "delete", session)
    assert result.code == left
    assert result.err.startswith(f"{session[:8]}  Rivers\nDelete 1 session? [y/N] ")
    assert len(shape(line("sessions", "list", "--json").out)["sessions"]) == left


def test_one_unknown_id_keeps_all_from_being_deleted(line: Line, store: SessionStore, session: str) -> None:
    assert line("sessions", "delete", session, "nobody", "--yes").code == 1
    assert store.sessions.count() == 1


def test_sessions_are_renamed_and_tagged(line: Line, store: SessionStore, session: str) -> None:
    assert line("sessions", "rename", session, "Streams").out == f"renamed {session[:8]}  Streams\n"
    assert shape(line("sessions", "tag", session, "wet", "long", "--json").out) == {
        "session": session,
        "tags": ["long", "wet"],
    }
    assert line("sessions", "tag", session, "new", "--remove", "wet").out == "long\nnew\n"
    assert store.sessions.tags(session) == ("long", "new")
    assert line("sessions", "tag", session, "--remove", "long", "--remove", "new").out == "no tags\n"


# -- out, in and beside ----------------------------------------------------------------------------


def test_a_session_goes_out_and_comes_in_again(line: Line, store: SessionStore, session: str) -> None:
    text = line("sessions", "export", session).out
    Path("one.json").write_text(text, encoding="utf-8")
    dry = line("sessions", "import", "one.json", "--dry-run")
    assert dry.out.splitlines()[1:] == [
        "  called 'Rivers (2)', because that title is taken",
        "  3 revisions, 0 runs, 0 outputs",
        "  not in this pool: alpha; give their steps to others before you run them",
    ]
    assert store.sessions.count() == 1
    summary = shape(line("sessions", "import", "one.json", "--json").out)
    assert (summary["dry_run"], summary["unknown_workers"]) == (False, ["alpha"])
    (id,) = summary["imported"]
    assert [revision.note for revision in store.revisions.of_session(id)] == [
        "By hand",
        "Reworded",
        "One more step",
    ]


def test_several_sessions_go_into_one_file(line: Line, store: SessionStore, session: str) -> None:
    other = store.sessions.create("Hills").id
    store.sessions.delete(store.sessions.create("Lakes").id)
    result = shape(line("sessions", "export", "--all", "--output", "all.json", "--json").out)
    assert result == {
        "sessions": [other, session],
        "file": "all.json",
        "bytes": Path("all.json").stat().st_size,
    }
    out = line("sessions", "import", "all.json").out
    assert [row for row in out.splitlines() if row.startswith("imported")]
    assert store.sessions.count() == 4


def test_many_sessions_come_in_without_a_line_for_each(
    line: Line, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.cli.sessions.transfer.EVERY", 0.0)
    for number in range(9):
        store.sessions.create(f"Hill {number}")
    exported = line("sessions", "export", "--all", "--output", "all.json")
    assert re.search(r"conductor: exporting: 4 of 9 sessions, [\d,]+ a second\n", exported.err)
    result = line("sessions", "import", "all.json")
    assert result.out.splitlines() == [
        f"9 sessions of {size(Path('all.json').stat().st_size)}",
        "  0 revisions, 0 runs",
        "  9 titles taken: a number goes behind each",
        "imported 9 sessions",
    ]
    assert re.search(r"conductor: importing: 9 of 9 sessions, [\d,]+ a second\n", result.err)
    assert line("sessions", "import", "all.json", "--quiet").err == ""
    assert store.sessions.count() == 27


def test_a_session_that_cannot_be_read_is_left_out_of_the_file_of_all_and_named(
    line: Line, store: SessionStore, session: str
) -> None:
    other = store.sessions.create("Hills").id
    with store._transactions.database.transaction(to="write") as connection:
        connection.exec_driver_sql("UPDATE revisions SET workflow = '{'")
    left = line("sessions", "export", "--all", "--output", "all.json")
    assert left.code == 1
    assert session in left.err
    assert "1 session written" in left.err
    assert other in Path("all.json").read_text(encoding="utf-8")
    assert line("sessions", "import", "all.json", "--dry-run").out.startswith("Hills")
    assert line("sessions", "export", "--all").out == Path("all.json").read_text(encoding="utf-8")
    refused = line("sessions", "export", session, "--output", "one.json")
    assert refused.code == 1
    assert session in refused.err
    assert not Path("one.json").exists()


def test_a_workflow_file_is_imported_as_a_session(
    line: Line, store: SessionStore, folder: Path, simulated: str
) -> None:
    result = line("sessions", "import", str(planned(folder)), "--pool", simulated)
    assert result.out.splitlines()[0] == "a workflow of 2 steps: why?"
    assert store.sessions.listed()[0].title == "why?"


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--json",)])
def test_a_workflow_of_other_workers_is_held_back_with_their_names(
    line: Line, store: SessionStore, folder: Path, more: tuple[str, ...]
) -> None:
    result = line("sessions", "import", str(planned(folder)), *more)
    assert store.sessions.count() == 0
    if "--json" not in more:
        preview = "a workflow of 2 steps: why?\n  not in this pool: alpha; it cannot be imported\n"
        assert result.out == preview
    if "--dry-run" in more:
        assert (result.code, result.err) == (0, "")
        return
    assert result.code == 1
    assert result.err == (
        "conductor: The file's workflow needs alpha, which this pool does not have. Add what is missing to "
        "the pool, or write names of this pool's into the file: smol, calculator.\n"
    )


@pytest.mark.parametrize(("content", "reason"), [(b"{}", "neither a session nor a workflow"), (b"\xff", "")])
def test_a_file_that_is_none_of_ours_changes_nothing(
    line: Line, store: SessionStore, content: bytes, reason: str
) -> None:
    Path("odd.json").write_bytes(content)
    result = line("sessions", "import", "odd.json")
    assert (result.code, result.out) == (1, "")
    assert reason in result.err
    assert store.sessions.count() == 0
    assert "none.json cannot be read: No such file" in line("sessions", "import", "none.json").err


def test_a_fork_begins_with_the_chosen_revision(line: Line, store: SessionStore, session: str) -> None:
    fork = shape(line("sessions", "fork", session, "--revision", "2", "--title", "Apart", "--json").out)
    head = store.revisions.head(fork["session"])
    assert (fork["title"], head.workflow) == ("Apart", chain("look"))
    assert line("sessions", "fork", session[:8]).out.startswith("forked ")
    wrong = line("sessions", "fork", session, "--revision", "9")
    assert wrong.err.endswith("has no revision 9; its revisions are 1 to 3.\n")
    empty = store.sessions.create("new").id
    assert "has no workflow to fork yet" in line("sessions", "fork", empty).err


# -- vacuum ----------------------------------------------------------------------------------------


def test_what_would_be_removed_is_shown_before_it_is(line: Line, store: SessionStore, session: str) -> None:
    store.sessions.delete(session)
    result = line("sessions", "vacuum")
    assert result.out.splitlines()[0].startswith("No session was deleted long enough ago")
    dry = line("sessions", "vacuum", "--older-than", "0", "--dry-run")
    assert dry.out.splitlines()[:2] == [
        f"{session[:8]}  Rivers",
        "1 deleted session with 0 runs, and 0 outputs that no run refers to: would be removed.",
    ]
    assert "would be given back" in dry.out
    assert store.sessions.find(session).title == "Rivers"
    done = shape(line("sessions", "vacuum", "--older-than", "0", "--json").out)
    assert done["sessions"] == [{"id": session, "title": "Rivers"}]
    assert done["bytes_before"] - done["bytes_after"] == done["bytes_freed"]
    assert store.sessions.named(session) == ()


def test_the_setting_decides_what_is_old(
    line: Line, store: SessionStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.sessions.delete(session)
    monkeypatch.setenv("CONDUCTOR_RETENTION_DAYS", "0")
    result = shape(line("sessions", "vacuum", "--json").out)
    assert (result["retention_days"], result["sessions"]) == (None, [])
    monkeypatch.setenv("CONDUCTOR_RETENTION_DAYS", "soon")
    refused = line("sessions", "vacuum")
    assert (refused.code, refused.out) == (1, "")
    assert "CONDUCTOR_RETENTION_DAYS is 'soon', which is not a number of days" in refused.err


def test_the_file_is_not_rewritten_while_something_runs(
    line: Line, store: SessionStore, session: str
) -> None:
    head = store.revisions.head(session)
    store.runs.start(run="n1", session=session, revision=head.id)
    result = line("sessions", "vacuum", "--compact")
    assert result.code == 1
    assert f"conductor: The session {session!r} is running, so the store cannot be cleaned up" in result.err


# -- the command line itself -----------------------------------------------------------------------


@pytest.mark.thorough
def test_listing_loads_neither_workers_nor_pages(folder: Path) -> None:
    code = (
        "import sys\nfrom studio.cli.line import main\nmain(['sessions', 'list'])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    command, environment = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    loaded = set(done.stdout.split())
    assert "sqlalchemy" in loaded
    assert not loaded & {
        "streamlit",
        "sympy",
        "pyvis",
        "httpx",
        "uvicorn",
        "starlette",
        "networkx",
        "tomlkit",
    }


# -- retention -------------------------------------------------------------------------------------


def test_a_forecast_has_what_age_deletes_and_apply_deletes_it(
    line: Line, store: SessionStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 86_400
    for days in (40, 25, 4):
        with SessionStore.open(
            "sqlite:///data/conductor.db", clock=lambda days=days: time() - days * day
        ) as old:
            old.sessions.create(f"{days} days")
    assert "CONDUCTOR_DELETE_AFTER_DAYS is not set" in line("sessions", "retention").out
    tried = shape(line("sessions", "retention", "--days", "30", "--json").out)
    assert (tried["due"], tried["deleted"]) == ({"0": 1, "7": 2, "30": 3}, None)
    assert line("sessions", "retention", "--days", "30", "--apply").code == 2
    assert len(store.sessions.ids()) == 3
    monkeypatch.setenv("CONDUCTOR_DELETE_AFTER_DAYS", "30")
    result = line("sessions", "retention", "--apply")
    assert result.out.splitlines()[0] == "Deleted 1 session, removed 0 for good."
    assert [row.split() for row in result.out.splitlines()[2:5]] == [
        ["now", "0", "sessions"],
        ["within", "7", "days", "1", "session"],
        ["within", "30", "days", "2", "sessions"],
    ]
    assert [each.title for each in store.sessions.listed()] == ["4 days", "25 days"]


# -- notes -----------------------------------------------------------------------------------------


def test_notes_are_written_listed_shown_and_deleted(line: Line, store: SessionStore, session: str) -> None:
    first = shape(line("sessions", "note", session, "Which one?", "--author", "Ada", "--json").out)
    assert (first["part"], first["author"], first["quote"]) == ("question", "Ada", "")
    step = ("--step", "2", "--part", "instruction", "--quote", "merge")
    assert "noted" in line("sessions", "note", session, "Of what?", *step).out
    listed = line("sessions", "notes", session).out
    assert "question  Ada\n  Which one?" in listed
    assert "step 2, instruction\n  “merge”\n  Of what?" in listed
    assert "2 notes" in line("sessions", "show", session).out
    assert len(shape(line("sessions", "show", session, "--json").out)["notes"]) == 2
    left = shape(line("sessions", "notes", session, "--delete", first["id"][:8], "--json").out)
    assert [note["text"] for note in left["notes"]] == ["Of what?"]
    line("sessions", "notes", session, "--restore", first["id"])
    assert len(store.notes.of_session(session)) == 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--step", "3"], "2 steps"),
        (["--step", "2", "--part", "instruction", "--quote", "zebra"], "zebra"),
        (["--step", "1", "--part", "soul"], "choose one of"),
        (["--author", "a" * 81], "limit is 80"),
    ],
)
def test_a_note_on_what_is_not_there_is_refused(
    line: Line, store: SessionStore, session: str, options: list[str], problem: str
) -> None:
    refused = line("sessions", "note", session, "Why?", *options)
    assert refused.code != 0
    assert problem in refused.err
    assert store.notes.of_session(session) == ()


@pytest.mark.parametrize(
    "damage", ["state = 'of the future'", "settings = '{'", "conversation = 'null and void'"]
)
def test_a_session_that_cannot_be_read_is_named_and_deleted(
    line: Line, store: SessionStore, session: str, folder: Path, damage: str
) -> None:
    other = store.sessions.create("Which lake?").id
    with closing(sqlite3.connect(folder / "data" / "conductor.db")) as file, file:
        file.execute(f"UPDATE sessions SET {damage} WHERE id = ?", (other,))
    result = line("sessions", "list")
    assert (result.code, session[:8] in result.out) == (0, True)
    assert ("left out" in result.err) == (other[:8] not in result.out) == damage.startswith("state")
    result = line("sessions", "delete", other, "--yes")
    assert (result.code, result.out[:16]) == (0, f"deleted {other[:8]}")
    assert [each["id"] for each in shape(line("sessions", "list", "--json").out)["sessions"]] == [session]
    assert line("sessions", "restore", other).code == 0
