"""The answer of a response is found where models write it, and two ways to write one answer compare equal."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.equality.same_answer import comparable
from conductor.text.final_answer import ENDING, final_answer
from tests.support.cases.reading_work import growth, work


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Answer: 42", "42"),
        ("Some words.\nAnswer: 1\nNo, wait.\n**Answer:** 42", "42"),
        ("**Final answer: Paris.**", "Paris"),
        ("So we get \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("\\boxed{1} and then \\boxed{2}", "2"),
        ("\\boxed{an open one, and\nAnswer: 3", "3"),
        ("The answer is 17.", "17"),
        ("First line\nParis", "Paris"),
        ("Computed.\nAnswer: 5/6 (not checked)", "5/6"),
        ("The answer is\n17", "17"),
        ("Paris\n\n", "Paris"),
        ("", ""),
        ("I looked.\nNo answer: I know nothing of that.", ""),
        ("**Answer:**42", "42"),
        ("**Answer: ** 42", "42"),
        ("*Answer: 42*", "42"),
        ("**The answer is 42.**", "42"),
        ("Answer: **42**.", "42"),
        ("Answer: A*", "A*"),
        ("**Answer: A***", "A*"),
        ("Answer: *args", "*args"),
        ("Answer: __init__", "__init__"),
        ("Answer: |x|", "|x|"),
        ("| Answer | |x| |", "|x|"),
        ("Answer: 0.333...", "0.333..."),
        ("Answer: -5", "-5"),
        ("Answer >= 5", "Answer >= 5"),
        ("Answer ≠ 5", "Answer ≠ 5"),
        ("The answer is not 5.", "not 5"),
    ],
)
def test_the_answer_of_a_response_is_found(response: str, answer: str) -> None:
    assert final_answer(response) == answer


# simple-evals and MGSM have the languages, OpenCompass the Chinese choices.
LAST_LINES = [
    *("**Answer:**\n\n42", "### Answer\n42", "Answer = 42", "#### 42", "2. Answer: 42", "Answer： 42"),
    *("<answer>42</answer>", "<answer>\n42\n</answer>", "<final_answer>42</final_answer>", "SOLUTION: 42"),
    *("Answer: The final answer is $42$. I hope it is correct.", "\\text{Answer: } 42", "| Answer | 42 |"),
    *('{"answer": 42}', '```json\n{"answer": "42"}\n```', "```\n42\n```", "Answer: 42\n```\nAnswer: 7\n```"),
    *("答案：42", "答案是 42。", "最终答案：42", "答え：42", "答えは42です。", "정답: 42", "Antwort: 42"),
    *("Die Antwort lautet 42.", "La réponse est 42.", "Réponse : 42", "La respuesta es 42.", "Risposta: 42"),
    *("Resposta: 42", "Ответ — 42.", "Jibu ni 42.", "คำตอบคือ 42", "الإجابة: 42", "Jawaban: 42"),
    *("Answer: 42\n<think>Answer: 7", "Answer: 7</think>42", "[THINK]\\boxed{7}[/THINK]\nAnswer: 42"),
    *("So 42.\nThe answer is 42.", "> Answer: 7\n\nAnswer: 42", "Answer: 42\n\nI hope this helps!"),
]
CHOICES = [
    "答案：B",
    "答案选B",
    "答案选项为 B",
    "故选：B。",
    "选B",
    "所以答案是B。",
    "답: B",
    "回答：Ｂ",
    "My choice: (B)",
]


@pytest.mark.parametrize(
    ("response", "answer"), [*((line, "42") for line in LAST_LINES), *((line, "b") for line in CHOICES)]
)
def test_an_answer_is_read_in_the_forms_that_models_write(response: str, answer: str) -> None:
    assert comparable(final_answer(f"Work.\n{response}")) == answer


@given(st.lists(st.sampled_from(["\\boxed{", "\\fbox {", "{", "}", "a", "\n"]), max_size=30))
def test_the_last_box_that_is_closed_counts_however_they_stand_in_each_other(pieces: list[str]) -> None:
    text = "".join(pieces)

    def held(begins: int) -> str | None:
        for at in range(begins, len(text)):
            if text.count("}", begins, at + 1) > text.count("{", begins, at + 1):
                return text[begins:at]
        return None

    held_by_all = [held(box.end()) for box in re.finditer(r"\\(?:boxed|fbox)\s*\{", text)]
    closed = [each for each in held_by_all if each is not None]
    if closed:
        assert final_answer(text) == closed[-1].strip()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    ["\\boxed{", "\\boxed{}", "{", "}", "Answer: ", "answer is ", "**", "\n", "answer *", "<answer> "],
)
def test_work_grows_with_the_length_of_a_hostile_response_up_to_what_is_read(piece: str) -> None:
    def text(size: int) -> str:
        return (piece * size)[:size]

    assert growth(final_answer, text, package="conductor", length=ENDING // 4) < 2.6
    longest, longer = (
        work(partial(final_answer, text(size)), package="conductor") for size in (ENDING, 10**6)
    )
    assert longer <= 1.1 * longest


@given(st.text(max_size=200))
def test_any_text_has_an_answer_on_one_line_that_can_be_compared(text: str) -> None:
    answer = final_answer(text)
    assert isinstance(comparable(answer), str)
    assert "\n" not in answer or "\\boxed" in text or "\\fbox" in text
