"""The command line itself: which commands there are, and what of the program each of them loads."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storage import SessionStore
from studio.cli.options import LARGEST
from tests.studio.cli.command_line import Line

ROOT = Path(__file__).parents[3]
CONDUCTOR = f"{shlex.quote(sys.executable)} -m conductor"
"""The command in a line of a shell; a checkout's path may have spaces."""

INTERRUPTED_WHILE_LOADING = """
import runpy, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "studio.cli.workflow.plan":
            signal.raise_signal(signal.SIGINT)

sys.argv = ["conductor", "plan", "why?"]
sys.meta_path.insert(0, Interrupt())
runpy.run_module("conductor", run_name="__main__")
"""
COMMANDS = tuple(
    "plan run parse export report sessions tokens serve gallery pool doctor vllm".split(),
)


@pytest.mark.parametrize("arguments", [["--help"], ["-h", "sessions"]])
def test_the_help_names_every_command(line: Line, arguments: list[str]) -> None:
    result = line(*arguments)
    assert result.code == 0
    listed = {row.split()[0] for row in result.out.splitlines() if row.startswith("  ")}
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_what_it_takes(line: Line, command: str) -> None:
    result = line(command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: python -m conductor {command} ")


@pytest.mark.slow
def test_a_command_is_listed_with_the_sentence_that_its_own_help_begins_with(line: Line) -> None:
    listed = [
        row.split(maxsplit=1) for row in line("--help").out.partition("Commands:")[2].splitlines() if row
    ]
    for command, sentence in listed:
        assert line(command, "--help").out.splitlines()[2].strip().startswith(sentence.removesuffix("..."))


@pytest.mark.slow
def test_on_a_terminal_help_and_wrong_arguments_stand_in_frames(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    # Without a colour there are no escapes inside the words.
    monkeypatch.setenv("TERM", "dumb")
    assert "╭─ Plan, run and change ─" in line("--help").out
    assert "╭─ How the answer is sought ─" in line("run", "--help").out
    assert "<bool>" not in line("run", "--help").out
    result = line("run", "x", "--rounds", "9")
    assert result.code == 2
    assert "╭─ Error ─" in result.err
    assert "'--rounds': Input should be less than or equal to 3" in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"), [([], "COMMAND"), (["plam"], "No such command 'plam'. Did you mean 'plan'?")]
)
def test_what_is_no_command_is_refused(line: Line, arguments: list[str], reason: str) -> None:
    result = line(*arguments)
    assert result.code == 2
    assert reason in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["plan", "x", "--rounds", "4"], "'--rounds': Input should be less than or equal to 3"),
        (["run", "x", "--rounds", "0"], "'--rounds': Input should be greater than or equal to 1"),
        (
            ["run", "x", "--max-steps", "9" * 30],
            "'--max-steps': Input should be less than or equal to",
        ),
        (["run", "x", "--max-steps", "9" * 5_000], "as an integer, exceeded maximum size"),
        (["plan", "x", "--max-steps", "1.5"], "'--max-steps': Input should be a"),
        (["plan", "x", "--max-steps", "many"], "'--max-steps': Input should be a"),
        (["serve", "--port", "65536"], "'--port': Input should be less than or equal to 65535"),
        (["serve", "--port=-1"], "'--port': Input should be greater than or equal to 0"),
        (["run", "x", "--from", "0"], "'--from': Input should be greater than or equal to 1"),
        (
            ["plan", "x", "--workers", "text,facts,text"],
            "'--workers': 'text' stands in it twice",
        ),
        (["parse", "--workers", "a,a"], "'--workers': 'a' stands in it twice"),
        (["sessions", "list", "--limit", "9" * 30], "Input should be less than or equal to"),
        (["sessions", "list", "--tokens", "9" * 30 + ".."], "is no range; write 100..5000"),
        (["serve", "--port", "9" * 5_000], "as an integer, exceeded maximum size"),
        (
            ["serve", "--api-only", "--host", ""],
            "'--host': name an address, like 127.0.0.1",
        ),
        (
            ["sessions", "list", "--database", ""],
            "'--database': name a store, like sqlite:///",
        ),
        (["run", "x", "--database", " "], "'--database': name a store, like sqlite:///"),
    ],
)
def test_wrong_arguments_are_named_and_exit_with_2(line: Line, arguments: list[str], reason: str) -> None:
    result = line(*arguments)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err


@pytest.mark.parametrize(
    "arguments",
    [["--limit", str(LARGEST)], ["--tokens", "..999999999999999999"]],
)
def test_the_greatest_numbers_can_be_asked_for(line: Line, arguments: list[str]) -> None:
    assert line("sessions", "list", *arguments).code == 0


Complete = Callable[..., list[str]]


@pytest.fixture
def complete(line: Line, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What the installed command proposes to bash for the last of these words."""

    def proposed(*words: str) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["/usr/local/bin/conductor"])
            patch.setenv("_CONDUCTOR_COMPLETE", "complete_bash")
            patch.setenv("COMP_WORDS", " ".join(["conductor", *words]))
            patch.setenv("COMP_CWORD", str(len(words)))
            result = line()
        assert (result.code, result.err) == (0, "")
        return result.out.split()

    return proposed


def test_a_shell_completes_commands_options_and_choices(complete: Complete) -> None:
    assert complete("se") == ["set", "sessions", "serve"]
    assert complete("sessions", "v") == ["vacuum"]
    assert complete("run", "--budget-c") == ["--budget-cost", "--budget-calls"]
    assert complete("run", "--mode", "") == ["mini", "standard", "ultra"]
    assert complete("sessions", "list", "--state", "st") == ["stopped"]


@pytest.mark.slow
def test_a_shell_completes_session_ids_and_worker_names(complete: Complete, simulated: str) -> None:
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        one, other = (store.sessions.create(title).id for title in ("one", "other"))
    assert set(complete("sessions", "show", "")) == {"last", one, other}
    assert complete("run", "--session", one[:-1]) == [one]
    assert complete("sessions", "delete", other, one[:-1]) == [one]
    assert complete("plan", "--pool", simulated, "--workers", "beta,") == ["beta,alpha"]
    assert complete("plan", "--pool", "none.toml", "--workers", "") == []


def test_a_shell_is_given_no_name_that_it_could_run(complete: Complete, folder: Path) -> None:
    names = ("plain-1", "a b", "$(touch evil)", "`touch evil`", "a;b", "\\\\$x")
    workers = "".join(f"[[worker]]\nkind = 'simulated'\nname = '{name}'\n" for name in names)
    (folder / "pool.toml").write_text(workers, encoding="utf-8")
    assert complete("plan", "--workers", "") == ["plain-1"]


def test_completing_makes_no_store(complete: Complete, folder: Path) -> None:
    shutil.rmtree(folder / "data")
    assert complete("sessions", "show", "") == []
    assert not (folder / "data").exists()


def test_only_the_installed_command_offers_to_install_its_completion(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--install-completion" not in line("--help").out
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/conductor"])
    result = line("--help").out
    assert result.startswith("Usage: conductor ")
    assert "--install-completion" in result


@pytest.mark.thorough
@pytest.mark.slow
def test_an_interrupt_before_the_command_begins_ends_it_without_a_word(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING],
        cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def in_shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        line, shell=True, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ("sessions list --json", "<&-"),
        ("sessions list --json", ">&-"),
        ("sessions list --json", "2>&-"),
        ("run 'What is 2 + 2?'", "<&- >&- 2>&-"),
    ],
)
@pytest.mark.thorough
def test_a_stream_that_is_closed_is_no_fault(folder: Path, command: str, closed: str) -> None:
    ended = in_shell(folder, f"{CONDUCTOR} {command} {closed}")
    assert ended.returncode == 0
    assert bool(ended.stdout) == (">&-" not in closed.split())
    assert b"Traceback" not in ended.stderr


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["'What is 2 + 2?'", "'What is 2 + 2?' --events"])
def test_a_line_about_a_run_that_cannot_be_printed_does_not_end_it(folder: Path, arguments: str) -> None:
    (folder / "pool.toml").write_text('[[worker]]\nname = "sums"\nkind = "calculator"\n', encoding="utf-8")
    redirected = ">" if "--events" in arguments else "2>"
    ended = in_shell(folder, f"{CONDUCTOR} run {arguments} {redirected} /dev/full")
    if redirected == "2>":
        assert (ended.returncode, b"Answer: 4" in ended.stdout) == (0, True)
    else:
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"conductor: the output cannot be written: No space left on device.")
        assert re.fullmatch(rb".*\nconductor: session \w{8}; change it: .*\n", ended.stderr)
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert [session.state for session in store.sessions.listed()] == ["finished"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_reader_who_goes_away_is_no_fault(folder: Path) -> None:
    process = in_shell(folder, f"({CONDUCTOR} sessions list --json; echo ended with $? >&2) | true")
    # It may have written all before the reader went.
    assert process.stderr in (b"ended with 0\n", b"ended with 120\n")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_finds_no_room_is_one_sentence(folder: Path) -> None:
    process = in_shell(folder, f"{CONDUCTOR} run 'What is 2 + 2?' --json > /dev/full")
    assert process.returncode == 1
    assert b"conductor: the output cannot be written: No space left on device." in process.stderr
    assert b"Traceback" not in process.stderr
    assert b"Exception ignored" not in process.stderr
