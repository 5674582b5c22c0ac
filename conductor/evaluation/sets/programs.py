"""The tests of LiveCodeBench, HumanEval and BigCodeBench as the programs that the code scorer runs.

Knows how they pack their tests; runs nothing. A packed test is data of others: a pickle that would do more
than hold a text is refused, and so is one that unpacks to more than `MAX_TESTS`. Outputs are compared as by
LiveCodeBench's `testing_util.py`.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

from conductor.errors import DataError
from conductor.text.bounded_value import json_value

MAX_TESTS = 500_000_000
"""Bytes of one question's unpacked tests."""

_TESTS = """
import base64 as _base64, json as _json, zlib as _zlib
TESTS = _json.loads(_zlib.decompress(_base64.b64decode({packed!r})))
PRELUDE = {prelude!r}
"""

# What LiveCodeBench imports before every program.
_PRELUDE = (
    "".join(
        f"from {name} import *\n"
        for name in "string re datetime collections heapq bisect copy math random statistics itertools "
        "functools operator io sys json builtins typing".split()
    )
    + "import string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools, "
    "functools, operator, io, sys, json\nsys.setrecursionlimit(50000)\n"
)

SECONDS = 6
"""Seconds of a core that each test of LiveCodeBench may take, as there, after the imports of every program.
The limits of its process are those of waiting: on a busy machine a test takes longer by the clock.
"""

_BY_LINES = f"""
import subprocess, sys
from decimal import Decimal, InvalidOperation
def alike(one, other):
    one, other = ([line.strip() for line in text.strip().split("\\n")] for text in (one, other))
    if one == other or len(one) != len(other):
        return one == other
    try:
        numbers = ([[Decimal(word) for word in line.split()] for line in lines] for lines in (one, other))
        return next(numbers) == next(numbers)
    except InvalidOperation:
        return False
with open("answer.py", "w") as file:
    file.write(PRELUDE + "__import__('signal').setitimer(2, {SECONDS})\\n" + PROGRAM)
for number, test in enumerate(TESTS, start=1):
    done = subprocess.run([sys.executable, "answer.py"], input=test["input"], capture_output=True, text=True)
    assert done.returncode != -27, f"test {{number}}: timed out after {SECONDS} s"
    assert done.returncode == 0, f"test {{number}}: {{done.stderr.strip()[-200:]}}"
    assert alike(done.stdout, test["output"]), f"test {{number}}: another output"
"""

_IN_TIME = """
import signal as _signal
class _TimedOut(BaseException):
    pass
def _timed_out(*_):
    raise _TimedOut("timed out after {seconds} s")
def _in_time(called):
    _signal.signal(_signal.SIGPROF, _timed_out)
    _signal.setitimer(2, {seconds})
    try:
        return called()
    finally:
        _signal.setitimer(2, 0)
"""

_BY_CALLS = """
names, program = {{"__name__": "answer"}}, PROGRAM
exec(compile(PRELUDE, "prelude", "exec"), names)
_in_time(lambda: exec(compile(program, "answer", "exec"), names))
for number, test in enumerate(TESTS, start=1):
    given = [_json.loads(line) for line in test["input"].split("\\n")]
    def called():
        owner = names["Solution"]() if "Solution" in names else None
        return getattr(owner, {function!r})(*given) if owner is not None else names[{function!r}](*given)
    try:
        found = _in_time(called)
    except _TimedOut as error:
        raise AssertionError(f"test {{number}}: {{error}}") from None
    found = list(found) if isinstance(found, tuple) else found
    assert found == _json.loads(test["output"]), f"test {{number}}: another result"
"""

# The prompt is the head of a function: what it imports and defines is in view of a program that does not.
_BY_CHECK = """
names, program = {{"__name__": "answer"}}, PROGRAM
def run():
    exec(compile({prompt!r} + "\\n    pass\\n" + program, "answer", "exec"), names)
    exec(compile({test!r} + "\\ncheck(" + {function!r} + ")", "test", "exec"), names)
_in_time(run)
"""

_UNITTEST = """
import sys as _out
import unittest as _unittest
_found = _unittest.defaultTestLoader.loadTestsFromTestCase(TestCases)
_result = _unittest.TextTestRunner(stream=_out.stderr).run(_found)
assert _result.testsRun and _result.wasSuccessful(), "a test of its own fails"
"""


def livecodebench(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item of a row of `code_generation_lite`: tests that call a function, or that feed a program."""
    tests = [*_tests(row["public_test_cases"]), *_tests(row["private_test_cases"])]
    if not tests or not all(isinstance(each, dict) and {"input", "output"} <= each.keys() for each in tests):
        raise DataError("its tests are no list of inputs and outputs")
    starter = (row.get("starter_code") or "").strip()
    function = _read_json(row.get("metadata") or "{}", "metadata").get("func_name")
    cases = [{"input": each["input"], "output": each["output"]} for each in tests]
    packed = base64.b64encode(zlib.compress(json.dumps(cases).encode())).decode()
    body = _BY_LINES
    if function:
        body = _in_time(SECONDS) + _BY_CALLS.format(function=function)
    ask = (
        f"Write Python that completes this code:\n```python\n{starter}\n```"
        if starter
        else "Write a Python program that reads from standard input and writes the answer to standard output."
    )
    return {
        "id": row["question_id"],
        "input": f"{row['question_content']}\n\n{ask}\nGive it as one block between ```python and ```.",
        "target": _TESTS.format(packed=packed, prelude=_PRELUDE) + body,
        "metadata": {"category": row.get("difficulty"), "platform": row.get("platform")},
    }


def humaneval(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item of a row: its function to complete, and its `check`, 3 s as in openai/human-eval."""
    prompt, function = row["prompt"], row["entry_point"]
    ask = "Complete this function, and give all of it as one block between ```python and ```."
    target = _in_time(3) + _BY_CHECK.format(prompt=prompt, test=row["test"], function=function)
    return {"id": row["task_id"], "input": f"{ask}\n\n```python\n{prompt.rstrip()}\n```", "target": target}


def _in_time(seconds: int) -> str:
    return _IN_TIME.replace("{seconds}", str(seconds))


def bigcodebench(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item of a row: its instruction, and its `unittest` class as the tests."""
    return {"id": row["task_id"], "input": row["instruct_prompt"], "target": row["test"] + _UNITTEST}


def _tests(packed: str) -> list[Any]:
    """Test cases as JSON, or as JSON pickled, compressed and in base 64."""
    if packed.lstrip().startswith("["):
        return list(_read_json(packed, "tests"))
    try:
        inflate = zlib.decompressobj()
        content = inflate.decompress(base64.b64decode(packed, validate=True), MAX_TESTS)
        if inflate.unconsumed_tail:
            raise DataError(f"its tests unpack to more than {MAX_TESTS:,} bytes")
        text = _Text(io.BytesIO(content)).load()
    except (ValueError, zlib.error, pickle.UnpicklingError, EOFError, IndexError) as error:
        raise DataError(f"its tests cannot be unpacked ({error})") from error
    if not isinstance(text, str):
        raise DataError("its unpacked tests are no text")
    return list(_read_json(text, "tests"))


class _Text(pickle.Unpickler):
    """Unpickles values of Python's own kinds: nothing is looked up, so nothing can be called."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _read_json(text: str, what: str) -> Any:
    try:
        return json_value(text)
    except ValueError as error:
        raise DataError(f"its {what} are not JSON ({error})") from error
