"""What stands behind a number is a unit or none, whatever a model writes there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.equality.amount import amount_in
from conductor.text.equality.units import measure, unit_at

PARTS = (
    "day|m|kg|km/h|%|°C|degC|°|/|*|^|-|0|1|2|22|per |square | squared| cubed|²|⁰|⁻¹|·|A|e|µ|USD/|$| ".split(
        "|"
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "day0", "min^0", "A0", "e0", "m⁰", "kg0", "degC⁰", "km/h^0", "m^-0", "dB0",
        "square kg²2", "square day²²", "m^2^9", "m²²²²²",
    ],
)  # fmt: skip
def test_a_power_of_zero_and_a_power_of_a_power_are_no_units(text: str):
    assert measure(text) is None
    assert amount_in(f"5 {text}") is None or amount_in(f"5 {text}").value == 5


@pytest.mark.parametrize(
    ("text", "same"),
    [("m²", "m^2"), ("s⁻¹", "s^-1"), ("square metre", "m^2"), ("km/h", "km per hour"), ("‰", "permille")],
)
def test_a_unit_is_one_however_its_power_is_written(text: str, same: str):
    assert measure(text) == measure(same) is not None


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("".join))
def test_what_is_no_unit_is_left_as_text(text: str):
    unit, rest = unit_at(text)
    assert text.endswith(rest)
    assert unit or rest == text
