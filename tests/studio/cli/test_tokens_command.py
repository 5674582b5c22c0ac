"""`tokens`: making, listing and revoking them from a terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.runs.request import Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from storage import SessionStore
from storage.api_token import read_token
from tests.studio.cli.command_line import Line


@pytest.mark.slow
def test_a_token_is_shown_once_alone_on_its_stream(line: Line, folder: Path) -> None:
    result = line("tokens", "create", "lab")
    assert result.code == 0
    read = read_token(result.out.strip())
    assert read is not None
    id, secret = read
    assert "keep it now" in result.err
    assert result.err.endswith("; next: python -m conductor tokens list\n")
    for again in (line("tokens", "list"), line("tokens", "list", "--json"), line("tokens", "revoke", "lab")):
        assert id in again.out
        assert secret not in again.out + again.err
    content = b"".join(path.read_bytes() for path in (folder / "data").iterdir())
    assert secret.encode() not in content


@pytest.mark.slow
def test_limits_are_stored_and_shown(line: Line) -> None:
    limits = (
        "--workers alpha,beta --tokens 5000 --cost 1.5 --each day --per-minute 60 --tokens-per-minute 900"
        " --keeps-unstored --small-requests beta --tools files,web:search"
    )
    token = json.loads(line("tokens", "create", "lab", *limits.split(), "--json").out)
    assert read_token(token.pop("token")) is not None
    assert token["limits"] == {
        "workers": ["alpha", "beta"],
        "tokens": 5000,
        "cost": 1.5,
        "period": "day",
        "requests_per_minute": 60,
        "tokens_per_minute": 900,
        "keeps_unstored": True,
        "small_requests": "beta",
        "tools": ["files", "web:search"],
    }
    assert json.loads(line("tokens", "list", "--json").out)["tokens"] == [token]
    limits = "5,000 tokens a day, $1.5 a day, 60 requests per minute, 900 tokens per minute, only alpha, beta"
    assert limits in line("tokens", "list").out
    none = json.loads(line("tokens", "create", "thinker", "--tools", "none", "--json").out)
    assert none["limits"]["tools"] == []


@pytest.mark.slow
def test_a_list_counts_the_tokens_in_force(line: Line) -> None:
    assert "0 tokens in force, beside this machine's own" in line("tokens", "list").err
    line("tokens", "create", "lab")
    assert "1 token in force, beside this machine's own" in line("tokens", "list").err


@pytest.mark.slow
def test_a_token_is_revoked_by_its_name_or_its_id(line: Line) -> None:
    for by in ("name", "id"):
        token = json.loads(line("tokens", "create", "lab", "--json").out)
        revoked = json.loads(line("tokens", "revoke", token[by], "--json").out)
        assert revoked["id"] == token["id"]
        assert revoked["revoked_at"] is not None
    result = line("tokens", "revoke", "nobody")
    assert (result.code, result.out) == (1, "")
    assert "There is no token 'nobody'" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tokens", "0"),
        ("--cost", "-1"),
        ("--each", "year"),
        ("--per-minute", "many"),
        ("--workers", "a,,b"),
    ],
)
def test_wrong_limits_are_wrong_arguments(line: Line, arguments: tuple[str, ...]) -> None:
    assert line("tokens", "create", "lab", *arguments).code == 2
    assert json.loads(line("tokens", "list", "--json").out)["tokens"] == []


@pytest.mark.slow
def test_a_list_marks_sums_by_estimate(line: Line) -> None:
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        for name, usage in (
            ("known", Usage(prompt_tokens=7, completion_tokens=3, cost=0.5)),
            ("other", Usage()),
        ):
            token, _ = store.tokens.create(name)
            charge = Charge(worker="w", kind="model", purpose="step", usage=usage)
            estimated = replace(charge, estimate=Usage(prompt_tokens=40, completion_tokens=2))
            store.ledger.add([charge if name == "known" else estimated], by=Asker(token=token.id))
    rows = {row.split()[1]: row.split() for row in line("tokens", "list").out.splitlines()}
    assert {"10", "$0.5000"} <= set(rows["known"])
    assert {"~42", "~$0.0000"} <= set(rows["other"])
