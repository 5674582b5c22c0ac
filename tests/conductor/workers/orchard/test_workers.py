"""The orchard's workers compute from what they are sent, and nothing else."""

from __future__ import annotations

import pytest

from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.orchard.reading import reading, sum_in
from conductor.workers.orchard.skills import KNOWN_SHARE, SKILLS, SLIP, SLIPS, OrchardWorker, chance

LONG = "What is {} times 3 plus 4 times 5 minus 6?"
CAPITAL = "The capital of France has how many letters?"
SUM = "What is 7 times 3 plus 4?"
CONTINUE = "Do the sum with the previous result."
TAIL = "Count the letters of 'lantern', then times 3 plus 4."


def request(query: str, instruction: str = "Answer the question.", *seen: str) -> Request:
    responses = [Part("response", text, step, "alpha") for step, text in enumerate(seen)]
    parts = (Part("query", query), *responses, Part("instruction", instruction))
    return Request(messages=(Message(role="user", parts=parts),))


async def answer(skill: str, sent: Request) -> Completion:
    items = [item async for item in OrchardWorker(skill).stream(sent)]
    assert isinstance(items[-1], Completion)
    return items[-1]


@pytest.mark.parametrize(
    ("skill", "sent", "expected"),
    [
        ("facts", request(CAPITAL), "Answer: Paris"),
        ("facts", request(CAPITAL, "Find the continent."), "Answer: Europe"),
        ("facts", request("The capitals of Peru and Chad: how many letters together?",
                          "Find the capital of the second country."), "Answer: N'Djamena"),
        ("facts", request("What is the currency of the country whose capital is Lima?"), "Answer: Peru"),
        ("facts", request(SUM, "Find the currency of that country.", "Answer: Peru"), "Answer: Peruvian"),
        ("facts", request(SUM), "No answer: "),
        ("letters", request(TAIL), "Answer: 7"),
        ("letters", request(CAPITAL, "Count.", "Answer: Port Vila", "Answer: Oslo"), "Answer: 12"),
        ("letters", request(CAPITAL), "No answer: "),
        ("solver", request(SUM), "Answer: 25"),
        ("solver", request(TAIL, CONTINUE, "lantern: 7\nAnswer: 7"), "Answer: 25"),
        ("solver", request(TAIL, "Compute it.", "Answer: 7"), "No answer: "),
        ("solver", request(TAIL, CONTINUE, "Answer: seven"), "No answer: "),
        ("checker", request(SUM, "Check the result.", "Answer: 35"), "Answer: 25"),
        ("checker", request(SUM, "Check the result.", "Answer: 25"), "Answer: 25"),
        ("checker", request(CAPITAL, "Check the result.", "Answer: 5"), "Answer: 5 (not checked)"),
        ("checker", request(SUM, "Check the result."), "No answer: "),
        ("text", request(CAPITAL, "Merge.", "Answer: 5", "Answer: 5", "Answer: 6"), "Answer: 5"),
    ],
)  # fmt: skip
async def test_a_worker_answers_by_what_it_sees(skill: str, sent: Request, expected: str) -> None:
    completion = await answer(skill, sent)
    last = completion.text.splitlines()[-1]
    assert last.startswith(expected)
    assert (completion.finish_reason == "refused") == expected.startswith("No answer")
    assert completion.usage.prompt_tokens is not None
    assert completion.usage.completion_tokens == completion.text.count(" ") + 1


async def test_the_solver_slips_in_the_same_half_of_the_long_sums_and_the_checker_corrects_it() -> None:
    for first in range(2, 30):
        query = LONG.format(first)
        right = first * 3 + 20 - 6
        slips = chance("slip", query) < SLIPS
        solved = await answer("solver", request(query))
        assert solved.text.endswith(f"Answer: {right + SLIP * slips}")
        checked = await answer("checker", request(query, "Check the result.", solved.text))
        assert ("Correction" in checked.text) == slips
        assert checked.text.endswith(f"Answer: {right}")
    assert 0 < sum(chance("slip", LONG.format(first)) < SLIPS for first in range(2, 30)) < 28


async def test_the_generalist_knows_half_and_else_repeats_what_most_answer() -> None:
    queries = [f"What is {number} times 3 plus 4?" for number in range(2, 40)]
    known_queries = [query for query in queries if chance("knows", query) < KNOWN_SHARE]
    assert 0 < len(known_queries) < len(queries)
    for query in queries:
        solution = reading(query)
        assert solution is not None
        completion = await answer(
            "generalist", request(query, "Answer.", "Answer: 1", "Answer: 2", "Answer: 2")
        )
        assert completion.text.endswith(f"Answer: {solution.answer if query in known_queries else 2}")
    assert (await answer("generalist", request("Who wrote Faust?"))).finish_reason == "refused"


async def test_a_question_of_another_world_is_declined() -> None:
    for skill in SKILLS:
        completion = await answer(skill, request("Who wrote Faust?"))
        assert completion.finish_reason == "refused"
        assert completion.usage.total


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Compute 3 plus 4 times 5.", 23),
        ("Take 6 times 7 and add 8.", 50),
        ("What is 9 multiplied by 2, plus 4 times 5, minus 60?", -22),
        ("Take 2 times 3, add 4 times 5 and subtract 6.", 20),
        ("2 * 3 + 4", 10),
        ("that times 3 plus 4", None),
        ("Subtract 4 from 12 times 7", 80),
        ("Multiply 12 by 7, then subtract 4.", 80),
    ],
)
def test_a_sum_in_words_multiplies_first(text: str, value: int | None) -> None:
    total = sum_in(text)
    assert total is not None
    assert total.value() == value
    assert total.value(first=2) == (value if value is not None else 10)


def test_a_text_without_a_sum_has_none() -> None:
    assert sum_in("What is the capital of France?") is None


def test_the_cards_name_what_is_simulated() -> None:
    cards = [OrchardWorker(skill).card for skill in SKILLS]
    assert {card.kind for card in cards} == {"simulated"}
    assert len({card.identity for card in cards}) == len(cards)


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        f"Compute it times {'9' * 6_000} plus 3.",
        " " * 50_000 + "times",
        "1" + " times 2" * 5_000,
        "the capitals of " + "and " * 10_000,
        "'" * 20_000,
        "the first country and the second country, that country",
    ],
)
async def test_no_text_of_a_model_stops_a_worker(hostile: str) -> None:
    for skill in SKILLS:
        completion = await answer(skill, request(SUM, hostile, f"Answer: {hostile}", "Answer: 7"))
        assert completion.text
    assert reading(hostile) is None
    assert reading(f"{hostile}: how many letters have their capitals together?") is None
