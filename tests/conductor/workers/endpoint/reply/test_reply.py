"""A think block at the beginning is kept apart from the answer, wherever the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.values.messages import Delta
from conductor.workers.endpoint.reply.reply import ThinkBlock

TEXTS = [
    ("", "", ""),
    ("blue", "", "blue"),
    ("  blue ", "", "  blue "),
    ("<think>so</think>blue", "so", "blue"),
    ("\n <think>\nso\n</think>\n\n blue \n", "\nso\n", "blue \n"),
    ("<THINK>so</Think>blue", "so", "blue"),
    ("<think></think>blue", "", "blue"),
    ("<think>so, and so", "so, and so", ""),
    ("<think>a < b </thin> c</think>blue", "a < b </thin> c", "blue"),
    ("<think>so</think>blue<think>no</think>", "so", "blue<think>no</think>"),
    ("<think>so</think>  ", "so", ""),
    ("<think>so</thi", "so</thi", ""),
    ("<thin", "", "<thin"),
    ("<thinking>so", "", "<thinking>so"),
    ("a <think>so</think>", "", "a <think>so</think>"),
    (" " * 100, "", " " * 100),
    (" " * 100 + "<think>so</think>", "", " " * 100 + "<think>so</think>"),
    ("</think>blue", "", "</think>blue"),
]


def _apart(pieces: list[str]) -> tuple[str, str]:
    """ThinkBlock and answer."""
    stream = ThinkBlock()
    items = [item for piece in pieces for item in stream.feed(piece)] + stream.end()
    assert all(item.text for item in items)
    thoughts = "".join(item.text for item in items if not isinstance(item, Delta))
    return thoughts, "".join(item.text for item in items if isinstance(item, Delta))


@pytest.mark.parametrize(("text", "reasoning", "answer"), TEXTS)
def test_a_block_is_told_from_the_answer(text: str, reasoning: str, answer: str) -> None:
    # In one piece blanks before the tag may be many: nothing had to be waited for.
    if len(text) < 64:
        assert _apart([text]) == (reasoning, answer)
    assert _apart(list(text)) == (reasoning, answer)


@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "<", ">", "/", "think", " ", "a"]), max_size=8),
    cut=st.integers(0, 40),
)
def test_where_the_stream_is_cut_changes_nothing(text: list[str], cut: int) -> None:
    whole = "".join(text)
    assert _apart([whole]) == _apart([whole[:cut], whole[cut:]]) == _apart(list(whole))


def test_an_answer_is_handed_on_at_once() -> None:
    stream = ThinkBlock()
    assert stream.feed("<t") == []
    assert stream.feed("he") == [Delta(text="<the")]
    assert stream.feed("<think>") == [Delta(text="<think>")]
