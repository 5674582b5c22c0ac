"""The text expert: summaries that only quote, merges that name every disagreement."""

import asyncio

import pytest
from reading_work import growth, patience

from conductor.values.messages import Message, Part, Request
from conductor.workers.offline.experts import ExpertName, OfflineExpert
from conductor.workers.offline.facts import fact_check, facts
from conductor.workers.offline.merge import comparable, merged
from conductor.workers.offline.summary import sentences_of, summarised
from conductor.workers.offline.task import Refusal, SeenStep, Task, answer_in
from conductor.workers.offline.text import CANNOT, NOTHING_ANSWERED, text

PACKAGE = "conductor.workers.offline"
ARTICLE = (
    "The river Rhine rises in the Swiss Alps. It flows through Germany to the North Sea. "
    "My neighbour likes cake. Ships on the river Rhine carry coal and grain through Germany. "
    "The Rhine is the busiest river of Germany for ships. A bird sang, e.g. Monday at noon."
)


def seen(*responses: str) -> tuple[SeenStep, ...]:
    return tuple(
        SeenStep(step=at, worker=f"w{at}", response=response) for at, response in enumerate(responses)
    )


def merge_of(*responses: str) -> list[str]:
    return merged(Task(query="q", instruction="Merge the answers.", seen=seen(*responses)))


@pytest.mark.parametrize(
    ("query", "instruction", "count"),
    [
        (f"Summarise: {ARTICLE}", "Summarise the text of the question in two sentences.", 2),
        (f"Summarise this text in one sentence.\n\n{ARTICLE}", "Summarise the text of the question.", 1),
        (ARTICLE, "Summarise the text of the question in its most important sentences.", 3),
        (f"Give me a summary in 2 sentences. {ARTICLE}", "Do it.", 2),
    ],
)
def test_a_summary_quotes_the_asked_number_of_sentences_in_order(
    query: str, instruction: str, count: int
) -> None:
    found = text(Task(query=query, instruction=instruction))
    assert len(found) == count
    places = [ARTICLE.find(sentence) for sentence in found]
    assert places == sorted(places)
    assert -1 not in places
    assert "My neighbour likes cake." not in found


def test_abbreviations_end_no_sentence() -> None:
    assert sentences_of("Dr. A. Smith came. He ate, e.g. Cake. Then left.") == [
        "Dr. A. Smith came.", "He ate, e.g. Cake.", "Then left.",
    ]  # fmt: skip


def sentences(count: int) -> str:
    return " ".join(f"Sentence {at} speaks of rivers and topic {at % 37}." for at in range(count))


def test_of_thousands_of_sentences_as_few_are_quoted_as_asked_for() -> None:
    assert len(summarised(sentences(2_300), 3)) == 3


def test_work_on_a_summary_grows_with_the_length_of_its_text() -> None:
    found = growth(lambda text: summarised(text, 3), sentences, package=PACKAGE, length=50)
    assert found == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("query", ["Write a poem about rain", "", "Summarise"])
def test_what_it_cannot_do_is_refused(query: str) -> None:
    assert text(Task(query=query, instruction="Answer the question from the text it holds.")) == [CANNOT]


def test_answers_that_agree_are_given_once() -> None:
    assert merge_of("We add.\nAnswer: 1/2", "We divide.\nAnswer: 0.5") == [
        "Step 1 (w0):", "We add.", "Step 2 (w1):", "We divide.", "All 2 answers agree.", "Answer: 0.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("responses", "last"),
    [
        (
            ("Answer: 3", "Answer: 4"),
            [
                "Disagreement: step 1 (w0) answers 3; step 2 (w1) answers 4.",
                "No answer: The visible answers differ, and nothing visible decides between them.",
            ],
        ),
        (("Answer: 3", "Answer: 4", "Answer: 3"), ["2 of 3 answers agree.", "Answer: 3"]),
        (
            ("Answer: 3", "Correction: step 1 answers 3.\nAnswer: 4"),
            ["The check in step 2 (w1) decides.", "Answer: 4"],
        ),
        (("A plan.\nStill a plan.",), ["None of the visible steps ends with an answer."]),
    ],
)
def test_the_last_lines_follow_from_the_answers(responses: tuple[str, ...], last: list[str]) -> None:
    assert merge_of(*responses)[-len(last) :] == last


def test_numbers_that_differ_for_the_same_thing_are_named() -> None:
    lines = merge_of(
        "The tower is 300 metres high.\nAnswer: high", "The tower is 330 metres high.\nAnswer: high"
    )
    assert (
        'Disagreement: step 1 states "The tower is 300 metres high."; step 2 states '
        '"The tower is 330 metres high."'
    ) in lines


def test_facts_of_two_countries_stand_side_by_side() -> None:
    stated = [
        "\n".join(facts(Task(query="", instruction=f"State what is known of {name}.")))
        for name in ("France", "Japan")
    ]
    assert merge_of(*stated) == [
        "Capital: France - Paris; Japan - Tokyo",
        "Continent: France - Europe; Japan - Asia",
        "Currency: France - Euro; Japan - Japanese yen",
        "Official languages: France - French; Japan - Japanese",
        "Answer: different capital, continent, currency, official languages",
    ]


def test_what_stands_beside_facts_is_above_them() -> None:
    query = "Compare France and Japan"
    stated = [
        "\n".join(["The table is old.", *facts(Task(query=query, instruction=f"State the facts of {name}."))])
        for name in ("France", "Japan")
    ]
    lines = merge_of(*stated, "I cannot do this.\nAnswer: none", *["More to say."] * 2)
    assert lines[:4] == [
        "Step 1 (w0): The table is old.",
        "Step 3 (w2): I cannot do this.",
        "Step 4 (w3): More to say.",
        "Capital: France - Paris; Japan - Tokyo",
    ]
    assert merge_of(*stated)[0] == "The table is old.", "all say it"


def test_a_merge_of_refusals_is_a_refusal() -> None:
    lines = merge_of(CANNOT, CANNOT)
    assert lines[-1] == "No answer: Step 1 (w0), Step 2 (w1) gave none."
    assert isinstance(lines[-1], Refusal)
    task = Task(query="q", instruction="Summarise what you see.", seen=seen(CANNOT))
    assert text(task) == [NOTHING_ANSWERED]


def test_of_several_answers_to_one_question_a_refusal_is_left_out_and_of_a_comparison_not() -> None:
    answers = seen(CANNOT, "Answer: Paris")
    assert text(Task(query="q", instruction="Merge the answers.", seen=answers))[-1] == "Answer: Paris"
    compared = text(Task(query="q", instruction="Compare France and Peru: merge the answers.", seen=answers))
    assert compared[-1] == "No answer: Step 1 (w0) gave none."


@pytest.mark.parametrize(
    ("left", "right"),
    [("0.5", "1/2"), ("1,000", "1000"), ("Paris.", "paris"), ("x = 2", "x=2"), ("1E400", "1e400")],
)
def test_equal_answers_compare_equal(left: str, right: str) -> None:
    assert comparable(left) == comparable(right)


@pytest.mark.parametrize("number", ["1e9000000", "-1E-9_000_000", "9" * 1_001])
def test_a_number_too_large_to_write_out_is_compared_as_text(number: str) -> None:
    assert comparable(f"{number}.") == number.lower()


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("We add.\nAnswer: 4", "4"),
        ("- **Final answer: 4**", "4"),
        ("Answer:\n\n  42  \n", "42"),
        ("Answer: 4\nOn second thought.\nAnswer: 5 (not checked)", "5"),
        ("So the result is 4.\nThat was it.", "4"),
        ("Paris", "Paris"),
        ("Answer:\n\n", "Answer:"),
        ("A plan.\nStill a plan.", None),
    ],
)
def test_the_last_answer_of_a_response_counts(response: str, answer: str | None) -> None:
    assert answer_in(response) == answer


HOSTILE = (
    "- " * 20 + "\n", "answer" + " " * 50, "answer:\n", "the answer is ", "the answer is\n\n", "which ",
    "A. ", ". (", "1 ", "* ", "\n", " ",
)  # fmt: skip


def hostile(repeated: str, length: int) -> str:
    return (repeated * length)[: length - 2] + " x"


def read(long: str) -> None:
    for task in (
        Task(query=long, instruction="Merge the answers.", seen=seen(long, long)),
        Task(query=long, instruction=f"Summarise the text of the question. {long}"),
    ):
        text(task)
        facts(task)
        fact_check(task)


@pytest.mark.slow
@pytest.mark.parametrize("repeated", HOSTILE)
def test_work_grows_with_the_length_of_a_hostile_text(repeated: str) -> None:
    found = growth(read, lambda length: hostile(repeated, length), package=PACKAGE, length=1_000)
    assert found == pytest.approx(2, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("repeated", HOSTILE)
def test_a_hostile_text_of_a_hundred_thousand_characters_is_read_to_its_end(repeated: str) -> None:
    with patience():
        read(hostile(repeated, 100_000))


@pytest.mark.parametrize("expert", ["text", "facts", "checker"])
async def test_while_an_expert_reads_others_go_on(expert: ExpertName) -> None:
    parts = (
        Part(kind="query", text="What is the capital of France?"),
        Part(kind="response", text="Answer: Paris", step=0, worker="w0"),
    )
    request = Request(messages=(Message(role="user", parts=parts),))
    other = asyncio.create_task(asyncio.sleep(0))
    done = [other.done() async for _ in OfflineExpert(expert).stream(request)]
    assert done
    assert all(done)
