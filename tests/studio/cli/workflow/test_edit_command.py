"""A workflow is changed by a file, in an editor or by `set`; only what that touched runs again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.values.messages import Sampling
from conductor.values.output import HandEdit, Output
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from storage import SessionStore
from studio.cli.workflow.step_text import TextError, read, step_toml, with_reason
from tests.studio.cli.command_line import Line, editor
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

TRIO = workflow_of((), (0,), (0, 1)).with_worker(1, "beta")


@pytest.fixture(autouse=True)
def pool(simulated: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pool.toml").write_text(Path(simulated).read_text())
    monkeypatch.setattr("tempfile.tempdir", str(folder))


def ran(line: Line, folder: Path) -> str:
    """The id of a session that ran three steps."""
    text = write_plan(TRIO, query="why?", origin="human", workers=TRIO.workers(), label=None)
    (folder / "plan.json").write_text(text)
    shape = json.loads(line("run", "--workflow", "plan.json", "--json").out)
    return str(shape["session"])


def statuses(line: Line) -> list[str]:
    return [step["status"] for step in json.loads(line("run", "--session", "last", "--json").out)["steps"]]


@pytest.mark.parametrize("by", ["file", "stdin", "editor", "set"])
def test_only_what_a_change_touches_runs_again(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    session = ran(line, folder)
    if by in ("file", "stdin"):
        assert line("export", "last", "-o", "edited.json").code == 0
        text = Path("edited.json").read_text().replace("task 2", "another task")
        Path("edited.json").write_text(text)
        with Path("edited.json").open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            name = "-" if by == "stdin" else "edited.json"
            shape = json.loads(line("run", "--session", session, "--workflow", name, "--json").out)
        steps_now = [step["status"] for step in shape["steps"]]
    elif by == "editor":
        monkeypatch.setenv("VISUAL", editor(folder, "text = text.replace('task 2', 'another task')"))
        result = line("edit", "last", "2", "--yes")
        assert "change step 2 (instruction)" in result.out
        assert "2 of 3 steps will run, 1 reused" in result.err
        assert result.err.splitlines()[-1].endswith(f"next: python -m conductor run --session {session[:8]}")
        steps_now = statuses(line)
    else:
        result = line("set", "last", "--step", "2", "--instruction", "another task")
        assert "2 of 3 steps will run, 1 reused" in result.err
        steps_now = statuses(line)
    assert steps_now == ["reused", "finished", "finished"]
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert [each.number for each in store.revisions.of_session(session)] == [1, 2]


def test_a_wrong_text_is_opened_again_with_the_reason_at_its_line(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(line, folder)
    script = "text = text.replace('[9]', '[1]') if '#>>>' in text else text.replace('[1, 2]', '[9]')"
    monkeypatch.setenv("VISUAL", editor(folder, script))
    result = line("edit", "last", "3", "--yes")
    assert result.code == 0
    again = (folder / "texts").read_text().split("====")[1].splitlines()
    assert again[again.index("access = [9]") - 1].startswith("#>>> Step 3 reads step 9")
    assert "change step 3 (access)" in result.out


def test_an_editor_that_never_gets_it_right_ends_and_loses_nothing(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(line, folder)
    monkeypatch.setenv("VISUAL", editor(folder, "text += 'x'"))
    result = line("edit", "last", "--yes")
    assert result.code == 1
    assert "Nothing is changed; your text is in " in result.err
    assert len((folder / "texts").read_text().split("====")) == 11


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        (("--worker", "alpha"), "change step 2 (worker)"),
        (("--access", "none"), "change step 2 (access)"),
        (("--pin", "by hand"), "change step 2 (pin)"),
    ],
)
def test_set_changes_one_thing(line: Line, folder: Path, arguments: tuple[str, ...], changed: str) -> None:
    ran(line, folder)
    result = line("set", "last", "--step", "2", *arguments)
    assert (result.code, changed in result.out) == (0, True), result.err
    assert statuses(line)[0] == "reused"
    if "--pin" in arguments:
        assert statuses(line)[1] == "pinned"
        assert "change step 2 (pin)" in line("set", "last", "--step", "2", "--unpin").out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--worker", "nobody"), "nobody"),
        (("--access", "3"), "not before it"),
        (("--access", "x"), "numbers of earlier steps"),
    ],
)
def test_a_change_that_breaks_a_rule_changes_nothing(
    line: Line, folder: Path, arguments: tuple[str, ...], reason: str
) -> None:
    session = ran(line, folder)
    result = line("set", "last", "--step", "2", *arguments)
    assert (result.code, reason in result.err) == (1, True)
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert len(store.revisions.of_session(session)) == 1


def test_export_overwrites_no_file_unasked(line: Line, folder: Path) -> None:
    ran(line, folder)
    Path("mine.json").write_text("mine")
    for target in ("export", "report"):
        arguments = ("last",) if target == "export" else ("--session", "last")
        result = line(target, *arguments, "-o", "mine.json")
        assert (result.code, "--force" in result.err) == (1, True)
        assert Path("mine.json").read_text() == "mine"
    assert line("export", "last", "-o", "mine.json", "--force").code == 0
    assert "task 2" in Path("mine.json").read_text()


def test_a_dash_as_the_file_is_standard_output(line: Line, folder: Path) -> None:
    ran(line, folder)
    for arguments in (
        ("export", "last", "-"),
        ("export", "last", "-o", "-"),
        ("report", "--session", "last", "-o", "-"),
    ):
        assert "task 2" in line(*arguments).out
    assert not Path("-").exists()


OUTPUT = Output(
    fingerprint="", text="one\ntwo", worker="a", worker_kind="model", seconds=0, run="", step=0,
    hand=HandEdit(at=1.0),
)  # fmt: skip


@pytest.mark.parametrize(
    "step",
    [
        Step(instruction="plain", worker="a"),
        Step(instruction='quotes " and \\ and """ and \'\'\'', worker="a"),
        Step(instruction='two\nlines with """\nand [[step]]\n[[step]]\nworker = 1', worker="a"),
        Step(instruction="ends with a line\n\n", worker="a"),
        Step(instruction="control \x07 and\ttab\nand \x1b", worker="a"),
        Step(instruction="#>>> begins as a reason", worker="a"),
        Step(instruction="x", worker="a", sampling=Sampling(temperature=0.5, seed=3)),
        Step(instruction="x", worker="a", gate=True, sees_previous=True, sees_files=False),
        Step(instruction="x", worker="a", tools=("files:read_*", "web")),
        Step(instruction="x", worker="a", tools=()),
        Step(instruction="x", worker="a", on_failure=OnFailure(retries=2, fallback="b", output="")),
        Step(instruction="日本語 😀\nזה", worker='odd "name"'),
    ],
    ids=range(12),
)
def test_the_text_of_a_step_reads_as_that_step(step: Step) -> None:
    workflow = Workflow.of([Step(instruction="first", worker="a"), step.model_copy(update={"access": (0,)})])
    for only in (None, 1):
        text = step_toml(workflow, only=only, title="t", workers=("a",))
        steps = read(text, only=only)
        assert steps[-1].step == workflow.steps[1]


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("access = [1]", "access = [2]", "access = [2]", "reads itself"),
        ("access = [1]", "access = 1", "access = 1", "must be a list"),
        ("access = [1]", "acess = [1]", "acess = [1]", "did you mean 'access'"),
        ("access = [1]", "access = [1", "# 2 steps: t", "no TOML"),
        ('worker = "b"', 'worker = ""', 'worker = ""', "names no worker"),
        ('instruction = "two"', 'instruction = " "', 'instruction = " "', "empty instruction"),
        ('instruction = "two"', "gate = 3", "gate = 3", ""),
    ],
)
def test_a_reason_stands_above_its_line(old: str, new: str, line: str, reason: str) -> None:
    first = Step(instruction="one", worker="a")
    pair = Workflow.of([first, Step(instruction="two", worker="b", access=(0,))])
    text = step_toml(pair, only=None, title="t", workers=("a", "b")).replace(old, new)
    with pytest.raises(TextError) as caught:
        read(text, only=None)
    assert reason in str(caught.value)
    lines = with_reason(text, caught.value).splitlines()
    at = next(at for at, each in enumerate(lines) if each.startswith("#>>> "))
    if new != "gate = 3":
        assert abs(lines.index(line) - at) <= 1
    assert with_reason("\n".join(lines), caught.value).splitlines() == lines
