"""Two processes on one store: a token and a person have one rate, one debt and one budget over both."""

from __future__ import annotations

import time

import pytest

from storage import SessionStore
from storage.api_token import TokenLimits
from storage.limits import Limits
from tests.support.stores.asking_process import asking, have_ask, passed

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def test_a_rate_holds_over_all_processes_of_a_store(store: SessionStore, url: str) -> None:
    _, text = store.tokens.create("lab", TokenLimits(requests_per_minute=12))
    store.people.set_limits("ada", Limits(requests_per_minute=12))
    with asking(url, text, "ada") as one, asking(url, text, "ada") as other:
        began = time.monotonic()
        for process in (one, other):
            have_ask(process, "20")
        both = [passed(process) for process in (one, other)]
        most = 12 + (time.monotonic() - began) * 12 / 60
    for counts in zip(*both, strict=True):
        assert 12 <= sum(counts) <= most


@pytest.mark.parametrize("limits", [{"tokens": 100}, {"tokens_per_minute": 100}])
def test_a_budget_and_a_debt_hold_over_all_processes_of_a_store(
    store: SessionStore, url: str, limits: dict[str, int]
) -> None:
    _, text = store.tokens.create("lab", TokenLimits(**limits))
    store.people.set_limits("*", Limits(**limits))
    with asking(url, text, "ada") as one, asking(url, text, "ada") as other:
        counts = []
        for process in (one, other, one, other):
            have_ask(process, "1 spends")
            counts.append(passed(process))
    assert counts == [(1, 1), (1, 1), (0, 0), (0, 0)]
