"""Each scorer on tricky pairs: a response, what is right, and whether the one is the other."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import pytest

from conductor.errors import DataError, LimitedProcessError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import score
from conductor.limited.command import limited, python
from conductor.limited.supervisor import Limits
from tests.support.processes.marked_processes import processes_with
from tests.support.runs.waiting import until, until_async


def scored(scorer: str, response: str, target: str, choices: tuple[str, ...] | None = None) -> Score:
    item = Item(id="q", input="Why?", target=(target,), choices=choices, scorer=scorer)
    return asyncio.run(score(response, item, allow_code=True))


@pytest.mark.parametrize(
    ("scorer", "response", "target", "right"),
    [
        ("exact", "Answer: paris.", "Paris", True),
        ("exact", "It is Paris, in France.\nAnswer: Paris", "Paris", True),
        ("exact", "Answer: Paris or Lyon", "Paris", False),
        ("exact", "Answer: 1,000", "1000", True),
        ("exact", "No answer: I do not know.", "No answer: I do not know.", False),
        ("exact", "", "", False),
        ("number", "Answer: 42 apples", "42", True),
        ("number", "Answer: $1,234.50", "1234.5", True),
        ("number", "\\boxed{\\frac{7}{2}}", "3.5", True),
        ("number", "Answer: 2 + 2 = 4", "4", True),
        ("number", "Answer: 4 or 5", "4", False),
        ("number", "Answer: between 4 and 5", "5", False),
        ("number", "Answer: −3", "-3", True),
        ("number", "Answer: 3.2 million", "3200000", True),
        ("number", "Answer: 15%", "15", True),
        ("number", "Answer: 0.15", "15%", False),
        ("number", "Answer: none", "0", False),
        ("number", "Answer: 1e3 m", "1000", True),
        ("number", "Answer: 1/3", "0.333", False),
        ("number", "Answer: 10", "1", False),
        ("flexible", "Answer: 3.14", "3.1416", True),
        ("flexible", "Answer: 3.2", "3.1416", False),
        ("flexible", "Answer: €20", "$20", False),
        ("flexible", "Answer: 20 dollars", "$20", True),
        ("flexible", "Answer: about 20", "$20", True),
        ("flexible", "Answer: a dog", "A dog.", True),
        ("flexible", "Answer: 0.001", "0", False),
    ],
)
def test_a_text_is_compared_as_people_would(scorer: str, response: str, target: str, right: bool) -> None:
    assert scored(scorer, response, target).right is right


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("Answer: B", True),
        ("Answer: (b)", True),
        ("**Answer: B) Paris**", True),
        ("Answer: option B", True),
        ("Answer: Paris", True),
        ("The answer is B.", True),
        ("\\boxed{B}", True),
        ("\\boxed{\\text{B}}", True),
        ("Answer: A", False),
        ("Answer: Rome", False),
        ("Answer: Because of Paris", False),
        ("Answer: E", False),
        ("A or B?\nI cannot decide.", False),
        ("", False),
    ],
)
def test_a_choice_is_named_by_its_letter_or_its_text(response: str, right: bool) -> None:
    assert scored("choice", response, "B", ("Rome", "Paris", "Lyon")).right is right


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("response", "target", "right"),
    [
        ("\\boxed{\\frac{1}{2}}", "$0.5$", True),
        ("Answer: $x^2 + 2x + 1$", "(x+1)^2", True),
        ("Answer: x = 3", "3", True),
        ("Answer: $\\sqrt{8}$", "2\\sqrt{2}", True),
        ("Answer: (1, 2)", "(1,2)", True),
        ("Answer: $\\{1, 2\\}$", "\\{2, 1\\}", True),
        ("Answer: $x^2 + 1$", "(x+1)^2", False),
        ("Answer: 2", "3", False),
        ("Answer: east", "East", True),
        ("Answer: east", "west", False),
        ("Answer: $", "1", False),
        ("", "1", False),
    ],
)
def test_formulas_are_compared_by_what_they_mean(response: str, target: str, right: bool) -> None:
    assert scored("mathematics", response, target).right is right


@pytest.mark.thorough
@pytest.mark.slow
def test_a_hostile_formula_is_not_right_and_its_process_ends() -> None:
    start = time.monotonic()
    outcome = scored("mathematics", "Answer: $9^{9^{9^{9^{9}}}}!$", "1")
    assert not outcome.right
    assert time.monotonic() - start < 200  # the limit holds; how fast is no matter


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "right", "reason"),
    [
        ("def f(x):\n    return x * 2", True, ""),
        ("def f(x):\n    return x", False, "AssertionError"),
        ("def f(x)\n", False, "SyntaxError"),
        ("import sys\nsys.exit(0)", False, "exit code 0"),
        ("import os\nos._exit(0)", False, "exit code 0"),
        ("raise SystemExit", False, "exit code 0"),
        ("print('x' * 10_000_000)\ndef f(x): return 2 * x", False, ""),
        ("f = [0] * 10**10", False, "MemoryError"),
        ("open('big', 'wb').write(b'x' * 10**8)", False, ""),
        (
            "import os\nassert not any('KEY' in name for name in os.environ)\ndef f(x): return 2 * x",
            True,
            "",
        ),
    ],
)
def test_a_program_is_run_against_its_tests(
    monkeypatch: pytest.MonkeyPatch, program: str, right: bool, reason: str
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    outcome = scored("code", f"Here:\n```python\n{program}\n```\n", "assert f(2) == 4")
    assert outcome.right is right, outcome
    assert reason in outcome.reason


HOSTILE: tuple[tuple[str, str], ...] = (
    ("while True: pass", "stopped after 3 s"),
    ("9 ** 9 ** 9 ** 9", "stopped after 3 s"),
    ("import os, time\nfor _ in range(9): os.fork()\ntime.sleep(100)", "processes|temporarily unavailable"),
    ("import os\nos.kill(0, 9)", "exit code|NameError"),
    (
        "import os, signal\nsignal.signal(15, signal.SIG_IGN)\nos.kill(0, 15)\nwhile True: pass",
        "stopped after 3 s",
    ),
    ("import os\ngone = os.getcwd()\nos.rmdir(gone)\nos.symlink(TARGET, gone)", "NameError"),
    ("import os\nos.symlink(TARGET, 'inside')", "NameError"),
    ("import os\nos.makedirs('a/b')\nos.chmod('a', 0)", "NameError"),
    ("import sys\nsys.stdout.write('passed')\nsys.exit(0)", "passed|exit code"),
    ("import os, sys\nos.close(1)\nos.close(2)", "exit code"),
    ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nf = [0] * 10 ** 10", "Error"),
    ("raise Exception('x' * 10 ** 7)", ""),
)
"""A program, and how its score explains that it is wrong. TARGET is a folder with a file that has to stay."""


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("program", "reason"), HOSTILE)
def test_a_hostile_program_is_wrong_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    monkeypatch.setattr(sys.modules["conductor.evaluation.scorers.program"], "LIMITS", Limits(seconds=3))
    outside = tmp_path / "kept"
    outside.write_text("x", encoding="utf-8")
    outcome = scored("code", program.replace("TARGET", repr(str(tmp_path))), "assert f(2) == 4")
    assert not outcome.right
    assert re.search(reason, outcome.reason), outcome.reason
    assert outside.read_text(encoding="utf-8") == "x"
    assert scored("code", "def f(x): return 2 * x", "assert f(2) == 4").right


@pytest.mark.thorough
@pytest.mark.parametrize("killed", ["0", "os.getppid()"])
def test_a_program_that_kills_what_watches_it_does_not_outlive_it(killed: str) -> None:
    """Where its parent is in view and dies, it dies with it."""
    mark = f"mark-{token_hex(8)}"
    program = f"import os, time\ntry:\n    os.kill({killed}, 9)\nexcept OSError:\n    pass\ntime.sleep(100)"
    with suppress(LimitedProcessError):
        asyncio.run(limited(python(program, mark), limits=Limits(seconds=2)))
    until(lambda: not processes_with(mark))


_RESTLESS = """
import os, signal, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(100)
        os._exit(0)
time.sleep(100)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("cancelled", [False, True])
def test_nothing_outlives_a_program_that_is_stopped(cancelled: bool) -> None:
    """It starts three processes in sessions of their own, which ignore signals; all end with it."""
    mark = f"mark-{token_hex(8)}"

    async def stopped() -> None:
        running = asyncio.create_task(limited(python(_RESTLESS, mark), limits=Limits(seconds=2)))
        if not cancelled:
            assert (await running).stopped == "stopped after 2 s"
            return
        # With the supervisor, whose arguments have the mark, too.
        await until_async(lambda: len(processes_with(mark)) == 5 or running.done())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(stopped())
    until(lambda: not processes_with(mark))


@pytest.mark.slow
def test_a_limited_process_has_no_network_where_the_system_lets_it() -> None:
    probe = "import os; print(os.readlink('/proc/self/ns/net'))"
    if str(Path("/proc/self/ns/net").readlink()) in asyncio.run(limited(python(probe))).output:
        pytest.skip("this system gives no network namespaces to processes")
    connect = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=1)"
    assert "unreachable" in asyncio.run(limited(python(connect))).output.lower()


def test_code_runs_only_where_it_is_allowed() -> None:
    item = Item(id="q", input="Write f.", target=("assert f",), scorer="code")
    with pytest.raises(DataError, match="--allow-code"):
        asyncio.run(score("```python\nf = 1\n```", item))
    with pytest.raises(DataError, match="is not Python"):
        scored("code", "f = 1", "assert (")
