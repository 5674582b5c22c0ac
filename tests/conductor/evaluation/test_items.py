"""Data sets are read from each kind of file; a broken line is named by its number and may be left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.evaluation.data_file import column_map, item_of, read_data
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.rows import MAX_LINE
from conductor.text.equality.choice import LETTERS

pytestmark = pytest.mark.usefixtures("no_collection")

GOOD = {"id": "a", "input": "1 + 1?", "target": "2"}


def written(folder: Path, *lines: object, name: str = "data.jsonl") -> Path:
    file = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts), encoding="utf-8")
    return file


def test_an_item_is_read_with_all_its_fields(tmp_path: Path) -> None:
    line = {
        **GOOD,
        "target": ["2", 2.0],
        "metadata": {"category": "sums", "x": 1},
        "scorer": "number",
        "files": {},
    }
    (item,) = read_data(written(tmp_path, line)).items
    assert item == Item(
        id="a", input="1 + 1?", target=("2", "2.0"), metadata={"category": "sums", "x": 1}, scorer="number"
    )
    assert (item.category, item.scored_by, item.question) == ("sums", "number", "1 + 1?")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{no", "it is not JSON"),
        ("[1]", "it holds no object"),
        (
            {"id": "b", "target": "2"},
            "it has no 'input', but 'id', 'target': name its column, such as --column input=COLUMN",
        ),
        ({"id": "b", "input": "", "target": "2"}, "input: string should have at least 1 character"),
        ({"id": "b", "input": "Why?"}, "it has no 'target', but 'id', 'input'"),
        ({**GOOD}, "the id 'a' stands there twice"),
        ({**GOOD, "id": "b", "scorer": "magic"}, "there is no scorer"),
        ({**GOOD, "id": "b", "choices": ["x", "y"]}, "neither the letter nor the text of one of its choices"),
        ("[" * 100_000, "nested too deeply"),
        ('{"input": "1?", "input": "2?", "target": "3"}', "it names 'input' twice in one object"),
        ({**GOOD, "target": True}, "its target is true, which is no text"),
        ({**GOOD, "target": None}, "its target is null, which is no text"),
        ('{"input": "1?", "target": NaN}', "its target is null"),
        ('{"input": "1?", "target": Infinity}', "its target is null"),
        ({**GOOD, "target": {"text": ["2"]}}, 'its target is {"text": ["2"]}, which is no text'),
        ({**GOOD, "target": []}, "target: "),
        ("// a remark", "it is not JSON: Expecting value at column 1"),
        ("{'input': 1}", "it is not JSON"),
        (json.dumps(GOOD) + ",", "it is not JSON: Extra data at column"),
        ("\0\0", "it has a byte 0 (NUL)"),
        (" " * 10 + "1" * (MAX_LINE + 5), "it has more than 2,000,000 characters"),
    ],
)
def test_a_broken_line_is_named_and_skipped_only_where_that_is_asked_for(
    tmp_path: Path, line: object, reason: str
) -> None:
    file = written(tmp_path, GOOD, "", line, {**GOOD, "id": "c"})
    with pytest.raises(DataError, match=r"Line 3 of data\.jsonl is no item: ") as raised:
        read_data(file)
    assert reason in str(raised.value)
    data = read_data(file, skip_broken=True)
    assert [item.id for item in data.items] == ["a", "c"]
    assert [(broken.number, reason in broken.reason) for broken in data.broken] == [(3, True)]


def test_a_table_is_read_by_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('\ufeffQuestion,Gold,Subject\n2*3?,6,maths\n"a, b",7,\n', encoding="utf-8")
    data = read_data(file, columns=column_map(["input=Question", "target=Gold"]), scorer="number")
    assert [(item.id, item.input, item.target) for item in data.items] == [
        ("2", "2*3?", ("6",)), ("3", "a, b", ("7",)),
    ]  # fmt: skip
    assert {item.scored_by for item in data.items} == {"number"}
    with pytest.raises(DataError, match="no column 'Answer'"):
        read_data(file, columns={"target": "Answer"})
    with pytest.raises(DataError, match="maps no column"):
        column_map(["question=Q"])


@pytest.mark.slow
def test_parquet_is_read_in_batches(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    rows = [{"id": number, "input": f"{number}?", "target": number} for number in range(1_200)]
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    assert [item.id for item in read_data(file).items] == [str(number) for number in range(1_200)]
    file.write_bytes(b"not parquet")
    with pytest.raises(DataError, match="is not a Parquet file"):
        read_data(file)


def test_what_is_no_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must end in \.jsonl"):
        read_data(tmp_path / "data.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_data(tmp_path / "missing.jsonl")
    with pytest.raises(DataError, match="has no item"):
        read_data(written(tmp_path, ""))


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD, "{no")
    assert len(read_data(file, limit=1).items) == 1


def test_choices_are_shuffled_by_seed_and_keep_what_is_right() -> None:
    item = Item(id="q", input="Capital?", target=("B",), choices=("Rome", "Paris", "Lyon", "Bern"))
    orders = set()
    for seed in range(20):
        shuffled = item.shuffled(seed)
        assert shuffled.choices is not None
        assert shuffled.choices[LETTERS.index(shuffled.target[0])] == "Paris"
        assert shuffled == item.shuffled(seed)
        orders.add(shuffled.choices)
    assert len(orders) > 5
    assert "B) " in item.question


def test_the_digest_is_of_the_questions_and_not_of_the_file() -> None:
    items = (Item(id="a", input="1?", target=("1",)), Item(id="b", input="2?", target=("2",)))
    assert DataSet("x", items).digest == DataSet("y", items).digest
    assert DataSet("x", items).digest != DataSet("x", items[:1]).digest


NEVER_RIGHT: tuple[tuple[str, object], ...] = (
    ("number", "There are 6*7=<<6*7=42>>42 pens.\n#### 42"),
    ("number", "2024-05-01"),
    ("number", "12:30"),
    ("number", "3:2"),
    ("number", "2 and 3"),
    ("number", "Lima"),
    ("exact", "Lima\nPeru"),
    ("exact", ""),
    ("contains", " "),
    ("flexible", ""),
    ("choice", "Lima"),
    ("choice", "7"),
    ("mathematics", ""),
    ("code", "assert ("),
    ("number", ["42", "Lima"]),
    # GSM8K as published, and answers as people copy them from responses.
    *((scorer, "There are 42 pens.\n#### 42") for scorer in ("exact", "contains", "flexible", "mathematics")),
    *((scorer, "#### 42") for scorer in ("exact", "mathematics")),
    *((scorer, "Answer: 42") for scorer in ("exact", "mathematics")),
    *(("exact", text) for text in ("The answer is Lima.", "**Answer:** Lima", '="2"')),
    *(("number", text) for text in ("NaN", "inf", "one", "0x2A", "1/0", "2-3", "2, 3", "1e9999")),
    ("flexible", "Answer: Lima"),
    ("contains", '="2"'),
    ("choice", "AB"),
)


@pytest.mark.parametrize(("scorer", "target"), NEVER_RIGHT)
def test_a_target_that_its_own_scorer_never_finds_right_is_refused_with_its_line(
    tmp_path: Path, scorer: str, target: object
) -> None:
    file = written(
        tmp_path, {**GOOD, "scorer": "number"}, {"input": "Why?", "target": target, "scorer": scorer}
    )
    with pytest.raises(DataError, match=rf"Line 2 of data\.jsonl is no item: .*by the scorer {scorer}"):
        read_data(file)
    assert len(read_data(file, skip_broken=True).items) == 1


@pytest.mark.parametrize(
    ("scorer", "target"),
    [
        ("number", "1.234,50 €"), ("number", "42 pens"), ("number", "$\\boxed{42}$"), ("exact", "the Rhine."),
        ("exact", "\\boxed{42}"), ("exact", "\\fbox{Lima}"),
        ("number", "1,234"), ("number", "42%"), ("number", "½"), ("number", "٤٢"), ("number", "`42`"),
        ("exact", "nan"), ("exact", "..."), ("exact", "**42**"), ("exact", "42.0"), ("exact", "Lima: a town"),
        ("contains", "Answer: 42"), ("contains", "#### 42"), ("flexible", "$20"), ("code", "assert f"),
        ("mathematics", "$\\boxed{42}$"), ("mathematics", "\\begin{pmatrix}1\\\\\n2\\end{pmatrix}"),
        ("mathematics", "\\text{no solution}"), ("judge", "anything"), ("choice", "(c)"),
    ],
)  # fmt: skip
def test_a_target_that_an_answer_can_be_is_taken(tmp_path: Path, scorer: str, target: str) -> None:
    (item,) = read_data(written(tmp_path, {"input": "Why?", "target": target, "scorer": scorer})).items
    assert item.target == (target,)


def test_what_is_no_number_in_json_is_no_target(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Line 1"):
        read_data(written(tmp_path, '{"input": "Why?", "target": NaN}'))
    with pytest.raises(DataError, match="target"):
        item_of({"input": "Why?", "target": float("nan")}, 1)


BLOOD = ["O", "A", "B", "AB"]


@pytest.mark.parametrize(
    ("choices", "target", "letter"),
    [
        (["Rome", "Paris"], "Paris", "B"),
        (["Rome", "Paris"], "b", "b"),
        (BLOOD, "b", "b"),
        (["Rome", "Paris"], ["Paris"], "B"),
        ([3, 4], 4, "B"),
        (BLOOD, "AB", "D"),
        (BLOOD, "C", "C"),
        (BLOOD, "(A)", "(A)"),
        (["A", "B"], "B", "B"),
    ],
)
def test_the_text_of_a_choice_becomes_its_letter_and_a_letter_stays_one(
    tmp_path: Path, choices: list[object], target: object, letter: str
) -> None:
    (item,) = read_data(written(tmp_path, {"input": "Which?", "choices": choices, "target": target})).items
    assert item.target == (letter,)


@pytest.mark.parametrize(
    ("choices", "target", "reason"),
    [
        (BLOOD, "A", "the letter of one choice and the text of another; write the letter in brackets"),
        (["x", "x", "y"], "x", "the text of several choices"),
        (["x", "y"], "C", "neither the letter nor the text"),
        (["x", "y"], ["A", "B"], "neither the letter nor the text"),
    ],
)
def test_a_choice_that_can_be_read_in_two_ways_is_refused(
    tmp_path: Path, choices: list[str], target: object, reason: str
) -> None:
    file = written(tmp_path, {"input": "Which?", "choices": choices, "target": target})
    with pytest.raises(DataError, match=reason):
        read_data(file)


USER = {"role": "user", "content": "1 + 1?"}


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([USER], "1 + 1?"),
        ([{"role": "system", "content": "Be short."}, USER], "Be short.\n\n1 + 1?"),
        ([{"role": "user", "content": [{"type": "text", "text": "1 +"}, {"type": "text", "text": "1?"}]}],
         "1 +\n1?"),
        ([USER, {"role": "assistant", "content": "2"}], None),
        ([{"role": "user", "content": [{"type": "image", "image": "x.png"}]}], None),
        (["1 + 1?"], None),
    ],
)  # fmt: skip
def test_messages_of_a_system_and_a_user_are_one_question(
    tmp_path: Path, messages: list[object], question: str | None
) -> None:
    file = written(tmp_path, {"input": messages, "target": "2"})
    if question is None:
        with pytest.raises(DataError, match="a system and a user alone"):
            read_data(file)
    else:
        assert read_data(file).items[0].input == question
