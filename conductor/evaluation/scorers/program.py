"""The scorer of programs: a response's Python, and the tests of its item, in a limited process.

Off unless code is allowed. `text.program_text` reads the program, `limited` runs it.
"""

from __future__ import annotations

import re
from secrets import token_hex

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.limited.command import LIMITS, run_program
from conductor.limited.supervisor import Limits
from conductor.text.program_text import program_in, unfenced
from conductor.text.thoughts import answer_in_full

_NO_PYTHON = re.compile(r"\b(?:Syntax|Indentation)Error\b")
STARTED_LIMITS = Limits(seconds=3_600.0, memory=4 * 1024**3)
"""Of tests that start the program themselves, once for each of many inputs, each with seconds of its own; the
memory is LiveCodeBench's.
"""

PROGRAM = "PROGRAM"
"""Tests that read this name get the program's text under it, and the program does not run before them."""


async def code(response: str, item: Item) -> Score:
    """Whether the response's program passes the item's tests, which are its target: Python that raises where
    the program is wrong, with the program's names in view, or with its text as `PROGRAM`.

    Raises `DataError` where the target is no Python, and as `limited`.
    """
    answer, tests = answer_in_full(response), "\n".join(item.target)
    program = program_in(answer)
    try:
        reads_text = PROGRAM in compile(tests, "tests", "exec").co_names
    except (SyntaxError, ValueError) as error:
        raise DataError(f"The target of the item {item.id!r} is not Python: {error}.") from error
    if not program.strip():
        return Score.no_answer("", "the response holds no program")
    # A new one for each program: one that ends early, or prints what it likes, has not passed.
    mark = f"passed-{token_hex(8)}"
    start = f"{PROGRAM} = {program!r}" if reads_text else program
    limits = STARTED_LIMITS if reads_text else LIMITS
    script = f"{start}\n\n{tests}\n\nimport sys as _sys\n_sys.stdout.write({mark!r})\n_sys.stdout.flush()\n"
    ended = await run_program(script, limits)
    if ended.code == 0 and ended.output.endswith(mark):
        return Score.of(True, program)
    last = ended.output.strip().rpartition("\n")[2][:300]
    if program == unfenced(answer) and _NO_PYTHON.search(last):
        return Score.no_answer(program, "the response holds no program")
    return Score.of(False, program, reason=ended.stopped or last or f"exit code {ended.code}")
