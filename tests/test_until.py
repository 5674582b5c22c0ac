"""The one way in which tests wait: it returns what came, and it ends."""

from __future__ import annotations

import ast
import asyncio
import re
from itertools import count

import pytest

from tests.support.cases.own_sources import sources
from tests.support.runs.waiting import until, until_async


def test_it_returns_what_became_true():
    numbers = count()

    assert until(lambda: (number := next(numbers)) > 2 and number, every=0) == 3


def test_what_never_holds_ends_and_is_named():
    with pytest.raises(AssertionError, match=r"After 0\.\d s it does not hold: .*lambda: \[\]"):
        until(lambda: [], seconds=0.01)
    with pytest.raises(AssertionError, match="does not hold: the answer is there"):
        until(lambda: None, seconds=0, what="the answer is there")


def test_what_is_no_function_of_python_is_named_too():
    with pytest.raises(AssertionError, match="does not hold: <built-in method"):
        until(dict[str, str]().copy, seconds=0)


async def test_other_tasks_go_on_meanwhile():
    ready = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, ready.set)

    assert await until_async(ready.is_set)
    with pytest.raises(AssertionError, match=r"lambda: 0"):
        await until_async(lambda: 0, seconds=0.01)


ELSEWHERE = {
    "support/runs/waiting.py": "the one way to wait",
    "conductor/orchestration/test_rounds.py": "a Conductor that writes without an end",
    "conductor/workers/endpoint/test_chat_faults.py": "endpoints that send without an end",
    "faults/app.py": "reads what is kept until the kill",
    "faults/trial/people.py": "people who look again and again, and who rest, until their time is over",
    "faults/trial/programs.py": "programs that ask again and again, and that rest, until their time is over",
    "faults/trial/trial.py": "kills until the time is over",
    "storage/golden/make.py": "runs beside the code of older versions, without this folder",
    "studio/api/requests/test_large_requests.py": "counts the turns of an event loop",
}
"""Files with a loop that sleeps, and what it is for."""


@pytest.mark.slow
def test_no_other_loop_sleeps_until_something_holds():
    names = set()
    for name, source in sources().items():
        if ("sleep(" in source or "wait_for_timeout(" in source) and sleeping_loops(source):
            names.add(name)
    assert names <= ELSEWHERE.keys(), "wait with `until` or `until_async` of waiting.py, which end"


def sleeping_loops(source: str) -> list[int]:
    """The lines of each `while`, and each `for` over a range that is left early, in which a test sleeps."""
    lines = []
    for loop in ast.walk(ast.parse(source)):
        if isinstance(loop, ast.While | ast.For):
            within = [node for statement in loop.body for node in ast.walk(statement)]
            names = {getattr(node.func, "attr", "") for node in within if isinstance(node, ast.Call)}
            is_range = isinstance(loop, ast.For) and ast.unparse(loop.iter).startswith("range(")
            left = any(isinstance(node, ast.Break | ast.Return) for node in within)
            if names & {"sleep", "wait_for_timeout"} and (isinstance(loop, ast.While) or (is_range and left)):
                lines.append(loop.lineno)
    return lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("while not done():\n    time.sleep(1)", [1]),
        ("while True:\n    if done(): break\n    await asyncio.sleep(1)", [1]),
        ("while page.wait():\n    page.wait_for_timeout(1)", [1]),
        ("for _ in range(9):\n    if done(): break\n    time.sleep(1)", [1]),
        ("for piece in pieces:\n    time.sleep(1)\n    send(piece)", []),
        ("for n in range(9):\n    time.sleep(1)\n    send(n)", []),
        ("while left:\n    left = read()", []),
    ],
)
def test_a_loop_that_waits_is_known_however_it_is_written(source: str, lines: list[int]):
    assert sleeping_loops(source) == lines


ENDLESS = {
    "conductor/vllm/test_vllm_server.py": "joins by the product's own command, which ends with its server",
    "faults/victim.py": "ends with the process of the test",
}
"""Files with a wait that has no limit, and how it ends."""


WAIT = r"\.(?:wait|join)\(\)"


@pytest.mark.slow
def test_every_other_wait_has_a_limit():
    names = {name for name, source in sources().items() if re.search(WAIT, source) and endless_waits(source)}
    assert names <= ENDLESS.keys(), "give it a limit; pytest's ends no thread, and no process but its own"


def endless_waits(source: str) -> list[int]:
    """The lines on which a thread, process or flag is waited for without a limit.

    What is awaited ends with its task, and a new event, which no one can set, is there to hang.
    """
    nodes = list(ast.walk(ast.parse(source)))
    within = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    within |= {
        id(each) for call in calls if ast.unparse(call.func).endswith("wait_for") for each in call.args
    }
    written = ((call.lineno, ast.unparse(call)) for call in calls if id(call) not in within)
    return [line for line, call in written if re.search(f"{WAIT}$", call) and "Event()" not in call]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("thread.join()", [1]),
        ("assert 1\nassert process.wait() == 0", [2]),
        ("flag.wait(60)\nthread.join(timeout=60)", []),
        ("async def main():\n    await flag.wait()\n    await wait_for(flag.wait(), 60)", []),
        ("print(process.wait())", [1]),
        ("threading.Event().wait()", []),
    ],
)
def test_a_wait_without_a_limit_is_known(source: str, lines: list[int]):
    assert endless_waits(source) == lines
