"""The facts expert: the table, questions both ways, and what it does not hold."""

import pytest

from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.offline.countries import NUMBERS, STATED, countries, key_of, named_countries
from conductor.workers.offline.experts import OfflineExpert
from conductor.workers.offline.facts import CANNOT, fact_check, facts
from conductor.workers.offline.task import SeenStep, Task

LOOK_UP = "Look up the fact that the question asks for and state it."


def answer(query: str, instruction: str = LOOK_UP) -> str:
    return facts(Task(query=query, instruction=instruction))[-1].removeprefix("Answer: ")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("capital of australia", "Canberra"),
        ("What's Japan's capital?", "Tokyo"),
        ("What is the capital of the UK?", "London"),
        ("What is the capital of the U.S.?", "Washington, D.C."),
        ("What is the capital of Holland?", "Amsterdam"),
        ("What is the capital of the Ivory Coast?", "Yamoussoukro"),
        ("What is the capital of Guinea-Bissau?", "Bissau"),
        ("What is the capital of Papua New Guinea?", "Port Moresby"),
        ("What is the capital of Kazakhstan?", "Astana"),
        ("What is the capital of Türkiye?", "Ankara"),
        ("What is the capital of Cote d'Ivoire?", "Yamoussoukro"),
        ("What is the capital of Equatorial Guinea?", "Ciudad de la Paz"),
        ("What is the capital of Burundi?", "Gitega"),
        ("What is the currency of Switzerland?", "Swiss franc"),
        ("What is the currency of Bulgaria?", "Euro"),
        ("What is the currency of Zimbabwe?", "Zimbabwe Gold"),
        ("What are the official languages of Lesotho?", "Sesotho, English, Xhosa, Phuthi"),
        ("What is the capital of Nauru?", "Yaren (seat of government)"),
        ("What money do people use in Denmark?", "Danish krone"),
        ("What is the currency of Croatia?", "Euro"),
        ("Which language is spoken in Brazil?", "Portuguese"),
        ("What are the official languages of Canada?", "English, French"),
        ("On which continent is Chad?", "Africa"),
        ("What is the capital of Japan and France?", "Japan: Tokyo; France: Paris"),
        ("Which country has the capital Canberra?", "Australia"),
        ("Ouagadougou is the capital of which country?", "Burkina Faso"),
        ("Which country has the capital Mexico City?", "Mexico"),
        ("Which countries speak Catalan?", "Andorra"),
        ("Which countries have the Swiss franc as currency?", "Liechtenstein, Switzerland"),
        ("Do Austria and Germany share a currency?", "yes, same currency (Euro)"),
        ("Do France and Belgium have a language in common?", "yes, same official languages (French)"),
    ],
)
def test_a_question_gets_its_answer(query: str, expected: str) -> None:
    assert answer(query) == expected


@pytest.mark.parametrize(
    ("query", "instruction", "lines"),
    [
        (
            "Compare France and Japan",
            "State the capital and currency of France.",
            [
                "Capital of France: Paris",
                "Currency of France: Euro",
                "Answer: capital of France: Paris; currency of France: Euro",
            ],
        ),
        (
            "What is the capital of France?",
            "Answer the question for Japan.",
            ["Capital of Japan: Tokyo", "Answer: Tokyo"],
        ),
    ],
)
def test_the_instructions_country_counts_before_the_querys(
    query: str, instruction: str, lines: list[str]
) -> None:
    assert facts(Task(query=query, instruction=instruction)) == lines


def test_without_a_property_all_four_are_stated() -> None:
    found = facts(Task(query="Compare Peru and Chile", instruction="State what is known of Peru."))
    assert [line.split(" of ")[0] for line in found[:-1]] == [
        "Capital", "Continent", "Currency", "Official languages",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("Who is the president of France?", "Words that I do not know: president."),
        ("How tall is the Eiffel Tower in France?", "Words that I do not know: Eiffel, Tower."),
        ("What was the capital of Germany in 1970?", "What I do not understand begins at «in 1970»."),
        (
            "What is the capital of the state of Georgia?",
            "What I do not understand begins at «state of Georgia».",
        ),
    ],
)
async def test_what_it_does_not_understand_is_named(query: str, why: str) -> None:
    request = Request(messages=(Message(role="user", parts=(Part(kind="query", text=query),)),))
    last = [part async for part in OfflineExpert("facts").stream(request)][-1]
    assert isinstance(last, Completion)
    assert last.text.startswith(f"No answer: {why} I am the built-in facts expert")


@pytest.mark.parametrize(
    "query", ["Write a poem about rain", "", "Tell us about us", "x " * 50_000, "17 * 23"]
)
def test_what_it_cannot_do_is_refused(query: str) -> None:
    assert facts(Task(query=query, instruction=LOOK_UP)) == [CANNOT]


def test_the_table_is_complete_and_tidy() -> None:
    assert len(countries()) == 195
    assert len({country.name for country in countries()}) == 195
    continents = {"Africa", "Asia", "Europe", "North America", "South America", "Oceania"}
    assert {country.text("continent") for country in countries()} == continents
    for country in countries():
        assert all(country.text(of).strip() and all(country.values(of)) for of in STATED)
        assert all(country.number(of) for of in NUMBERS if of == "area")


def test_every_name_and_alias_finds_its_country_and_no_two_share_one() -> None:
    names = [(name, country) for country in countries() for name in (country.name, *country.aliases)]
    assert len({key_of(name) for name, _ in names}) == len(names)
    for name, country in names:
        assert named_countries(f"the capital of {name} is") == (country,), name


def seen(response: str) -> tuple[SeenStep, ...]:
    return (SeenStep(step=0, worker="facts", response=response),)


@pytest.mark.parametrize(
    ("response", "verdict", "last"),
    [
        ("It is Paris.\nAnswer: Paris", "Verified: step 1 (facts) answers the same.", "Paris"),
        (
            "Capital of France: Paris\nAnswer: Paris",
            "Not checked: step 1 (facts) answers Paris, from the same table.",
            "Paris (not checked)",
        ),
        ("Answer: Lyon", "Correction: step 1 (facts) answers Lyon. The right answer is Paris.", "Paris"),
    ],
)
def test_a_visible_fact_is_checked(response: str, verdict: str, last: str) -> None:
    lines = fact_check(
        Task(query="What is the capital of France?", instruction="Check.", seen=seen(response))
    )
    assert lines == ["In the table: Capital of France: Paris", verdict, f"Answer: {last}"]


@pytest.mark.parametrize(
    ("country", "response", "right"),
    [
        ("Palestine", "Ramallah", True),
        ("Nauru", "The government sits in Yaren.", True),
        ("South Africa", "Pretoria, Cape Town and Bloemfontein", True),
        ("South Africa", "Johannesburg", False),
    ],
)
def test_a_capital_is_right_without_the_part_it_plays(country: str, response: str, *, right: bool) -> None:
    query = f"What is the capital of {country}?"
    lines = fact_check(Task(query=query, instruction="Check.", seen=seen(response)))
    assert lines is not None
    assert lines[1].startswith("Verified") is right


def test_a_response_that_states_a_part_of_the_facts_rightly_is_no_mistake() -> None:
    stated = "\n".join(facts(Task(query="", instruction="State what is known of Peru.")))
    lines = fact_check(Task(query="Compare Peru and Chile", instruction="Check.", seen=seen(stated)))
    assert lines is not None
    assert "Verified: step 1 (facts) answers the same." in lines
    assert "Santiago" in lines[-1]
    wrong = stated.replace("Lima", "Quito")
    corrected = fact_check(Task(query="Compare Peru and Chile", instruction="Check.", seen=seen(wrong)))
    assert corrected is not None
    assert any(line.startswith("Correction: ") for line in corrected)
