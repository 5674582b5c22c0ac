"""Any text at all: it never crashes, never runs code, and takes work in proportion to its length."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.planner.parsing.parse import parse
from conductor.text.json_text import portable
from conductor.workflow.plan_report import Dialect
from tests.support.cases.property_cases import cases
from tests.support.cases.reading_work import growth, patience

PIECES = [
    *"[]{}\"'`,:=#\\\n \t\0“”‘’",
    *(
        '"""',
        "'''",
        "“““",
        "```",
        "<think>",
        "</think>",
        "None",
        "all",
        "0",
        "-1",
        "1.5",
        "\ud800",
        "\\ud800",
        "\\u12",
    ),
    *(
        "model_id",
        "model_id = [",
        "subtasks: [",
        "access_list = [[",
        '{"steps": [{',
        '"agent": ',
        "- access =",
    ),
    'model_id = [0]\nsubtasks = ["a"]\naccess_list = [[]]\n',
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join)
DIALECTS: st.SearchStrategy[Dialect] = st.sampled_from(("any", "binary", "position", "worker"))


@pytest.mark.slow
@cases(200)
@given(text=TEXTS, dialect=DIALECTS, round=st.integers(1, 2))
def test_no_text_crashes_the_parser(text: str, dialect: Dialect, round: int) -> None:
    report = parse(text, workers=("a", "b"), dialect=dialect, round=round)
    assert report.text == portable(text)
    assert report.ok == (report.workflow is not None or report.return_previous)
    for candidate in report.candidates:
        spans = [candidate.span, *(repair.span for repair in candidate.repairs)]
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert candidate.ok == (candidate.workflow is not None or candidate.return_previous)


@pytest.mark.parametrize("place", ["models", "subtasks", "access"])
def test_code_in_a_plan_is_never_run(place: str, tmp_path: Path) -> None:
    sentinel = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(sentinel)!r}).touch()"
    entries = {"models": "0", "subtasks": "'a'", "access": "[]"} | {place: code}
    text = "model_id = [{models}]\nsubtasks = [{subtasks}]\naccess_list = [{access}]".format(**entries)
    assert not parse(text, workers=("a",)).ok
    assert not sentinel.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        ("", "model_id = ["),
        ("", "model_id = [1, #"),
        ("", "subtasks = ['a "),
        ("", "subtasks = ['\\"),
        ("", '\nsubtasks = ["a '),
        ("", '\nsubtasks = ["a\\"'),
        ("", "subtasks = [“a "),
        ("", "subtasks = [“““a "),
        ("", "“model_id = [0] subtasks = [“a”] access_list = [[]]”\n"),
        ("", "subtasks = ['a', #"),
        ("subtasks = ['", "' "),
        ("subtasks = ['[", "'] a "),
        ("", '{"steps": [{a #'),
        ("", "{a: [{b #"),
        ("", "</think>"),
        ("", "<think>"),
        ("", "```\n"),
        ("subtasks = ['", "$x \\nu "),
        ("subtasks = ['C:", "\\n"),
        ("", '{\\"steps'),
        ("", "model_id：［"),
        ("", "For example: [{"),
    ],
)
def test_work_grows_with_the_length_of_a_hostile_text(start: str, repeated: str) -> None:
    def text(length: int) -> str:
        return (start + repeated * length)[:length]

    factor = growth(lambda text: parse(text, workers=("a",)), text, package="conductor.planner", length=1_500)
    assert factor == pytest.approx(2, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "repeated", ["[", "{", '"', "'", "`", "<think>", "\\(", "$", "access_list = [[", '{"steps":[{"']
)
def test_a_long_text_of_one_mark_is_read_to_its_end(repeated: str) -> None:
    with patience():
        assert not parse(repeated * (100_000 // len(repeated)), workers=("a",)).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [
        "subtasks = ['a'",
        "subtasks = ['a',",
        "{'a': 'b'",
        "{'a': 'b',",
        "{",
        "model_id =",
        "model_id",
        "[",
        ': "',
        "-",
    ],
)
def test_a_wide_gap_is_passed_over_once(start: str) -> None:
    with patience():
        assert not parse(f"{start}{' ' * 200_000}x", workers=("a",)).ok


def test_a_gap_of_many_comments_takes_no_room() -> None:
    """Where all of them are one match, it remembers a place to go back to for each."""
    # So long that what other threads of the process take meanwhile is little beside it.
    text = f"model_id = [{'/**/' * 40_000}"
    # What is made once, by whichever text is the first, is no room of this one.
    parse(text, workers=("a",))
    tracemalloc.start()
    try:
        assert not parse(text, workers=("a",)).ok
        assert tracemalloc.get_traced_memory()[1] < 5 * len(text)
    finally:
        tracemalloc.stop()
