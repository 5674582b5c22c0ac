"""Commands where their surroundings are odd: an encoding, an open stdin, a crowd, a closed folder."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from storage import SessionStore
from tests.studio.cli.command_line import process

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

QUESTION = "Què és № 日本 – 😀?"


@pytest.fixture(autouse=True)
def pool(folder: Path) -> None:
    worker = f'[[worker]]\nkind = "simulated"\nname = "alpha"\nanswer = "It is {QUESTION}"\n'
    (folder / "pool.toml").write_text(worker, encoding="utf-8")


@pytest.mark.parametrize(
    ("variables", "encoding"),
    [
        ({"PYTHONIOENCODING": "cp1252"}, "cp1252"),
        ({"PYTHONIOENCODING": "latin-1"}, "latin-1"),
        ({"PYTHONIOENCODING": "ascii"}, "ascii"),
        ({"LC_ALL": "C"}, "utf-8"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "ascii"),
    ],
    ids=str,
)
def test_any_text_is_printed_in_the_encoding_of_the_terminal(
    folder: Path, variables: dict[str, str], encoding: str
) -> None:
    (folder / "question.txt").write_text(QUESTION, encoding="utf-8")
    for arguments in (["run", "-"], ["sessions", "show", "last"], ["sessions", "list"]):
        with (
            (folder / "question.txt").open() as question,
            process(*arguments, folder=folder, variables=variables, stdin=question, encoding=None) as command,
        ):
            out, err = command.communicate(timeout=60)
        assert (command.returncode, b"Traceback" in err) == (0, False), err
        text = out.decode(encoding)  # type: ignore[attr-defined]
        assert QUESTION.encode(encoding, "backslashreplace").decode(encoding) in text


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("run", "why?"), 0, "this session has used"),
        (("run",), 2, "give a query, --workflow FILE, or --session ID"),
        (("plan",), 2, "give a query"),
        (("parse", "--workers", "a"), 2, "give a FILE, or - to wait for stdin"),
    ],
    ids=str,
)
def test_an_open_stdin_that_sends_nothing_holds_no_command_up(
    folder: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    with process(*arguments, folder=folder, stdin=subprocess.PIPE) as command:
        assert command.wait(60) == code
        assert sentence in command.stderr.read()  # type: ignore[union-attr]


def test_ten_first_runs_at_once_share_a_new_store(folder: Path) -> None:
    (folder / "data" / "conductor.db").unlink()
    with ExitStack() as stack:
        commands = [stack.enter_context(process("run", f"why {at}?", folder=folder)) for at in range(10)]
        ends = [(*command.communicate(timeout=120), command.returncode) for command in commands]
    assert [(out, code) for out, _, code in ends] == [(f"It is {QUESTION}\n", 0)] * 10, ends
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        assert {each.title for each in store.sessions.listed()} == {f"why {at}?" for at in range(10)}


def test_a_folder_that_cannot_be_written_to_needs_no_store(folder: Path) -> None:
    (folder / "data" / "conductor.db").unlink()
    (folder / "data").rmdir()
    before = sorted(folder.iterdir())
    folder.chmod(0o555)
    try:
        for options, end, reason in (
            ((), (1, ""), "the store data/conductor.db cannot be made: Permission denied"),
            (("--no-store",), (0, f"It is {QUESTION}\n"), ""),
        ):
            with process(
                "run", "why?", *options, folder=folder, module="tests.support.processes.privileges"
            ) as command:
                out, err = command.communicate(timeout=60)
            assert (command.returncode, out, reason in err) == (*end, True), err
    finally:
        folder.chmod(0o755)
    assert sorted(folder.iterdir()) == before
