"""An outage in an evaluation as a terminal, a program and a team's CI see it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.cli.command_line import Line
from tests.support.endpoints.failing_endpoint import (
    FailingEndpoint,
    Reply,
    answers,
    failing_endpoint,
    refuses,
)

pytestmark = pytest.mark.slow

RUN = ("evaluate", "run", "questions.jsonl", "-p", "worker:one", "-p", "worker:two", "--parallel", "1")
GATE = ("--fail-if-beaten-by", "worker:two")
LOST, WRONG = refuses(503, "Overloaded"), answers("Answer: none")


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FailingEndpoint]:
    """The endpoint, beside ten questions and a pool of two workers in the current folder."""
    with failing_endpoint() as endpoint:
        pool = tmp_path / "pool.toml"
        pool.write_text(endpoint.pool("one", "two"), encoding="utf-8")
        rows = [
            {"id": at, "input": f"What is question {at}?", "target": str(at), "metadata": {"category": "sum"}}
            for at in range(10)
        ]
        (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
        monkeypatch.chdir(tmp_path)
        yield endpoint


def evaluation_of(err: str) -> str:
    (id,) = set(re.findall(r"evaluate resume (\w+)", err))
    return str(id)


def one_with(lost: int, wrong: int = 0) -> dict[object, Reply]:
    """The worker `one` answers the last so many questions not, and the first so many wrongly."""
    return {("one", at): WRONG for at in range(wrong)} | {("one", 9 - at): LOST for at in range(lost)}


def test_an_outage_is_named_in_every_form_and_asked_again_by_resume(
    line: Line, endpoint: FailingEndpoint
) -> None:
    endpoint.failures = one_with(lost=4)
    result = line(*RUN)
    assert result.code == 5
    assert "worker:one: 4 of 10 not answered: 503." in result.out
    assert re.search(r"worker:one +1\.000 +\S+ +6 of 10 ", result.out)
    reason = "Done, but 4 of 20 not answered (503); resume asks for these again."
    assert reason in result.err
    assert re.search(
        r"\nconductor: evaluation \w+; go on: python -m conductor evaluate resume \w+\n$", result.err
    )
    id = evaluation_of(result.err)
    assert reason in line("evaluate", "list").out
    shape = json.loads(line("evaluate", "table", id, "--json").out)
    row = shape["planners"][0]
    assert (row["accuracy"], row["questions"], row["questions_asked"], row["unanswered"]) == (1, 6, 10, 4)
    assert (row["outages"], row["failed"], row["no_answer"]) == ({"503": 4}, 0, 0)
    assert "worker:one: 4 of 10 not answered: 503." in shape["remarks"]
    assert shape["planners"][1]["difference_questions"] == 6
    assert shape["categories"]["sum"]["worker:one"] == {"right": 6, "of": 6, "questions": 6}
    csv = line("evaluate", "table", id, "--form", "csv").out
    assert '10,4,"{""503"": 4}"' in csv
    latex = line("evaluate", "table", id, "--form", "latex").out
    assert "% worker:one: 4 of 10 not answered: 503." in latex
    assert "& 6 of 10 &" in latex
    html = line("evaluate", "table", id, "--form", "html").out
    assert "<td>4 not given (503)</td>" in html
    assert "4 of 10 not answered: 503." in html
    assert line("evaluate", "table", id).code == 0, "a table without a gate is printed, whatever it has"
    endpoint.failures, endpoint.numbers[:] = {}, []
    resumed = line("evaluate", "resume", id, "--json")
    assert "answers: 4 asked again (503), 16 left as they are" in resumed.err
    assert (resumed.code, sorted(endpoint.numbers)) == (0, [6, 7, 8, 9])
    shape = json.loads(resumed.out)
    assert (shape["failure"], [row["questions"] for row in shape["planners"]]) == (None, [10, 10, 10])
    assert "not answered" not in resumed.out
    assert "done" in line("evaluate", "list").out


@pytest.mark.parametrize(
    ("counts", "code", "words"),
    [
        ((0, 0), 0, ""),
        # Six questions in favour of one are the fewest that are significant.
        ((4, 0), 0, ""),
        ((5, 0), 0, ""),
        (
            (6, 0),
            5,
            "undecided, as answers are missing: whether worker:two is better than worker:one by 0.0%",
        ),
        ((1, 4), 0, ""),
        (
            (1, 5),
            5,
            "undecided, as answers are missing: whether worker:two is better than worker:one by 55.6%",
        ),
        ((1, 6), 1, "worker:two is better than worker:one by 66.7%"),
        ((4, 6), 1, "worker:two is better than worker:one by 100.0%"),
        ((0, 6), 1, "worker:two is better than worker:one by 60.0%"),
    ],
)
def test_a_gate_is_decided_where_no_answer_that_is_missing_could_change_it(
    line: Line, endpoint: FailingEndpoint, counts: tuple[int, int], code: int, words: str
) -> None:
    lost, wrong = counts
    endpoint.failures = one_with(lost, wrong)
    result = line(*RUN, *GATE)
    assert (result.code, words in result.err) == (code, True), result.err
    assert ("undecided" in result.err) is (code == 5)
    if lost:
        id = evaluation_of(result.err)
        assert line("evaluate", "table", id, *GATE).code == code
        endpoint.failures = one_with(0, wrong)
        assert line("evaluate", "resume", id, *GATE).code == int(wrong >= 6)


@pytest.mark.parametrize("gate", [(), GATE])
def test_a_gate_of_an_evaluation_that_was_stopped_is_undecided(
    line: Line, endpoint: FailingEndpoint, gate: tuple[str, ...]
) -> None:
    result = line(*RUN, *gate, "--budget-calls", "8")
    assert "The budget is spent" in result.err
    assert result.code == (5 if gate else 1)


def test_a_planner_that_never_answers_ends_the_evaluation_and_its_gate_is_undecided(
    line: Line, endpoint: FailingEndpoint
) -> None:
    endpoint.failures = {"one": LOST}
    result = line(*RUN, *GATE)
    assert "worker:one answered none of the first 5 questions" in result.err
    assert result.code == 5
    endpoint.failures = {}
    resumed = line("evaluate", "resume", evaluation_of(result.err), *GATE)
    assert (resumed.code, "asked again (503)" in resumed.err) == (0, True)
