"""The oracle finds each kind of wrong figure, and takes each kind of right one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounting.reporting_upstream import Piece, Sent
from tests.accounting.truth import Amount, Range, truth_of

CLOSED, OPEN = Range(10, 10, False, False), Range(10, 10, True, False)
BROKEN_OFF, UNSURE = Range(10, 10, False, True), Range(8, 10, False, False)


@pytest.mark.parametrize(
    ("range", "right", "wrong"),
    [
        (CLOSED, "10", "9 11 None <9 <10 >10 >11 ~10"),
        (OPEN, "None <9 <10 ~10 ~12", "10 <11 >10 >12 ~9"),
        (BROKEN_OFF, "None 10 <9 <10 >10 ~9 ~12", "9 11 <11 >9"),
        (UNSURE, "<8 <7 >10 >11 ~8", "None 8 10 <9 >9 ~7"),
    ],
)
def test_a_figure_is_right_or_wrong_by_what_is_known(range: Range, right: str, wrong: str) -> None:
    verdicts = {text: range.fault(amount(text)) for text in f"{right} {wrong}".split()}
    assert {text for text, fault in verdicts.items() if fault is None} == set(right.split())


def amount(text: str) -> Amount:
    """The amount of a text: a number, `<` before a lower bound, `>` an upper one, `~` a charge."""
    bounds = {"<": "at least", ">": "at most", "~": "charged"}
    if text == "None":
        return Amount(None)
    return Amount(float(text.lstrip("<>~")), bounds.get(text[0], "exact"))  # type: ignore[arg-type]


def sent(*pieces: Piece, model: str = "a", behaviour: str = "ok", outcome: Any = "answered") -> Sent:
    """A request all of whose pieces were sent."""
    return Sent(
        "/", False, pieces=len(pieces), outcome=outcome, model=model, behaviour=behaviour, whole=list(pieces)
    )


REPORT = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
WORDS, REPORTED = Piece(has_words=True), Piece(REPORT)
CACHED = {**REPORT, "prompt_tokens_details": {"cached_tokens": 90}}


@pytest.mark.parametrize(
    ("request_", "tokens", "least", "most", "is_open"),
    [
        (sent(WORDS, REPORTED), 110, 280, 280, False),
        (sent(WORDS), 0, 0, 0, True),
        (sent(Piece(), behaviour="cut"), 0, 0, 0, False),
        (sent(REPORTED, behaviour="cut, reported"), 110, 280, 280, False),
        (sent(WORDS, Piece({**REPORT, "total_tokens": 887})), 887, 6496, 6496, False),
        (sent(WORDS, Piece({**REPORT, "cost": 0.5})), 110, 5e5, 5e5, False),
        (sent(WORDS, Piece(CACHED)), 110, 100, 280, False),
        (sent(WORDS, Piece(CACHED), model="b"), 110, 12, 12, False),
    ],
)
def test_a_request_used_what_its_endpoint_put_on_the_wire(
    request_: Sent, tokens: int, least: float, most: float, is_open: bool
) -> None:
    truth = truth_of([request_])
    assert truth.tokens == Range(tokens, tokens, is_open, False)
    assert (truth.cost.least, truth.cost.most) == pytest.approx((least / 1e6, most / 1e6))
    assert truth.cost.is_open == is_open


@pytest.mark.parametrize("reports", [True, False])
def test_a_request_that_its_client_left_may_have_taken_more(reports: bool) -> None:
    pieces = [WORDS, REPORTED] if reports else [Piece()]
    assert truth_of([sent(*pieces, outcome="disconnected")]).tokens.may_be_open


def test_a_model_without_a_price_leaves_the_cost_unknown_and_not_the_tokens() -> None:
    truth = truth_of([sent(WORDS, REPORTED), sent(WORDS, REPORTED, model="c")])
    assert (truth.tokens.least, truth.tokens.is_open) == (220, False)
    assert truth.cost == Range(0.00028, 0.00028, True, False)
