"""`usage`: sums of what requests took, from a terminal."""

from __future__ import annotations

import json

import pytest

from conductor.values.charge import Charge
from conductor.values.messages import Usage
from storage import SessionStore
from tests.studio.cli.command_line import Line

pytestmark = pytest.mark.slow


@pytest.fixture
def used(line: Line) -> None:
    """Requests in the default store: of two workers in a session, and of one that is simulated."""
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        session = store.sessions.create("Why\x1b[31m?").id
        store.ledger.add(
            [
                Charge(worker="big", kind="model", purpose="step", usage=_usage(1200, 0.25)),
                Charge(worker="small", kind="model", purpose="plan", usage=_usage(None, None)),
                Charge(worker="mock", kind="simulated", purpose="step", usage=_usage(7, None)),
            ],
            session=session,
        )


def _usage(tokens: int | None, cost: float | None) -> Usage:
    return Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost)


def test_the_last_row_of_what_was_used_is_the_total(line: Line, used: None) -> None:
    rows = [row.split() for row in line("usage").out.splitlines()]
    assert rows == [
        ["worker", "requests", "tokens", "dollars"],
        ["big", "1", "1,200", "$0.2500"],
        ["small", "1", "-", "-"],
        ["total", "2", "at", "least", "1,200", "at", "least", "$0.2500"],
        ["mock", "(simulated)", "1", "7", "-"],
    ]


def test_json_has_null_for_what_is_unknown(line: Line, used: None) -> None:
    shape = json.loads(line("usage", "--json").out)
    assert [(row["key"], row["tokens"], row["cost"]) for row in shape["rows"]] == [
        ("big", 1200, 0.25),
        ("small", None, None),
    ]
    assert [(row["key"], row["note"]) for row in shape["apart"]] == [("mock", "simulated")]
    assert shape["total"] == {
        "calls": 2,
        "tokens": 1200,
        "tokens_at_least": True,
        "cost": 0.25,
        "cost_at_least": True,
        "cost_at_most": False,
    }


@pytest.mark.parametrize("by", ["person", "token", "session", "day"])
def test_each_key_has_the_same_total(line: Line, used: None, by: str) -> None:
    shape = json.loads(line("usage", "--by", by, "--json").out)
    assert shape["by"] == by
    assert shape["total"] == json.loads(line("usage", "--json").out)["total"]


def test_a_title_cannot_write_on_the_terminal(line: Line, used: None) -> None:
    assert "\x1b" not in line("usage", "--by", "session").out


@pytest.mark.parametrize(
    ("arguments", "remark"),
    [
        ((), "no request has ended yet"),
        (("--since", "2026-11-01"), "no request has ended since then"),
    ],
)
def test_an_empty_store_states_it(line: Line, arguments: tuple[str, ...], remark: str) -> None:
    result = line("usage", *arguments)
    assert (result.code, result.out) == (0, "")
    assert remark in result.err


@pytest.mark.parametrize("arguments", [("--since", "tomorrow"), ("--by", "planet")])
def test_what_cannot_be_read_is_refused(line: Line, arguments: tuple[str, ...]) -> None:
    assert line("usage", *arguments).code == 2
