"""The set of everyday questions as a person asks them: `conductor run --json`, one after the other."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from command_line import Line

ROOT = Path(__file__).parents[4]
QUESTIONS = ROOT / "tests/conductor/workers/offline/questions/everyday.csv"
ENOUGH = 0.6
OF_TODAY = re.compile(r"today|birthday", re.IGNORECASE)


@pytest.mark.thorough
def test_most_everyday_questions_are_answered_rightly_and_the_rest_is_no_answer(
    line: Line,
) -> None:
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not OF_TODAY.search(row["question"])]
    right, wrong = 0, []
    for row in rows:
        result = line("run", row["question"], "--json")
        shape = json.loads(result.out)
        if not shape["answered"]:
            assert (result.code, len(shape["nearby"])) == (3, 3)
        elif result.code == 0 and row["answer"].casefold() in shape["answer"].splitlines()[-1].casefold():
            right += 1
        else:
            wrong.append(f"{row['question']} -> {shape['answer']}")
    assert not wrong
    assert right >= ENOUGH * len(rows)
