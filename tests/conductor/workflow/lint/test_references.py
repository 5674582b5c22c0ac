"""Which ways of speaking mean other steps' work, and which only sound like it."""

from __future__ import annotations

import pytest

from conductor.checks.wording import made, mentions, taken_up

SPEAKING = [
    "Improve the previous answer.",
    "Review the previous response and correct it.",
    "Check the prior solution for mistakes.",
    "Verify the preceding step's result.",
    "Use the earlier answers to decide.",
    "Based on the previous step, write the conclusion.",
    "Summarise the outputs of the previous steps.",
    "Take the plan from the previous step and carry it out.",
    "Continue from the previous step.",
    "Use the code written by the previous worker.",
    "Refine what the previous agent wrote.",
    "Combine all previous responses.",
    "Read the previous workers' answers and decide.",
    "Polish the above draft.",
    "Is the answer above correct? Decide.",
    "Correct the solution above.",
    "Check the answer above for arithmetic.",
    "Compare the attempts above.",
    "Compare the three attempts.",
    "Merge the candidate answers into one.",
    "Synthesize the responses into a final answer.",
    "Aggregate all answers and vote.",
    "Follow the plan that you see.",
    "Check the answer that you can see and improve it.",
    "Judge the two independent solutions.",
    "Weigh the answers you were given.",
    "Look at the other workers' answers.",
    "Decide between the other attempts.",
    "Use the result of step 1.",
    "Verify the output from step 2 and state the number.",
    "Merge the findings of steps 1 and 3.",
    "Start from step 1's plan.",
    "Take the result of the first step.",
    "Summarise the work so far.",
    "The previous answer may be wrong; solve it again.",
    "Given the previous analysis, decide.",
    "Using the previous solution, write the final code.",
    "Double-check the previous results.",
]

HARMLESS = [
    "Compare with the previous year.",
    "State the answer above the line.",
    "Put the answer above, the working below.",
    "Write the answer above 100 in words.",
    "Check the answer.",
    "Check that the answer is above 100.",
    "Say what is wrong with the previous answer in the question.",
    "Check the student's previous answer.",
    "The user gave an earlier answer: mark the previous answer.",
    "Compute each term from the previous result.",
    "Repeat until the output differs from the previous output by less than 1e-9.",
    "Solve without looking at the previous answer.",
    "Do not rely on the previous answer.",
    "Work independently of the other attempts.",
    "Explain why the other answers are wrong.",
    "List the previous attempts to reform the calendar.",
    "Summarise previous work on attention.",
    "Compare the two solutions of the equation.",
    "Compare the responses of both species to heat.",
    'Translate "the previous answer was wrong".',
    "Describe the result of step 2 of the recipe.",
    "Say in step 3 what happens to the dough.",
    "Show all steps above the result.",
    "Give a previous answer of yours if you have one.",
    "Mention your previous answer.",
    "Explain the above theorem.",
    "Find the previous prime and the next one.",
    "Summarise the text above.",
    "First find the roots, then verify the previous results.",
    "",
    "Go.",
]


@pytest.mark.parametrize("instruction", SPEAKING)
def test_ways_to_speak_of_work_before_ones_eyes(instruction):
    assert mentions(instruction)


@pytest.mark.parametrize("instruction", HARMLESS)
def test_words_that_only_sound_like_it(instruction):
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
    found = mentions(instruction)[0]
    assert (found.steps, found.plural) == (steps, plural)


@pytest.mark.parametrize(
    ("maker", "taker"),
    [
        ("Plan the solution; do not solve.", "Follow the plan and count."),
        ("Write a Python function that sorts.", "Test the function on edge cases."),
        ("Draft a letter of 200 words.", "Polish the draft."),
        ("Translate the poem.", "Proofread the translation."),
    ],
)
def test_what_one_instruction_makes_another_takes_up(maker, taker):
    kind, words = taken_up(taker)
    assert made(maker) == kind
    assert words in taker


def test_a_plan_of_the_questions_is_not_another_steps():
    assert taken_up("Follow the plan in the question.") is None
    assert taken_up("Check the plan of the city.") is None


def test_of_a_long_instruction_both_ends_are_read():
    long = "the previous and the above " * 4_000
    assert mentions(long) == ()
    assert mentions(f"{long}. Improve the previous answer.")
    assert mentions(f"Improve the previous answer. {long}")
