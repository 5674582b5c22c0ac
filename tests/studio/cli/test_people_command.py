"""`people`: what they have used and may use, from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.runs.request import Asker
from conductor.values.messages import Usage
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.sessions.notes import AUTHOR
from tests.studio.cli.command_line import Line
from tests.support.runs.charges import took

pytestmark = pytest.mark.slow


@pytest.fixture
def used(line: Line) -> None:
    """What Ada used today, and Bob before this month, in the default store."""
    for at, person in ((None, "ada"), (1_000_000.0, "bob")):
        clock = {} if at is None else {"clock": lambda: 1_000_000.0}
        with SessionStore.open("sqlite:///data/conductor.db", **clock) as store:  # type: ignore[arg-type]
            usage = Usage(prompt_tokens=1_000, completion_tokens=200, cost=0.25)
            store.ledger.add(took(usage), by=Asker(person=person))


def test_people_are_listed_with_what_they_used_and_their_limits(line: Line, used: None) -> None:
    assert line("people", "limit", "bob", "--tokens", "5000", "--each", "day").out == (
        "bob: 5,000 tokens a day\n"
    )
    everyone = line("people", "limit", "*", "--cost", "20", "--per-minute", "6")
    assert everyone.out == ("everyone without limits of their own: $20 in total, 6 requests per minute\n")
    listed = line("people", "list")
    assert [row.split(maxsplit=7) for row in listed.out.splitlines()[1:]] == [
        ["ada", *(["1,200", "$0.2500"] * 3), "$20 in total, 6 requests per minute"],
        ["bob", *(["0", "$0.0000"] * 2), "1,200", "$0.2500", "5,000 tokens a day"],
    ]
    assert "without limits of their own: $20 in total, 6 requests per minute" in listed.err
    shape = json.loads(line("people", "list", "--json").out)
    assert [person["name"] for person in shape["people"]] == ["ada", "bob"]
    assert [person["limits"]["tokens"] for person in shape["people"]] == [None, 5000]
    spent = {"tokens": 1200, "cost": 0.25, "unknown_tokens": 0, "unknown_costs": 0}
    assert shape["people"][0]["spent"] == {"day": spent, "month": spent, "total": spent}
    assert shape["everyone"]["cost"] == 20


def test_limits_are_replaced_and_removed(line: Line) -> None:
    line("people", "limit", "ada", "--tokens", "5", "--cost", "1")
    assert line("people", "limit", " ada ", "--tokens-per-minute", "900").out == (
        "ada: 900 tokens per minute\n"
    )
    assert line("people", "limit", "ada", "--none").out == "ada: no limits\n"
    for wrong in ([], ["--none", "--tokens", "5"], ["--tokens", "0"]):
        assert line("people", "limit", "ada", *wrong).code == 2
    nameless = line("people", "limit", " ", "--tokens", "5")
    assert (nameless.code, "A person has a name of 1 to 320 characters" in nameless.err) == (1, True)


def test_a_run_of_a_person_whose_budget_is_used_up_is_refused_in_one_sentence(
    line: Line, used: None, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    line("people", "limit", "ada", "--tokens", "1000")
    monkeypatch.setenv(AUTHOR, "ada")
    workflow = Workflow.of([Step(instruction="Say it.", worker="calculator")])
    text = write_plan(workflow, query="What?", origin="human", workers=workflow.workers(), label=None)
    (folder / "plan.json").write_text(text)
    for command in (
        ["run", "What is 17 * 23?"],
        ["plan", "What is 17 * 23?"],
        ["run", "--workflow", "plan.json"],
        ["gallery", "run", "debate", "Tea or coffee?"],
        ["evaluate", "run", "demo"],
    ):
        refused = line(*command)
        assert refused.code == 1, command
        assert "The budget of ada is used up: 1,200 of 1,000 tokens in total." in refused.err
    assert json.loads(line("evaluate", "list", "--json").out)["evaluations"] == []
    assert json.loads(line("sessions", "list", "--json").out)["sessions"] == []
    monkeypatch.setenv(AUTHOR, "bob")
    assert line("run", "What is 17 * 23?").code == 0
