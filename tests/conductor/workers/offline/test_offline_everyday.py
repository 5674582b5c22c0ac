"""Everyday questions to the whole offline pool: each is answered rightly or refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conductor.engine.meter import Meter
from conductor.orchestrate import orchestrate
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import RunRequest
from conductor.runs.state import RunState, fold
from conductor.values.budget import NO_BUDGET
from conductor.workers.offline.experts import OfflineExpert
from conductor.workers.offline.questions.reply import reply
from conductor.workers.offline.task import SeenStep, Task
from conductor.workers.pool.pool import offline_pool

NOTHING = None

QUESTIONS: Mapping[str, Mapping[str, str | None]] = {
    "percent": {
        "What is 15% of 240?": "36",
        "What percent of 80 is 20?": "25 %",
        "Increase 80 by 15%": "92",
        "What is 20% off 50?": "40",
        "What is 12.5 % of 80?": "10",
        "compound interest on 1000 at 3 % over 5 years": "159.2740743",
        "What is the compound interest on 1000 at 3% over 5 years?": "159.2740743",
        "What is 5% of 200 plus 10% of 300?": "40",
        "What is 80 minus 15%?": NOTHING,
        "What is the interest on 2000 at 4% for 6 months?": "40",
        "What is a 15% tip on 80?": "12",
        "What is 15% of 240 rounded to the nearest ten?": "40",
        "A shirt costs 40 euros after a 20% discount; what did it cost before?": "50 euros",
        "Increase 80 by 10% and then decrease it by 10%": "79.2",
        "What is 8% sales tax on 59.99?": "4.7992",
        "By how many percent is 60 more than 48?": "25 %",
        "What is 1/8 in percent?": "12.5 %",
        "What is 20% as a decimal?": "0.2",
    },
    "units": {
        "What is 5 km + 3 km?": "8 km",
        "How many metres are in 3.5 km?": "3500 m",
        "Convert 100 F to C": "about 37.77778 °C",
        "What is 20 C in F?": "68 °F",
        "5 m in cm": "500 cm",
        "How many seconds are in 2 hours?": "7200 s",
        "What is 72 kg in pounds?": "about 158.7328 lb",
        "What is 3 / 4 cup in ml?": "177.441177375 mL (US); 187.5 mL (metric)",
        "What is sin(30°)?": "1/2",
        "What is 0x1F?": NOTHING,
        "How many minutes are in 2 hours and 30 minutes?": "150 min",
        "How many cups are in a gallon?": "16 cups (US)",
        "What is 5 km in kg?": NOTHING,
    },
    "dates": {
        "What is 2024-02-28 + 2 days?": "2024-03-01 (Friday)",
        "How many days are between 2024-01-15 and 2024-03-01?": "46 days",
        "What is 10/12/2024?": NOTHING,
        "What day of the week was 4 July 1976?": "Sunday",
        "What is 15:30 + 2 hours?": "17:30",
        "How old is somebody born in 1980 in 2024?": "44 (43 before the birthday)",
        "How many days has February 2024?": "29",
        "What is 2024 - 1969?": "55",
        "What date is 10 days after 2024-02-25?": "2024-03-06 (Wednesday)",
        "Was 1900 a leap year?": "no, 1900 is not a leap year",
        "What happened on 2024-05-06?": NOTHING,
    },
    "word problems": {
        "If I have 3 apples and buy 4 more, how many do I have?": "7",
        "A train goes 120 km in 2 hours; what is its average speed?": "60 km/h",
        "Tom is twice as old as Ann, who is 7. How old is Tom?": "14",
        "3 pens cost 4.50; what do 5 pens cost?": "7.5",
        "What is 17 * 23 euros and 5 cents?": NOTHING,
        "I think of a number, double it and add 3 and get 11. What is it?": "x = 4",
        "Compute 12*12 - 44 and then divide the result by 2": "50",
        "What is 2 + 3, and what is 4 + 5?": NOTHING,
        "Find all integer solutions of x^2 + y^2 = 25": NOTHING,
        "Solve x^2 = 4 for positive x": NOTHING,
        "What is the sum of the roots of x^2 - 5x + 6 = 0?": NOTHING,
        "How many roots does x^2 - 4 have?": NOTHING,
        "If f(x) = x^2 + 1, what is the derivative of f at f(3)?": NOTHING,
        "If f(x) = x^2 + 1, what is f(3)?": "10",
        "Solve x^2 - 5x + 6 = 0": "x = 2 or x = 3",
        "If 3x + 2y = 12 and x - y = 1, what are x and y?": "x = 14/5, y = 9/5",
        "limit of 1/x as x approaches 0 from the right": NOTHING,
        "What is the derivative of x^2 with respect to t?": NOTHING,
        "What is -5 squared?": NOTHING,
        "What is 10 - 5 squared?": "-15",
        "What is 5 - -3?": "8",
        "What is 3 squared plus 4 squared?": "25",
        "Tom is twice as old as Ann, who is 7. How old is Ann?": NOTHING,
        "Tom is 3 years older than Ann, who is 7. How old is Tom?": "10",
        "Tom has 3 apples. He buys 4 more. How many apples does he have?": "7",
        "Tom has 3 apples. Ann buys 4 more. How many apples does Tom have?": NOTHING,
        "Tom has 10 apples and gives Ann 4. How many apples does he have left?": "6",
        "Tom has 10 apples and gives Ann 4. How many apples does Ann have?": NOTHING,
        "If one pen costs 2.50 euros, how much do 4 pens cost?": "10 euros",
        "4 children share 20 sweets equally. How many sweets does each child get?": "5",
        "There are 12 eggs in a box. How many eggs are in 5 boxes?": "60",
        "How far does a car travel in 3 hours at 60 km/h?": "180 km",
        "How long does it take to drive 120 km at 60 km/h?": "2 h",
    },
    "counting": {
        "How many divisors does 60 have?": "12",
        "How many prime factors does 60 have?": NOTHING,
        "How many even numbers are between 1 and 100?": NOTHING,
        "How many digits has 2^100?": "31",
        "sum of the first 100 integers": "5050",
        "sum of all numbers from 1 to 100 that are divisible by 3": "1683",
        "sum of the first 10 prime numbers": "129",
        "What is the sum of the digits of 2^10?": "7",
        "How many r's are in strawberry?": "3",
        "Is 7 even?": "no, 7 is odd",
        "What is the cube of 3?": "27",
        "How many ways to choose 2 people from 5?": "10",
        "How many ways to choose 2 people from 5 men and 4 women?": NOTHING,
        "In how many ways can 5 people sit in a row?": "120",
        "What is the average of 3, 5 and 10?": "6",
        "What is the average of 3, 5 and ten apples?": NOTHING,
    },
    "geometry": {
        "What is the area of a circle with radius 5?": "about 78.53982",
        "What is the perimeter of a 3 by 4 rectangle?": "14",
        "What is the hypotenuse of a right triangle with sides 3 and 4?": "5",
        "What is the volume of a cube with side 2^3?": "512",
        "pi * 5^2": "about 78.53982",
        "What is the distance from (0, 0) to (3, 4)?": "5",
        "What is the square root of 3^2 + 4^2?": NOTHING,
        "What is the slope of the line through (1, 2) and (3, 6)?": "2",
        "What is the area of a trapezoid with bases 3 and 5 and height 4?": "16",
    },
    "probability": {
        "What is the probability of rolling a 6 twice?": "1/36 (about 2.778 %)",
        "A coin is flipped 3 times; what is the chance of 2 heads?": "3/8 (37.5 %)",
        "What are the odds of 1/6 * 1/6 in percent?": NOTHING,
        "What is P(X > 3) for a fair die?": "1/2",
        "What is 1/6 * 1/6?": "1/36 (about 0.02777778)",
        "What is the standard deviation of 3, 5 and 10?": NOTHING,
        "What is the probability of rolling a sum of 7 with two dice?": "1/6 (about 16.67 %)",
        "What is the probability of rolling a total of 13 with two dice?": "0",
        "What is the probability of drawing an ace from a deck of cards?": "1/13 (about 7.692 %)",
        "What is the probability of drawing two aces from a deck of cards?": "1/221 (about 0.4525 %)",
    },
    "countries": {
        "What is the capital of France?": "Paris",
        "Which countries use the yen?": "Japan",
        "Do Austria and Hungary share a currency?": "no, different currency",
        "What is the population of France?": "about 68.4 million people",
        "What is the population of the capital of France?": NOTHING,
        "What was the capital of Germany in 1970?": NOTHING,
        "What is the largest city of Australia?": NOTHING,
        "How tall is the Eiffel Tower in France?": NOTHING,
        "Who is the president of Brazil?": NOTHING,
        "Which is larger, Brazil or Peru?": "Brazil",
        "Which countries in Africa speak French?": (
            "Benin, Burundi, Cameroon, Central African Republic, Chad, Comoros, Democratic Republic of the "
            "Congo, Republic of the Congo, Côte d'Ivoire, Djibouti, Equatorial Guinea, Gabon, Guinea, "
            "Madagascar, Rwanda, Senegal, Seychelles, Togo"
        ),
        "Which countries in Oceania use the franc?": NOTHING,
        "Which countries border France?": NOTHING,
        "What is the capital of the state of Georgia?": NOTHING,
        "How many people speak French in Canada?": NOTHING,
        "Compare France and Japan by population": "larger population: Japan",
        "Compare Python and Rust": NOTHING,
        "Compare France and Atlantis": NOTHING,
        "Compare France and Japan": "different capital, continent, currency, official languages",
        "Who are the people of Japan?": NOTHING,
        "What do people in Peru use?": NOTHING,
        "What is the capital of Georgia?": "Tbilisi",
        "Compare the money of France and Japan": "different currency",
        "When was the Battle of Hastings?": NOTHING,
    },
    "text": {
        "Write a poem about rain": NOTHING,
        "Summarise the plot of Hamlet.": NOTHING,
        "Write a summary of the French Revolution. Keep it short.": NOTHING,
        "Translate 'good morning' into Spanish": NOTHING,
        "Who wrote Faust?": NOTHING,
        "Is the following sentence correct: he go home": NOTHING,
        "Prove that the square root of 2 is irrational.": NOTHING,
        "hello": NOTHING,
    },
}  # fmt: skip


async def answered(query: str) -> RunState:
    """The end of the run of a query in the offline pool."""
    stream = orchestrate(
        RunRequest(query), conductor=OfflineConductor(), pool=offline_pool(), meter=Meter(NO_BUDGET)
    )
    return fold([event async for event in stream])


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")  # one loop, so that one child computes for all
@pytest.mark.parametrize("category", QUESTIONS)
async def test_an_everyday_question_is_answered_rightly_or_refused(category: str) -> None:
    wrong: dict[str, str | None] = {}
    for query, expected in QUESTIONS[category].items():
        state = await answered(query)
        last = (state.answer or "").splitlines()[-1]
        right = (
            last.startswith("No answer: ")
            if expected is None
            else last.removesuffix(" (not checked)") == f"Answer: {expected}"
        )
        verified = "Verified" in (state.answer or "")
        if not right or state.answered is (expected is None) or (verified and not state.answered):
            wrong[query] = state.answer
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "response", "verdict", "last"),
    [
        ("What is 17 * 23?", None, "Verified: step 1 (m) answers 391. In numbers it is 391.", "391"),
        (
            "I have 5 apples and eat 2 of them. How many apples do I have left?",
            None,
            "Not checked: step 1 (m) answers 3. I know only the way in which it was computed.",
            "3 (not checked)",
        ),
        (
            "I have 5 apples and eat 2 of them. How many apples do I have left?",
            "Five minus two.\nAnswer: 3",
            "Verified: step 1 (m) answers 3. Computed by rules, it is the same.",
            "3",
        ),
        (
            "I have 5 apples and eat 2 of them. How many apples do I have left?",
            "Answer: 7",
            "Correction: step 1 (m) answers 7. The right answer is 3.",
            "3",
        ),
    ],
)
async def test_an_everyday_answer_is_verified_by_another_way_or_marked_as_not_checked(
    query: str, response: str | None, verdict: str, last: str
) -> None:
    own = "\n".join(reply("mathematics", Task(query, "Solve.")) or ())
    seen = (SeenStep(0, "m", own if response is None else response),)
    lines = [line async for line in OfflineExpert("checker")._lines(Task(query, "Check the result.", seen))]
    assert verdict in lines
    assert lines[-1] == f"Answer: {last}"
