"""The doors by which people and programs read what was used: a function for each, from a case that was played
to the figures that the door shows.

Another door is one more function in `DOORS`. Knows the product's figures; `truth` knows which are right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from conductor.values.messages import Usage
from conductor.values.total import NOTHING, Total
from tests.accounting.accounting_cases import NEST
from tests.accounting.books import Answered, Books, Played
from tests.accounting.reporting_upstream import ANSWERS, PLAN, Piece, Sent
from tests.accounting.truth import Amount, tokens_of, truth_of


class Figure(NamedTuple):
    """The requests that a figure is about, and its amounts; None for one that it does not have. `calls` is
    the number of requests that it shows.
    """

    name: str
    requests: Sequence[Sent]
    tokens: Amount | None
    cost: Amount | None
    is_broken_off: bool = False
    calls: int | None = None


class Fault(NamedTuple):
    """An amount that is not as the upstream's log has it."""

    figure: Figure
    what: str
    amount: Amount
    reason: str

    def __str__(self) -> str:
        return f"{self.figure.name}: {self.what} {self.amount} {self.reason}"


Door = Callable[[Books, Played], Iterable[Figure | Fault]]


def faults(books: Books, played: Played, doors: Sequence[Door]) -> Iterator[Fault]:
    """All that is wrong at any of the doors."""
    for door in doors:
        for figure in door(books, played):
            yield from [figure] if isinstance(figure, Fault) else faults_of(figure)


def faults_of(figure: Figure) -> Iterator[Fault]:
    """Which amounts of a figure are wrong; of no request at all, unknown and nothing are both right."""
    truth = truth_of(figure.requests, is_broken_off=figure.is_broken_off)
    for what, amount, range in (("tokens", figure.tokens, truth.tokens), ("cost", figure.cost, truth.cost)):
        if amount is None or (not figure.requests and not amount.value):
            continue
        if (reason := range.fault(amount)) is not None:
            yield Fault(figure, what, amount, reason)
    # Of a call that was broken off, the request may have been under way to the endpoint.
    if figure.calls not in (None, len(figure.requests)) and not figure.is_broken_off:
        yield Fault(figure, "calls", Amount(figure.calls), f"are {len(figure.requests)}")


def of_total(total: Total) -> tuple[Amount, Amount]:
    """The amounts of a total."""
    most = getattr(total, "cost_at_most", False)
    cost = "at most" if most else "at least" if total.cost_at_least else "exact"
    return (
        Amount(total.tokens, "at least" if total.tokens_at_least else "exact"),
        Amount(total.cost, cost),
    )


def of_usage(usage: Usage) -> tuple[Amount, Amount]:
    """The amounts of a usage, whose cost is an upper bound where it has a least one."""
    return Amount(usage.total), Amount(usage.cost, "exact" if usage.least_cost is None else "at most")


def least_of(usage: Usage) -> tuple[Amount, Amount]:
    """The amounts of a usage that is a lower bound as a whole; nothing is stated where nothing is known."""
    least = usage.cost if usage.least_cost is None else usage.least_cost
    return _least(usage.total), _least(least)


def _least(value: float | None) -> Amount:
    return Amount(0 if value is None else value, "at least")


# -- the store -------------------------------------------------------------------------------------


def session_total(books: Books, played: Played) -> Iterator[Figure]:
    """What the session has used."""
    if played.session is not None:
        total = books.store.sessions.total(played.session)
        yield Figure("the session's total", played.sent, *of_total(total), played.is_broken_off)


def session_list(books: Books, played: Played) -> Iterator[Figure]:
    """The tokens beside its name."""
    for summary in books.store.sessions.listed(limit=3):
        if summary.id == played.session:
            tokens = Amount(summary.tokens, "at least" if summary.tokens_at_least else "exact")
            yield Figure("the list of sessions", played.sent, tokens, None, played.is_broken_off)


def run_totals(books: Books, played: Played) -> Iterator[Figure]:
    """What its runs have used."""
    if played.session is not None and (sent := played.of_runs) is not None:
        total = sum(books.store.runs.totals(played.session).values(), NOTHING)
        yield Figure("the totals of its runs", sent, *of_total(total), played.is_broken_off)


def folded_events(books: Books, played: Played) -> Iterator[Figure]:
    """What the events of its runs add up to."""
    if played.session is None or (sent := played.of_runs) is None:
        return
    runs = books.store.runs.of_session(played.session)
    states = [books.store.runs.state(run.id) for run in runs]
    used = sum((state.used for state in states), NOTHING)
    yield Figure("what its events used", sent, *of_total(used), played.is_broken_off)
    yield Figure("the usage of its events", sent, *of_usage(used.usage), played.is_broken_off)
    yield Figure("the known usage of its events", sent, *least_of(used.lower), is_broken_off=True)


def used_today(books: Books, played: Played) -> Iterator[Figure]:
    """What all sessions used since the case began."""
    total = books.store.sessions.used_since(played.moment)
    yield Figure("used since", played.sent, *of_total(total), played.is_broken_off)


def copies(books: Books, played: Played) -> Iterator[Figure]:
    """Imported, the session has used as much; a copy is no use of today."""
    if played.session is None:
        return
    imported, fork = books.copied(played.session)
    total = books.store.sessions.total(imported)
    yield Figure("the imported session's total", played.sent, *of_total(total), played.is_broken_off)
    if fork is not None:
        total = books.store.sessions.total(fork)
        yield Figure("the fork's total", played.sent, _least(total.tokens), None, is_broken_off=True)
    today = books.store.sessions.used_since(played.moment)
    yield Figure("used since, with copies", played.sent, *of_total(today), played.is_broken_off)


# -- counters --------------------------------------------------------------------------------------


def metrics(_: Books, played: Played) -> Iterator[Figure]:
    """How much `/metrics` grew."""
    before, after = played.before, played.after
    assert after is not None

    def grown(name: str, unknown: str) -> Amount:
        is_least = getattr(after, unknown) > getattr(before, unknown)
        return Amount(getattr(after, name) - getattr(before, name), "at least" if is_least else "exact")

    tokens, cost = grown("tokens", "unknown_tokens"), grown("cost", "unknown_costs")
    dollars: Amount | None = _rounded(cost, after.cost)
    if after.bounded_costs > before.bounded_costs:
        # A counter has no two bounds.
        dollars = None if cost.bound == "at least" else _rounded(cost._replace(bound="at most"), after.cost)
    yield Figure("/metrics", played.sent, tokens, dollars, played.is_broken_off)


def token_ledger(_: Books, played: Played) -> Iterator[Figure]:
    """How much more the API token has spent."""
    if played.case.door == "workbench":
        return
    assert played.after is not None
    before, after = played.before.spent, played.after.spent

    def grown(name: str, unknown: str) -> Amount:
        is_unknown = getattr(after, unknown) > getattr(before, unknown)
        return Amount(getattr(after, name) - getattr(before, name), "charged" if is_unknown else "exact")

    tokens, cost = grown("tokens", "unknown_tokens"), grown("cost", "unknown_costs")
    sent = truth_of(played.sent)
    if sent.cost.least < sent.cost.most:
        # Of a cost with an upper bound that is charged.
        cost = cost._replace(bound="charged")
    yield Figure("the token's ledger", played.sent, tokens, _rounded(cost, after.cost), played.is_broken_off)


def requests_of_token(_: Books, played: Played) -> Iterator[Figure | Fault]:
    """How many requests more came with the API token; one that is refused may be counted or not."""
    assert played.after is not None
    requests, fewest = played.after.spent.requests - played.before.spent.requests, int(bool(played.sent))
    if played.case.door != "workbench" and not fewest <= requests <= played.posts:
        figure = Figure("the token's ledger", played.sent, None, None)
        yield Fault(figure, "requests", Amount(requests), f"are {played.posts}")


def _rounded(grown: Amount, whole: float) -> Amount:
    """A difference of sums has the digits of the sums."""
    return Amount(round(grown.value or 0.0, 9), grown.bound) if whole else grown


# -- the API ---------------------------------------------------------------------------------------


def answers(_: Books, played: Played) -> Iterator[Figure]:
    """`usage`, the sum of all calls in it, and `conductor` of each answer."""
    for answered in played.answers:
        body, which = answered.body, " of a resumed response" if answered.is_resumed else ""
        sent, broken_off = answered.requests, answered.is_broken_off
        has_answer = body.get("status", "completed") in ("completed", "incomplete") and not body.get("error")
        conductor = body.get("conductor") or {}
        if "calls" not in conductor:
            continue
        paused = (body.get("incomplete_details") or {}).get("reason") == "paused"
        if answered.shows_usage and has_answer and not paused:
            usage = body.get("usage")
            if not conductor["counted"] and (own := _that_answered(answered)) is not None:
                yield Figure(f"usage{which}", own, _of_body(usage), None, broken_off)
            if usage is not None:
                spent = usage["conductor"]
                yield Figure(
                    f"usage.conductor{which}", sent, _of_body(spent), _cost(spent), broken_off, spent["calls"]
                )
        yield Figure(
            f"conductor{which}",
            sent,
            Amount(conductor["tokens"]),
            _cost(conductor),
            broken_off,
            conductor["calls"],
        )
        least = Usage(**conductor["known"])
        yield Figure(f"conductor.known{which}", sent, *least_of(least), is_broken_off=True)


def _that_answered(answered: Answered) -> list[Sent] | None:
    """The requests that gave the answers, by the upstream's log: the last whole one of the final step, or all
    of them for several answers, the first with its prompt and the others without. None if a Conductor does
    that step, if another one answered, or if one of several was asked for again: the log does not show which.
    """
    conductor = answered.body["conductor"]
    steps, choices = conductor["workflow"]["steps"], conductor.get("choices", [conductor])
    if steps[-1]["worker"] == NEST or any(each["answer_step"] != len(steps) - 1 for each in choices):
        return None
    own = [each for each in answered.requests if _is_of(each, steps[-1], is_alone=len(steps) == 1)]
    whole = [each for each in own if each.behaviour in ANSWERS and each.is_whole]
    if len(choices) == 1:
        whole = whole[-1:]
    return [*whole[:1], *map(_without_prompt, whole[1:])] if len(whole) == len(choices) else None


def _without_prompt(sent: Sent) -> Sent:
    report = sent.report
    if report is None:
        return sent
    written = tokens_of(report) - report["prompt_tokens"]
    return replace(
        sent, whole=[Piece({"prompt_tokens": 0, "completion_tokens": written, "total_tokens": written})]
    )


def _cost(shape: Mapping[str, Any]) -> Amount:
    return Amount(shape["cost"], "at most" if shape["cost_at_most"] else "exact")


def _of_body(usage: Mapping[str, Any] | None) -> Amount:
    if usage is None or usage["total_tokens"] is None:
        return Amount(None)
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    written = usage.get("completion_tokens", usage.get("output_tokens"))
    assert read is not None
    assert written is not None
    assert usage["total_tokens"] == read + written
    return Amount(usage["total_tokens"])


def steps(_: Books, played: Played) -> Iterator[Figure]:
    """The steps of `conductor`: each has its own requests, and those inside of it."""
    for answered in played.answers:
        conductor = answered.body.get("conductor") or {}
        if not conductor.get("workflow"):
            continue
        written = conductor["workflow"]["steps"]
        for at, (step, done) in enumerate(zip(written, conductor["steps"], strict=True)):
            # Of several answers the final step is called for each.
            if at == len(written) - 1 and played.case.answers > 1:
                continue
            own = [each for each in answered.own if _is_of(each, step, is_alone=len(written) == 1)]
            usage = Usage(**done["usage"])
            yield Figure("conductor.steps", own, *of_usage(usage), answered.is_broken_off)


def _is_of(sent: Sent, step: Mapping[str, Any], *, is_alone: bool) -> bool:
    """Whether it is of this step, or inside of it; a worker alone has no instruction."""
    is_inside = sent.mark == PLAN or not sent.mark.startswith("0.")
    mark = re.search(r"Part (\S+)", step["instruction"])
    if mark is None:
        return is_alone
    return sent.mark == mark[1] or (step["worker"] == NEST and is_inside)


STORED: Sequence[Door] = (session_total, session_list, run_totals, folded_events, used_today, copies)
"""Those that read the store."""

DOORS: Sequence[Door] = (*STORED, metrics, token_ledger, requests_of_token, answers, steps)
