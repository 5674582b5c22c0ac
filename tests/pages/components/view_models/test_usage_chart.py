"""The bars of the usage page: a worker a colour, the rest together, simulated ones not at all."""

from __future__ import annotations

from datetime import date

from conductor.drawing.marks import marks
from conductor.values.messages import Usage
from conductor.values.total import Total
from pages.components.view_models.training_curves import LIGHT
from pages.components.view_models.usage_chart import Amount, series_of, usage_chart
from storage import Reality, Use


def use(
    day: str, worker: str, tokens: int | None, cost: float | None = None, *, reality: Reality = "real"
) -> Use:
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost)
    return Use((day, worker), reality, Total.of([usage]))


def series(*used: Use):
    names = {name: None for each in used for name in each.names[1:]}
    return series_of(used, marks(names), rest="#777777")


def bars(*used: Use, amount: Amount = "tokens"):
    chart = usage_chart(series(*used), LIGHT, amount=amount, first=date(2026, 10, 31), last=date(2026, 11, 2))
    return chart, chart["layer"][0]["data"]["values"]


def test_workers_have_their_own_colours_and_those_that_used_most_are_first():
    used = (use("2026-11-01", "small", 10), use("2026-11-01", "big", 70), use("2026-11-02", "small", 20))
    own = marks({"small": None, "big": None})
    assert [(each.name, each.hue) for each in series(*used)] == [
        ("big", own["big"].hue),
        ("small", own["small"].hue),
    ]


def test_more_workers_than_colours_are_drawn_together():
    used = [use("2026-11-01", f"w{n}", 100 - n) for n in range(10)]
    bands = series(*used)
    assert len(bands) == 8
    assert bands[-1].name == "3 other workers"
    assert bands[-1].days["2026-11-01"].tokens == 93 + 92 + 91
    assert len(series(*used[:8])) == 8


def test_simulated_requests_have_no_bar():
    assert series(use("2026-11-01", "mock", 10, reality="simulated")) == ()


def test_every_day_has_its_place_also_without_a_request():
    chart, values = bars(use("2026-11-01", "w", 10))
    days = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert days == ["2026-10-31", "2026-11-01", "2026-11-02"]
    assert [(each["day"], each["value"]) for each in values] == [("2026-11-01", 10)]


def test_a_bar_is_as_high_as_what_is_known_and_its_text_has_the_bound():
    usage = [Usage(prompt_tokens=5, completion_tokens=0, cost=0.25), Usage(prompt_tokens=None, cost=None)]
    partly = Use(("2026-11-01", "w"), "real", Total.of(usage))
    for amount, height in (("tokens", 5), ("dollars", 0.25)):
        _, (value,) = bars(partly, amount=amount)
        assert (value["value"], value["tokens"], value["dollars"]) == (
            height,
            "at least 5",
            "at least $0.2500",
        )
    _, (unknown,) = bars(use("2026-11-01", "w", None))
    assert (unknown["value"], unknown["tokens"], unknown["dollars"]) == (0, "-", "-")


def test_small_dollars_have_more_digits():
    for cost, form in ((0.003, "$,.4~f"), (3.0, "$,.2f")):
        chart, _ = bars(use("2026-11-01", "w", 1, cost), amount="dollars")
        assert form in chart["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
