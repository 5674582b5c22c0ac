"""Charges as tests write them: what one request took."""

from __future__ import annotations

from conductor.values.charge import Charge
from conductor.values.messages import Usage


def took(usage: Usage) -> tuple[Charge, ...]:
    """The charge of one request to a model that took this."""
    return (Charge(worker="a", kind="model", purpose="step", usage=usage),)
