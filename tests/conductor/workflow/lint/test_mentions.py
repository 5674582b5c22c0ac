"""Which phrases refer to the output of other steps, and which only sound like it."""

from __future__ import annotations

import pytest

from conductor.workflow.lint.mentions import mentions

SPEAKING = [
    "Improve the previous answer.",
    "Verify the preceding step's result.",
    "Based on the previous step, write the conclusion.",
    "Summarise the outputs of the previous steps.",
    "Take the plan from the previous step and carry it out.",
    "Use the code written by the previous worker.",
    "Combine all previous responses.",
    "Read the previous workers' answers and decide.",
    "Use the result of step 1.",
    "Verify the output from step 2 and state the number.",
    "Merge the findings of steps 1 and 3.",
    "Start from step 1's plan.",
    "Take the result of the first step.",
]

HARMLESS = [
    "Describe what the previous work on attention left open.",
    "Use a method different from that of the previous agent.",
    "Use the previous attempts at a treaty.",
    "Solve it another way, not by the result of step 1.",
    "State the answer above the line.",
    "Check that the answer is above 100.",
    "Say what is wrong with the previous answer in the question.",
    "Check the student's previous answer.",
    "The user gave an earlier answer: mark the previous answer.",
    "Compute each term from the previous result.",
    "Repeat until the output differs from the previous output by less than 1e-9.",
    "Solve without looking at the previous answer.",
    "Do not rely on the previous answer.",
    "Work independently of the other attempts.",
    "Compare the responses of both species to heat.",
    'Translate "the previous answer was wrong".',
    "Describe the result of step 2 of the recipe.",
    "Say in step 3 what happens to the dough.",
    "Give a previous answer of yours if you have one.",
    "First find the roots, then verify the previous results.",
    "",
]


@pytest.mark.parametrize("instruction", SPEAKING)
def test_phrases_that_refer_to_other_steps(instruction):
    assert mentions(instruction)


@pytest.mark.parametrize("instruction", HARMLESS)
def test_phrases_that_only_sound_like_it(instruction):
    assert mentions(instruction) == ()


@pytest.mark.parametrize(
    ("instruction", "steps", "plural"),
    [
        ("Use the result of step 1.", (1,), False),
        ("Merge the findings of steps 1, 2 and 3.", (1, 2, 3), True),
        ("Take the result of the second step.", (2,), False),
        ("Combine all previous responses.", (), True),
        ("Improve the previous answer.", (), False),
    ],
)
def test_how_many_are_meant_and_which(instruction, steps, plural):
    mention = mentions(instruction)[0]
    assert (mention.steps, mention.plural) == (steps, plural)


def test_of_a_long_instruction_both_ends_are_read():
    long = "the previous and the above " * 4_000
    assert mentions(long) == ()
    assert mentions(f"{long}. Improve the previous answer.")
    assert mentions(f"Improve the previous answer. {long}")
