"""How models state a choice or a value, in tags, fields, boxes, behind labels: what is read, and what is only
spoken of.
"""

from __future__ import annotations

import asyncio

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.score import Verdict
from conductor.evaluation.scorers import score

TOWNS = ("Quito", "Lima", "La Paz", "Bogota")

STATED = (
    "Final: {}", "**Final:** {}", "Verdict: {}", "Decision: {}", "Prediction: {}", "Response: {}",
    "Total: {}", "Value: {}", "Selected: {}", "Result: {}", "Thus, {}.", "Therefore: {}", "\u27f9 {}",
    "<answer>{}</answer>", "<choice>{}</choice>", "<final_choice>{}</final_choice>",
    "<selected_option>{}</selected_option>",
    "<prediction>{}</prediction>", "<response>\n{}\n</response>", "<letter>{}</letter> It is so.",
    "<number>{}</number>", "[ANSWER]\n{}\n[/ANSWER]", "\\[\n{}\n\\]", "Answer:\n$$\n{}\n$$",
    "The answer is\n\n$$\n{}\n$$",
    "Answer:\n\\[\n\\boxed{{{}}}\n\\]", "$\\boxed{{\\text{{{}}}}}$.", "\\fbox{{{}}}", '{{"answer": "{}"}}',
    '{{"final": "{}"}}', '{{"selected_option": "{}"}}', '{{"result": "{}", "sure": true}}',
    '{{"result": "done", "answer": "{}"}}', '```json\n{{"prediction": "{}"}}\n```',
    "Write `<answer>no</answer>` when unsure.\nAnswer: {}",
)  # fmt: skip
"""Ways to state an answer of any kind."""

CHOSEN = (
    "1. C", "2) C", "1: **C**", "1.C", "1. C) La Paz", "Q1: C", "Question 12: (C)", "Why is it so.\n\n1. C",
    "I'd say C", "I think C.", "Most likely C.", "Probably C", "I'd go for C.", "I opt for C.",
    "My vote is C", "My pick is C", "The correct letter is C.", "The only option that fits is C.",
    "Only C remains.", "We eliminate A, B and D, leaving C.", "By elimination, C.",
    "By process of elimination: C",
    "Label: C", "Letter: C", "<option>C</option>", "<answer>Option C</answer>", "C it is.", "[[C]]",
    "The answer has to be C", "It can only be C.", "C seems best.", "Answer: C; the others are lower.",
    "My response: C", "La Paz (C)", "**1. C**", "1.\nC",
)  # fmt: skip

UNSTATED = (
    "Final: C or D", "Final: not C", "Final: A long story", "<choice>not C</choice>", "1. A\n2. B\n3. C",
    "1. A man went to La Paz", "Section C", "Only C is wrong.", "I think C is wrong.", "probably not C",
    "I know that C, or D, probably C", "<think>Final: C</think>", "> Final: C\n\nI do not know.",
    "<think><choice>C</choice></think> I do not know.", "Write `Final: C` once you know it.",
    "Write `<choice>C</choice>` once you know it.",
    'Reply "<answer>C</answer>" if so. I do not know.', "Say `$\\boxed{C}$` if so. I do not know.",
    "I would avoid C.", "I reject C.", "Only C fails.", "It can't be C.", "Why not C?", "1. Not C",
    "For example:\n> The answer is C.\n\nI do not know.",
)  # fmt: skip
"""No choice: none is stated, or several, or one is an example, a thought or denied."""


def verdict(scorer: str, response: str, target: str) -> Verdict:
    choices = TOWNS if scorer == "choice" else None
    item = Item(id="q", input="Why?", target=(target,), choices=choices, scorer=scorer)
    return asyncio.run(score(response, item)).verdict


@pytest.mark.parametrize("form", STATED)
@pytest.mark.parametrize(
    ("scorer", "right", "wrong"), [("choice", "C", "B"), ("number", "42", "43"), ("exact", "42", "43")]
)
def test_a_stated_answer_is_read_in_each_form(form: str, scorer: str, right: str, wrong: str) -> None:
    response = form.format(right)
    assert (verdict(scorer, response, right), verdict(scorer, response, wrong)) == ("right", "wrong")


@pytest.mark.parametrize("response", CHOSEN)
def test_a_choice_is_read_from_what_models_write_about_it(response: str) -> None:
    assert (verdict("choice", response, "C"), verdict("choice", response, "D")) == ("right", "wrong")


@pytest.mark.parametrize("response", UNSTATED)
def test_what_is_only_spoken_of_is_no_choice(response: str) -> None:
    assert verdict("choice", response, "C") == "no answer"
