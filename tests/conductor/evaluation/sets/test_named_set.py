"""Each named set is read from files with its published columns, into items that its scorer scores."""

from __future__ import annotations

import asyncio
import base64
import csv
import gzip
import json
import os
import pickle
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.scorers import score
from conductor.evaluation.sets.named_set import NAMED_SETS, load_named, named_set, read_named


def packed(tests: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


CALLS = [{"input": "[1, 2]\n3", "output": "6", "testtype": "functional"}]
LINES = [{"input": "2 3\n", "output": "5\n", "testtype": "stdin"}]

LEETCODE = {
    "question_title": "Sum", "question_content": "Add them.", "platform": "leetcode", "question_id": "3000",
    "contest_id": "c", "contest_date": "2025-01-04T00:00:00",
    "starter_code": "class Solution:\n    def total(self, xs: List[int], y: int) -> int:\n        ",
    "difficulty": "easy", "public_test_cases": json.dumps(CALLS), "private_test_cases": packed(CALLS),
    "metadata": json.dumps({"func_name": "total"}),
}  # fmt: skip
ATCODER = {
    **LEETCODE, "platform": "atcoder", "question_id": "abc1_a", "starter_code": "",
    "public_test_cases": json.dumps(LINES), "metadata": "{}",
    "private_test_cases": packed([*LINES, {**LINES[0], "input": "4 -4", "output": "0"}]),
}  # fmt: skip
BIGCODE = {
    "task_id": "BigCodeBench/0", "complete_prompt": "def task_func(x):", "instruct_prompt": "Double x.",
    "canonical_solution": "    return 2 * x", "code_prompt": "def task_func(x):", "entry_point": "task_func",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(task_func(2), 4)\n", "doc_struct": "{}", "libs": "[]",
}  # fmt: skip

HUMANEVAL = {
    "task_id": "HumanEval/0", "entry_point": "total", "canonical_solution": "    return sum(xs)\n",
    "prompt": 'from typing import List\n\n\ndef total(xs: List[int]) -> int:\n    """ Add them. """\n',
    "test": "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate([1, 2]) == 3\n",
}  # fmt: skip

ROWS: Mapping[str, Mapping[str, Any]] = {
    "aime24": {"id": 60, "problem": "Find $x$.", "solution": "\\boxed{070}", "answer": "070",
               "url": "https://x/index.php/2024_AIME_I_Problems/Problem_1", "year": "2024"},
    "mmlupro": {
        "question_id": 70, "question": "Which?", "options": ["a", "b", "N/A", "d", "e"], "answer": "D",
        "answer_index": 3, "cot_content": "", "category": "law", "src": "ori_mmlu-law",
    },
    "gsm8k": {"question": "How many?", "answer": "She has 3*400=<<3*400=1200>>1200.\n#### 1,200"},
    "humaneval": HUMANEVAL,
    "aime25": {"problem": "Find $x$.", "answer": "070", "id": "0"},
    "gpqa": {
        "Record ID": "rec1", "Question": "Which?\n", "Correct Answer": " Red\n", "Incorrect Answer 1": "Blue",
        "Incorrect Answer 2": "Green", "Incorrect Answer 3": "None of them",
        "High-level domain": "Physics", "Subdomain": "Optics",
    },
    "math500": {
        "problem": "Simplify.", "solution": "...", "answer": "\\frac{3}{2}", "subject": "Algebra", "level": 2,
        "unique_id": "test/algebra/1.json",
    },
    "mmlu": {"question": "Which?", "subject": "anatomy", "choices": ["a", "b", "c", "d"], "answer": 2},
    "rlpr": {
        "data_source": "WebInstruct", "ability": "Physics",
        "prompt": [{"role": "system", "content": "Think."}, {"role": "user", "content": "How much?"}],
        "reward_model": {"ground_truth": "\\$20", "style": "rule"}, "extra_info": {"index": 0},
    },
    "livecodebench": LEETCODE,
    "bigcodebench": BIGCODE,
}  # fmt: skip

ANSWERS = {
    "aime24": ("\\boxed{70}", "\\boxed{71}"),
    "mmlupro": ("Answer: d", "Answer: e"),
    "gsm8k": ("\\boxed{1200}", "\\boxed{3}"),
    "humaneval": (
        "```python\ndef total(xs: List[int]) -> int:\n    return sum(xs)\n```",
        "```python\ndef total(xs):\n    return 0\n```",
    ),
    "aime25": ("\\boxed{70}", "\\boxed{71}"),
    "gpqa": ("Answer: Red", "Answer: Blue"),
    "math500": ("\\boxed{1.5}", "\\boxed{2.5}"),
    "mmlu": ("Answer: c", "Answer: d"),
    "rlpr": ("\\boxed{20 dollars}", "\\boxed{30 dollars}"),
    "livecodebench": (
        "```python\nclass Solution:\n    def total(self, xs: List[int], y):\n        return sum(xs) + y\n```",
        "```python\nclass Solution:\n    def total(self, xs, y):\n        return y\n```",
    ),
    "bigcodebench": (
        "```python\ndef task_func(x):\n    return 2 * x\n```",
        "```python\ndef task_func(x):\n    return x\n```",
    ),
}


def written(folder: Path, name: str, *rows: Mapping[str, Any], kind: str | None = None) -> Path:
    """The rows in a file of the kind that the set is published in, or of another."""
    file = folder / f"{name}{Path(NAMED_SETS[name].file).suffix if kind is None else f'.{kind}'}"
    if file.suffix == ".csv":
        with file.open("w", newline="", encoding="utf-8") as opened:
            writer = csv.DictWriter(opened, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    elif file.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    else:
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED_SETS)
def test_a_row_becomes_an_item_that_separates_right_from_wrong(tmp_path: Path, name: str) -> None:
    data = read_named(NAMED_SETS[name], written(tmp_path, name, ROWS[name]))
    (item,) = (each.shuffled(3) for each in data.items)
    assert (data.name, item.scored_by) == (name, NAMED_SETS[name].scorer)
    right, wrong = (asyncio.run(score(each, item, allow_code=True)) for each in ANSWERS[name])
    assert (right.right, wrong.right) == (True, False), (right, wrong)


def test_the_columns_of_a_set_find_their_places(tmp_path: Path) -> None:
    (gpqa,) = read_named(NAMED_SETS["gpqa"], written(tmp_path, "gpqa", ROWS["gpqa"])).items
    assert gpqa == Item(
        id="rec1", input="Which?", choices=("Red", "Blue", "Green", "None of them"), target=("A",),
        scorer="choice", metadata={"category": "Physics", "subdomain": "Optics"},
    )  # fmt: skip
    (formula,) = read_named(NAMED_SETS["math500"], written(tmp_path, "math500", ROWS["math500"])).items
    assert (formula.id, formula.category, formula.target) == (
        "test/algebra/1.json", "Algebra", ("\\frac{3}{2}",),
    )  # fmt: skip
    arena = {"problem_idx": 4, "problem": "Find $y$.", "answer": 12, "problem_type": ["Algebra"]}
    (whole,) = read_named(NAMED_SETS["aime25"], written(tmp_path, "aime25", arena)).items
    assert (whole.id, whole.target) == ("4", ("12",))


BROKEN: tuple[tuple[str, Mapping[str, Any], str], ...] = (
    ("aime25", {"answer": "12.5"}, "its answer '12.5' is no whole number from 0 to 999"),
    ("aime25", {"answer": 1000}, "no whole number from 0 to 999"),
    ("aime25", {"answer": "12 or 13"}, "no whole number from 0 to 999"),
    ("aime25", {"answer": "5%"}, "no whole number from 0 to 999"),
    ("aime25", {"year": "2024"}, "a problem of 2024, and this the set of 2025"),
    ("aime24", {"answer": None, "solution": "70"}, "its solution has no"),
    ("gsm8k", {"answer": "1200"}, "does not end with ####"),
    ("gsm8k", {"answer": "#### many"}, "no answer could be its target 'many'"),
    ("mmlupro", {"answer": "B"}, "names none of its options"),
    ("mmlupro", {"answer": "F", "answer_index": 5}, "names none of its options"),
    ("mmlupro", {"answer": "C", "answer_index": 2}, "an option without a text"),
    ("humaneval", {"test": None}, "it has no 'test'"),
    ("aime25", {"problem": 7}, "hold other kinds of values"),
    ("gpqa", {"Incorrect Answer 2": ""}, "it has no 'Incorrect Answer 2'"),
    ("livecodebench", {"private_test_cases": "!"}, "its tests cannot be unpacked"),
    ("livecodebench", {"private_test_cases": packed([1])}, "no list of inputs and outputs"),
    ("livecodebench", {"public_test_cases": "[1"}, "its tests are not JSON"),
    ("math500", {"answer": None}, "its solution has no"),
)


@pytest.mark.parametrize(("name", "change", "reason"), BROKEN)
def test_a_broken_row_is_named_by_its_number_and_may_be_left_out(
    tmp_path: Path, name: str, change: Mapping[str, Any], reason: str
) -> None:
    named = NAMED_SETS[name]
    file = written(tmp_path, name, ROWS[name], {**ROWS[name], **change})
    with pytest.raises(DataError, match="is no item: ") as raised:
        read_named(named, file)
    assert reason in str(raised.value)
    data = read_named(named, file, skip_broken=True)
    assert (len(data.items), len(data.broken)) == (1, 1)


@pytest.mark.parametrize(("answer", "letter"), [(0, "A"), (3, "D"), ("B", "B")])
def test_an_index_is_a_letter(answer: object, letter: str) -> None:
    assert NAMED_SETS["mmlu"].fields({**ROWS["mmlu"], "answer": answer})["target"] == letter


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": 4}, "neither 0 to 3"),
        ({"answer": -1}, "neither 0 to 3"),
        ({"choices": ["a"]}, "no list of four"),
    ],
)
def test_an_index_of_no_choice_is_refused(change: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        NAMED_SETS["mmlu"].fields({**ROWS["mmlu"], **change})


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, ("touch /tmp/conductor-was-here",))


def test_a_pickle_that_would_call_something_is_refused() -> None:
    content = base64.b64encode(zlib.compress(pickle.dumps(Hostile()))).decode()
    with pytest.raises(DataError, match=r"cannot be unpacked \(it names"):
        NAMED_SETS["livecodebench"].fields({**LEETCODE, "private_test_cases": content})


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "right", "reason"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", True, ""),
        ("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())), end='')", True, ""),
        ("print(sum(map(float, input().split())))", True, ""),
        ("if __name__ == '__main__':\n    print(sum(map(int, input().split())))\n    sys.exit(0)", True, ""),
        ("print(5)", False, "test 3: another output"),
        ("raise ValueError('no')", False, "ValueError: no"),
        ("input()\nwhile True: pass", False, "timed out after 6"),
    ],
)
def test_a_program_is_fed_its_inputs(program: str, right: bool, reason: str) -> None:
    item = Item.model_validate(NAMED_SETS["livecodebench"].fields(ATCODER))
    outcome = asyncio.run(score(f"```python\n{program}\n```", item, allow_code=True))
    assert outcome.right is right, outcome
    assert reason in outcome.reason


@pytest.mark.parametrize("name", ["gpqa", "GPQA", "MATH-500", "LiveCodeBench"])
def test_a_set_is_found_however_its_name_is_written(name: str) -> None:
    assert named_set(name) is not None
    assert named_set("questions.jsonl") is None


@pytest.mark.skipif("CONDUCTOR_TEST_INSPECT" in os.environ, reason="there the library is installed")
def test_without_the_library_loading_names_the_extra_and_the_file() -> None:
    with pytest.raises(DataError, match=r"pip install 'datasets>.*', or download gpqa_diamond\.csv from"):
        load_named(NAMED_SETS["gpqa"])


_LOAD = """
import dataclasses, json, sys
sys.path.append(sys.argv[1])
from conductor.evaluation.sets.named_set import load_named
from conductor.evaluation.sets.named_set import NAMED_SETS
kind = {".csv": "csv", ".jsonl": "json", ".parquet": "parquet"}
for name, file in json.loads(sys.argv[2]).items():
    hub = {"path": kind[file[file.rindex("."):]], "data_files": file, "split": "train"}
    data = load_named(dataclasses.replace(NAMED_SETS[name], hub=hub))
    print(json.dumps([name, [item.model_dump(mode="json") for item in data.items]]))
"""


@pytest.mark.slow
@pytest.mark.skipif("CONDUCTOR_TEST_INSPECT" not in os.environ, reason="`make test-inspect` has the library")
def test_the_library_gives_the_items_that_the_file_gives(tmp_path: Path) -> None:
    files = {name: str(written(tmp_path, name, row)) for name, row in ROWS.items()}
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run(
        [os.environ["CONDUCTOR_TEST_INSPECT"], "-c", find], check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()
    loaded = subprocess.run(
        [sys.executable, "-c", _LOAD, packages, json.dumps(files)],
        check=True, capture_output=True, encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
    ).stdout  # fmt: skip
    for name, items in map(json.loads, loaded.splitlines()):
        expected = read_named(NAMED_SETS[name], Path(files.pop(name))).items
        assert [Item.model_validate(item) for item in items] == list(expected)
    assert not files


PUBLISHED: tuple[tuple[str, str, Mapping[str, Any], str, str], ...] = (
    ("aime24", "jsonl", {"id": 60, "problem": "P", "solution": "So $\\boxed{204}$.", "url": "x/2024_AIME_I"},
     "60", "204"),
    ("aime24", "parquet", {"ID": "2024-II-4", "Problem": "P", "Solution": "...", "Answer": 33},
     "2024-II-4", "33"),
    ("aime24", "parquet", {"id": 60, "problem": "P", "solution": "...", "answer": "025", "url": "2024_AIME",
                           "year": "2024"}, "60", "025"),
    ("aime25", "jsonl", {"problem": "P", "answer": "70", "id": "0"}, "0", "70"),
    ("aime25", "parquet", {"problem_idx": 4, "problem": "P", "answer": 12, "problem_type": ["Algebra"]},
     "4", "12"),
    ("aime25", "parquet", {"id": 0, "problem": "P", "answer": "70", "solution": "", "year": "2025"},
     "0", "70"),
    ("aime25", "jsonl", {"question": "P", "answer": "70"}, "1", "70"),
    ("aime25", "jsonl", {"question": "P", "answer": "336^\\circ"}, "1", "336"),
    ("aime25", "jsonl", {"problem": "P", "answer": "$336^{\\circ}$"}, "1", "336"),
    ("aime25", "jsonl", {"problem": "P", "answer": "\\boxed{\\text{70}}"}, "1", "70"),
    ("aime24", "jsonl", {"ID": "2024-I-1", "Year": 2024, "Question": "P", "Answer": "204"},
     "2024-I-1", "204"),
    ("math500", "jsonl", {"problem": "P", "answer": "3", "subject": "Algebra", "unique_id": "test/a/1.json"},
     "test/a/1.json", "3"),
    ("math500", "csv", {"Question": "P", "Answer": "\\frac{3}{2}"}, "2", "\\frac{3}{2}"),
    ("math500", "json", {"problem": "P", "level": "Level 5", "type": "Algebra",
                         "solution": "It is $\\boxed{\\frac{3}{2}}$."}, "1", "\\frac{3}{2}"),
    ("mmlu", "parquet", {"question": "P", "subject": "law", "choices": ["O", "A", "B", "AB"], "answer": 0},
     "1", "A"),
    ("mmlu", "csv", {"": "0", "Question": "P", "A": "O", "B": "A", "C": "B", "D": "AB", "Answer": "B",
                     "Subject": "anatomy"}, "2", "B"),
    ("gpqa", "csv", {"Question": "P", "Correct Answer": "A", "Incorrect Answer 1": "B",
                     "Incorrect Answer 2": "C", "Incorrect Answer 3": "D"}, "2", "A"),
    ("mmlupro", "parquet", ROWS["mmlupro"], "70", "C"),
    ("gsm8k", "jsonl", ROWS["gsm8k"], "1", "1,200"),
    ("gsm8k", "parquet", ROWS["gsm8k"], "1", "1,200"),
    ("rlpr", "parquet", ROWS["rlpr"], "1", "\\$20"),
)  # fmt: skip
"""Sets as their publishers lay them out: a set, a kind of file, a made-up row, its item's id and target."""


@pytest.mark.slow
@pytest.mark.parametrize("published", PUBLISHED)
def test_each_published_layout_of_a_set_is_read(
    tmp_path: Path, published: tuple[str, str, Mapping[str, Any], str, str]
) -> None:
    name, kind, row, key, target = published
    (item,) = read_named(NAMED_SETS[name], written(tmp_path, name, row, kind=kind)).items
    assert (item.id, item.target) == (key, (target,))
    if item.choices is not None:
        # Texts that are letters are never taken for the letters of choices.
        shuffled = item.shuffled(3)
        right = item.choices["ABCD".index(target)]
        assert shuffled.choices is not None
        assert shuffled.choices["ABCD".index(shuffled.target[0])] == right


def test_tables_without_heads_and_packed_lines_are_read(tmp_path: Path) -> None:
    table = tmp_path / "anatomy_test.csv"
    table.write_text('"Which, then?",O,A,B,AB,A\nAnd?,x,y,z,A,D\n', encoding="utf-8")
    items = read_named(NAMED_SETS["mmlu"], table).items
    assert [(item.input, item.target) for item in items] == [("Which, then?", ("A",)), ("And?", ("D",))]
    lines = tmp_path / "HumanEval.jsonl.gz"
    lines.write_bytes(gzip.compress(json.dumps(HUMANEVAL).encode()))
    (item,) = read_named(NAMED_SETS["humaneval"], lines).items
    assert item.id == "HumanEval/0"


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "right", "reason"),
    [
        ("{prompt}{canonical_solution}", True, ""),
        ("def total(xs: List[int]) -> int:\n    return sum(xs)", True, ""),
        ("    return sum(xs)", True, ""),
        ("def total(xs):\n    return len(xs)", False, "AssertionError"),
        ("def other(xs):\n    return sum(xs)", False, "AssertionError"),
        ("def total(xs):\n    while True: pass", False, "timed out after 3 s"),
    ],
)
def test_a_function_of_humaneval_is_checked_behind_its_prompt(program: str, right: bool, reason: str) -> None:
    item = Item.model_validate(NAMED_SETS["humaneval"].fields(HUMANEVAL))
    outcome = asyncio.run(score(program.format(**HUMANEVAL), item, allow_code=True))
    assert (outcome.right, reason in outcome.reason) == (right, True), outcome


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "right", "reason"),
    [
        ("return sum(xs) + y", True, ""),
        ("_ = bytearray(2 * 1024**3); return sum(xs) + y", True, ""),
        ("_ = bytearray(5 * 1024**3); return sum(xs) + y", False, "MemoryError"),
        ("while True: pass", False, "test 1: timed out after 6 s"),
        (
            "try:\n            while True: pass\n        except Exception: return sum(xs) + y",
            False,
            "timed out",
        ),
    ],
)
def test_a_called_program_has_the_limits_of_livecodebench(body: str, right: bool, reason: str) -> None:
    item = Item.model_validate(NAMED_SETS["livecodebench"].fields(LEETCODE))
    program = f"class Solution:\n    def total(self, xs, y):\n        {body}"
    outcome = asyncio.run(score(f"```python\n{program}\n```", item, allow_code=True))
    assert (outcome.right, reason in outcome.reason) == (right, True), outcome
