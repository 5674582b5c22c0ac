"""From what is typed to a table and back: empty fields are left out, what cannot be read is a fault."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conductor.workers.endpoint.config import Endpoint
from conductor.workers.pool.pool import parse_pool
from conductor.workers.pool.schema import (
    CalculatorTable,
    ConductorTable,
    ModelTable,
    PythonTable,
    SimulatedTable,
)
from pages.components.pool.fields import SERVICES, entry_of, fields, first_value, kind_of, missing

ROOT = Path(__file__).parents[4]
EXAMPLE = tomllib.loads((ROOT / "pool.example.toml").read_text(encoding="utf-8"))

of_each_kind = pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("model", ModelTable),
        ("conductor", ConductorTable),
        ("calculator", CalculatorTable),
        ("python", PythonTable),
        ("simulated", SimulatedTable),
    ],
)


@of_each_kind
def test_every_key_of_a_table_has_a_field(kind, table):
    keys = [field.key for group in fields(kind) for field in group]
    assert sorted(keys) == sorted(set(table.model_fields) - {"kind"})


@of_each_kind
def test_every_key_that_must_be_there_is_asked_for_where_it_is_not(kind, table):
    required = {key for key, field in table.model_fields.items() if field.is_required()} - {"kind"}
    assert required <= set(missing(kind, {}))
    assert missing(kind, dict.fromkeys(required | {"name"}, "x")) == {}


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [
        ("model", "context", ("Context", "whole", "unknown", ())),
        ("model", "temperature", ("Temperature", "number", "the model's own", ())),
        ("model", "connect_seconds", ("Seconds to connect", "number", "10", ())),
        ("model", "max_characters", ("Longest answer, characters", "whole", "4,000,000", ())),
        ("model", "fallback", ("Fallback", "worker", "None", ())),
        ("model", "extra", ("Extra parameters", "table", "top_k = 40", ())),
        (
            "conductor",
            "constrain",
            ("Constrained decoding", "choice", "auto", ("auto", "regex", "grammar", "json", "none")),
        ),
        ("conductor", "as_worker", ("Also a worker, which may plan a step of its own", "flag", "", ())),
        ("python", "allow_code", ("Runs programs that models write, in a sandbox", "flag", "", ())),
        ("simulated", "answer", ("Answer", "long", "made-up words", ())),
    ],
)
def test_a_field_follows_from_the_type_the_label_and_the_default_of_its_key(kind, key, expected):
    (field,) = (field for group in fields(kind) for field in group if field.key == key)
    assert (field.label, field.kind, field.hint, field.options) == expected


def first_values(kind, entry):
    """What the form shows at first."""
    return {field.key: first_value(field, entry) for group in fields(kind) for field in group}


@pytest.mark.parametrize("entry", EXAMPLE["worker"], ids=lambda entry: entry["name"])
def test_a_table_that_is_opened_and_saved_states_the_same(entry):
    kind = kind_of(entry)
    assert entry_of(kind, first_values(kind, entry), old=entry) == (entry, {})
    assert list(entry_of(kind, first_values(kind, entry), old=entry)[0]) == list(entry)


def test_the_same_holds_for_the_conductor():
    entry = EXAMPLE["conductor"] | {"as_worker": False, "extra": {"top_k": 40, "deep": {"a": [1, 2]}}}
    assert entry_of("conductor", first_values("conductor", entry), old=entry) == (entry, {})


def test_what_is_typed_becomes_the_shortest_table():
    typed = first_values("model", {}) | {
        "name": " gpt ",
        "model": "m",
        "base_url": "http://h/v1",
        "temperature": 1.0,
        "price_prompt": 0.15,
        "extra": "top_k = 40\nstop = ['x']",
        "strengths": "",
        "leave_out": ["stream", "seed"],
    }
    entry, faults = entry_of("model", typed, old={})
    assert faults == {}
    assert entry == {
        "name": "gpt",
        "model": "m",
        "base_url": "http://h/v1",
        "temperature": 1,
        "price_prompt": 0.15,
        "extra": {"top_k": 40, "stop": ["x"]},
        "leave_out": ["stream", "seed"],
    }
    assert first_values("model", entry)["leave_out"] == ["stream", "seed"]
    assert isinstance(entry["temperature"], int)
    assert entry_of("calculator", {"name": "f"}, old={})[0] == {"kind": "calculator", "name": "f"}
    python = {"kind": "python", "name": "p", "allow_code": True}
    assert entry_of("python", python, old={}) == (python, {})
    assert first_values("python", python)["allow_code"] is True
    assert kind_of(python) == "python"
    assert "as_worker" not in entry_of("conductor", {"as_worker": False}, old={})[0]


def test_what_is_emptied_goes_from_the_table():
    old = {
        "kind": "model",
        "name": "a",
        "model": "m",
        "base_url": "http://h/v1",
        "extra": {"a": 1},
        "context": 9,
    }
    typed = first_values("model", old) | {"extra": " ", "context": None}
    assert entry_of("model", typed, old=old)[0] == {
        "kind": "model",
        "name": "a",
        "model": "m",
        "base_url": "http://h/v1",
    }


def test_extra_parameters_that_are_no_toml_are_stated_at_their_field():
    entry, faults = entry_of("model", {"name": "a", "extra": "top_k: 40"}, old={})
    assert list(faults) == ["extra"]
    assert faults["extra"].startswith("write lines like top_k = 40; ")
    assert entry == {"name": "a"}


def test_services_are_addresses_that_a_pool_file_may_hold():
    listed = {
        (entry["base_url"], entry.get("api_key_env")) for entry in EXAMPLE["worker"] if "base_url" in entry
    }
    for service in SERVICES:
        Endpoint(base_url=service.base_url, model="m", api_key_env=service.api_key_env)
        if service.api_key_env is not None:
            assert (service.base_url, service.api_key_env) in listed
    assert len(parse_pool((ROOT / "pool.example.toml").read_text(encoding="utf-8")).workers) > 3
