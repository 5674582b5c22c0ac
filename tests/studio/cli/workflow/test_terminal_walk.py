"""The product's way in a terminal: plan, edit in an editor, rerun what that touched, compare, report.

Real commands in a real terminal; the log of an endpoint shows what they called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from storage import SessionStore
from tests.studio.cli.command_line import ROOT, editor
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.processes.terminal import Terminal, in_terminal
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PLAN = """model_id = [0, 1, 2]
subtasks = ["Name facts of France.", "Name facts of Japan.", "Compare both."]
access_list = [[], [], [0, 1]]"""
WORKERS = ("france", "japan", "writer")
"""A worker for each step, so that the log names the step by its model."""

OTHER = "Look at the islands as a traveller would."
REWORD = f"assert sys.stdin.isatty()\ntext = text.replace('Name facts of Japan.', {OTHER!r})"
STORE = "Store this as the session's workflow? [y/N]"


@dataclass
class Walk:
    """Types commands, in a folder with a pool at the endpoint."""

    folder: Path
    endpoint: Served
    commands: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        served = 'model = "{0}"\nbase_url = "' + self.endpoint.base_url + '"\n'
        workers = [f'[[worker]]\nname = "{name}"\n{served.format(name)}' for name in WORKERS]
        (self.folder / "pool.toml").write_text(f"[conductor]\n{served.format('planner')}{''.join(workers)}")
        self.endpoint.fake.texts.append(PLAN)

    def terminal(self, *command: str, edit: str = "") -> AbstractContextManager[Terminal]:
        self.commands.append(" ".join(f'"{each}"' if " " in each else each for each in command))
        return in_terminal(
            *command, folder=self.folder, variables={"EDITOR": editor(self.folder, edit), "VISUAL": ""}
        )

    def does(self, *command: str, edit: str = "", answer: str = "", code: int = 0) -> str:
        """What the terminal shows of a command that ends with that code."""
        with self.terminal(*command, edit=edit) as terminal:
            if answer:
                terminal.shows(STORE)
                terminal.type(f"{answer}\n")
            assert terminal.end() == code, terminal.text
            return terminal.text

    def called(self) -> list[str]:
        """The models that were called since this was last asked."""
        names = [entry.body["model"] for entry in self.endpoint.log.entries if entry.body]
        self.endpoint.log.clear()
        return sorted(names)

    @property
    def revisions(self) -> int:
        with SessionStore.open(f"sqlite:///{self.folder}/data/conductor.db") as store:
            (session,) = store.sessions.listed()
            return len(store.revisions.of_session(session.id))


@pytest.fixture
def walk(folder: Path) -> Iterator[Walk]:
    with serving(FakeOpenAI()) as endpoint:
        yield Walk(folder, endpoint)


@pytest.fixture
def ran(walk: Walk) -> Walk:
    """One whose session has run once."""
    walk.does("run", "Compare France and Japan")
    assert walk.called() == ["france", "japan", "planner", "writer"]
    return walk


def test_a_plan_is_edited_rerun_compared_and_reported_in_six_documented_commands(walk: Walk) -> None:
    planned = walk.does("plan", "Compare France and Japan")
    assert "2. japan: Name facts of Japan." in planned
    assert walk.called() == ["planner"]
    walk.does("run", "--session", "last")
    assert walk.called() == sorted(WORKERS)

    edited = walk.does("edit", "last", "2", edit=REWORD, answer="y")
    assert "change step 2 (instruction)" in edited
    assert "2 of 3 steps will run, 1 reused" in edited
    assert walk.called() == []
    rerun = walk.does("run", "--session", "last")
    assert "france's output is reused" in rerun
    requests = [str(entry.body) for entry in walk.endpoint.log.entries]
    assert walk.called() == ["japan", "writer"]
    assert all(OTHER in request for request in requests)

    compared = walk.does("compare", "last")
    assert re.search(r"- japan: Name facts of Japan\.\n.*\+ japan: Look at the islands", compared)
    assert "Answer" in compared
    walk.does("report", "--session", "last", "-o", "run.html")
    assert OTHER in (walk.folder / "run.html").read_text(encoding="utf-8")
    assert walk.called() == []

    documented = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8").replace(" ID ", " last ")
    assert len(walk.commands) == 6
    for command in walk.commands:
        assert f"python -m conductor {command} " in documented.replace("\n", " "), command


def test_a_wrong_plan_is_opened_again_with_the_reason_at_its_line(ran: Walk) -> None:
    wrong = "text = text.replace('[9]', '[1]') if '#>>>' in text else text.replace('[1, 2]', '[9]')"
    edited = ran.does("edit", "last", edit=wrong, answer="y")
    first, again = (ran.folder / "texts").read_text().split("====")[:2]
    assert "#>>>" not in first
    reason, line = again.splitlines()[again.splitlines().index("access = [9]") - 1 :][:2]
    assert (reason[:24], line) == ("#>>> Step 3 reads step 9", "access = [9]")
    assert "conductor: Step 3 reads step 9" in edited
    assert ran.revisions == 2
    ran.does("run", "--session", "last")
    assert ran.called() == ["writer"]


@pytest.mark.parametrize(
    ("edit", "answer", "code", "sentence"),
    [
        (f"{REWORD}\nfile.write_text(text)\nsys.exit(1)", "", 1, "ended with 1, so nothing is changed"),
        (REWORD, "n", 0, "Nothing is changed; your text is in "),
        (REWORD, "", 130, "[y/N] ^C\nconductor: Nothing is changed; your text is in "),
    ],
    ids=["the editor fails", "the person says no", "the person interrupts"],
)
def test_an_edit_that_is_not_agreed_to_changes_nothing_and_loses_no_text(
    ran: Walk, edit: str, answer: str, code: int, sentence: str
) -> None:
    if code == 130:
        with ran.terminal("edit", "last", edit=edit) as terminal:
            terminal.shows(STORE)
            terminal.type("\x03")
            assert terminal.end() == code
            text = terminal.text
    else:
        text = ran.does("edit", "last", edit=edit, answer=answer, code=code)
    assert sentence in text
    (name,) = re.findall(r"\S+/conductor-\S+\.toml", text.replace("\n", ""))
    assert OTHER in Path(name).read_text()
    Path(name).unlink()
    assert ran.revisions == 1
    ran.does("run", "--session", "last")
    assert ran.called() == []


def test_after_an_interrupt_only_what_had_not_ended_is_called(ran: Walk) -> None:
    ran.does("edit", "last", "2", edit=REWORD, answer="y")
    ran.endpoint.fake.tokens_per_second = 20

    def is_written() -> bool:
        entries = ran.endpoint.log.entries
        return bool(entries) and entries[-1].body is not None and entries[-1].body["model"] == "writer"

    with ran.terminal("run", "--session", "last") as terminal:
        until(lambda: terminal.text and is_written() and ran.endpoint.log.entries[-1].pieces > 3)
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "the run was stopped; there is no answer." in terminal.text
        assert re.search(r"; again: python -m conductor run --session \w{8}\n$", terminal.text)
    assert ran.called() == ["japan", "writer"]
    ran.endpoint.fake.tokens_per_second = None
    assert "Simulated answer" in ran.does("run", "--session", "last")
    assert ran.called() == ["writer"]
