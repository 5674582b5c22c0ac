"""What is wrong with a table, key by key: each fault once, in words, without the value."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.errors import PoolError
from conductor.workers.pool.kinds import table_faults
from conductor.workers.pool.pool import parse_pool

KEY = "sk-marked-0123456789"
GOOD = {"name": "a", "base_url": "http://h/v1", "model": "m"}


@pytest.mark.parametrize(
    ("entry", "keys"),
    [
        (GOOD, []),
        ({"kind": "calculator", "name": "a"}, []),
        ({"kind": "python", "name": "a", "allow_code": True}, []),
        ({"kind": "python", "name": "a"}, ["allow_code"]),
        ({"kind": "python", "name": "a", "allow_code": False}, ["allow_code"]),
        ({"kind": "simulated", "name": "a", "latency": 0.5}, []),
        ({"kind": "odd", "name": "a"}, ["kind"]),
        ({"kind": "offline", "name": "a", "expert": "facts"}, ["kind"]),
        ({"kind": "calculator", "name": "a", "expert": "facts"}, ["expert"]),
        (
            GOOD | {"base_url": "nowhere", "temperature": 3.0, "context": 0},
            ["base_url", "temperature", "context"],
        ),
        ({"base_url": "http://h/v1"}, ["model", "name"]),
        (GOOD | {"api_key": KEY, "speed": 3}, ["api_key", "speed"]),
        (GOOD | {"retries": "3"}, ["retries"]),
    ],
)
def test_every_wrong_key_is_named_once(entry: dict[str, Any], keys: list[str]) -> None:
    assert sorted(fault.key for fault in table_faults(entry.get("kind", "model"), entry)) == sorted(keys)


def test_the_conductor_has_keys_of_its_own() -> None:
    assert table_faults("conductor", {"base_url": "http://h/v1", "model": "m", "dialect": "any"}) == ()
    faults = table_faults("conductor", {"base_url": "http://h/v1", "dialect": "odd", "fallback": "a"})
    assert sorted(fault.key for fault in faults) == ["dialect", "fallback", "model"]


def test_a_fault_states_what_to_write_and_never_what_stands_there() -> None:
    faults = dict(table_faults("model", GOOD | {"api_key": KEY, "api_key_env": KEY, "top_k": 4}))
    assert "name the variable that holds it in api_key_env" in faults["api_key"]
    assert "like OPENAI_API_KEY, not the key itself" in faults["api_key_env"]
    assert faults["top_k"].endswith("goes into extra = { top_k = ... }.")
    assert KEY not in str(faults)


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("[[worker]]\nname = 'a'\nkind = 'simulated'\nvoice = 3\n", 4, "voice", "unknown key."),
        ("[[worker]]\nname = 'a'\nkind = \n", 3, None, None),
        ("[[worker\n", 1, None, None),
        ("seed = 1\n", 1, "seed", "unknown key 'seed'; use [[worker]] tables and one [conductor] table."),
    ],
)
def test_a_file_states_where_it_is_wrong(text: str, line: int, key: str | None, reason: str | None) -> None:
    with pytest.raises(PoolError) as wrong:
        parse_pool(text)
    assert (wrong.value.line, wrong.value.key, wrong.value.reason) == (line, key, reason)
