"""Counts what a run and everything inside it spends, before a call by estimate and after it by its charge.

One meter serves a whole tree of runs and planning calls. Knows budgets, cards and usage; knows no run.

A call is admitted where its prompt and a short answer fit into what is left. From then on its prompt and the
answer that has come count as used, together with those of all other calls under way. When that is more than
the limit, the calls are stopped. What can still be spent beyond a limit: the piece of text with which it was
crossed and what the endpoint bills after it; the error of the estimate; and, where an endpoint sends its
answer whole or thinks without showing it, that answer or those thoughts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from conductor.values.budget import Allowance, Budget, Crossing, Limit, Used
from conductor.values.charge import Charge, Purpose
from conductor.values.messages import Usage
from conductor.workers.endpoint.tokens import TokenCount
from conductor.workers.protocol import WorkerCard

Prompt = Callable[[], Iterable[str]]
"""Returns the texts that a request has its worker read."""

LEAST_COMPLETION = 16
"""Tokens of an answer that must fit in addition to the prompt, or the call is refused."""


class Reservation:
    """One request to a worker, from its admission by a meter to its end. Made by `Meter.admit`; ended once.

    Where the meter estimates, its prompt and its answer are counted while it is under way; elsewhere nothing
    is reserved, and only the request's usage counts, at its end.
    """

    def __init__(self, meter: Meter, card: WorkerCard, prompt: Prompt, purpose: Purpose) -> None:
        self._meter = meter
        self._card = card
        self._prompt = prompt
        self._purpose = purpose
        self._pieces: list[str] = []
        self._answer = TokenCount(card) if meter.estimates else None
        self._prompt_tokens = _tokens(card, prompt()) if meter.estimates else 0
        self.ended = False

    @property
    def _completion(self) -> int:
        """Tokens that are reserved for the answer."""
        if self._answer is None or self._card.kind == "offline":
            return 0
        return max(self._answer.total, LEAST_COMPLETION)

    @property
    def tokens(self) -> int:
        """All tokens that are reserved."""
        return self._prompt_tokens + self._completion

    @property
    def cost(self) -> float:
        """US dollars of the reserved tokens; 0 where the worker has no price."""
        used = Usage(prompt_tokens=self._prompt_tokens, completion_tokens=self._completion)
        return self._card.cost_of(used).cost or 0.0

    def receive(self, text: str) -> None:
        """Count another piece of the answer, which may cross a limit."""
        self._pieces.append(text)
        if self._answer is not None:
            self._answer.add(text)
            self._meter.check()

    def end(self, usage: Usage | None = None, *, answer: str = "", stopped: bool = False) -> Charge | None:
        """The request has ended, and took this; None if it broke off and nothing of that is known. `answer`
        is its whole text, for one that did not come in pieces.

        Returns what it took, and by estimate what is not known; None if it has ended before, if no request
        was sent (then it took `NOTHING_USED`), and for a worker that computes or makes its own requests.
        """
        if self.ended:
            return None
        self.ended = True
        self._meter.close(self)
        if (usage is not None and usage.nothing) or self._card.kind == "offline" or self._card.nested:
            if not stopped or not self._card.nested:
                return None
            # What ended inside has charges of its own; what was under way there is unknown.
            return Charge(self._card.name, self._card.kind, "nested", stopped=True)
        answered, pieces = usage is not None, self._pieces or [answer]
        usage = self._card.cost_of(usage or Usage())
        charge = Charge(
            worker=self._card.name,
            kind=self._card.kind,
            purpose=self._purpose,
            usage=usage,
            wrote=any(pieces) or answered,
            stopped=stopped,
        )
        if charge.counts and usage.total is None:
            charge = replace(charge, estimate=self._estimate_of(usage, pieces))
        self._meter.count(charge)
        return charge

    def _estimate_of(self, usage: Usage, answer: Iterable[str]) -> Usage:
        """The tokens by the texts, of what is unknown, and what all cost, where there is a price."""
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        tokens = Usage(
            prompt_tokens=_tokens(self._card, self._prompt()) if prompt is None else prompt,
            completion_tokens=_tokens(self._card, answer) if completion is None else completion,
        )
        return self._card.cost_of(tokens)


def _tokens(card: WorkerCard, texts: Iterable[str]) -> int:
    count = TokenCount(card)
    for text in texts:
        count.add(text)
    return count.total


class Meter:
    """Belongs to one event loop. Time counts from its making. Calls of unknown price cost nothing."""

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.calls = 0
        self.charged_tokens = 0
        """Of the requests that have ended here, with estimates."""
        self.crossing: Crossing | None = None
        self._allowance: Allowance | None = None
        self._tokens = 0
        self._cost = 0.0
        self._estimated = set[Limit]()
        self._open: set[Reservation] = set()
        self._limited = not budget.open
        self.estimates = budget.tokens is not None or budget.cost is not None
        """Whether tokens or dollars are limited, so that calls are estimated."""
        self._clock = clock
        self._start = clock()
        self._watchers: list[Callable[[Crossing], None]] = []

    def allow(self, allowance: Allowance) -> None:
        """Limit what is counted from now on by this, too."""
        before = {"tokens": allowance.used.tokens - self._tokens, "cost": allowance.used.cost - self._cost}
        self._allowance = allowance.model_copy(update={"used": allowance.used.model_copy(update=before)})
        self._limited = self.estimates = True

    def watch(self, callback: Callable[[Crossing], None]) -> Callable[[], None]:
        """Call `callback` when a limit is exceeded. Returns a function that ends this."""
        self._watchers.append(callback)
        return lambda: self._watchers.remove(callback)

    @property
    def used(self) -> Used:
        """All that was counted so far, with what is reserved."""
        return Used(
            tokens=self._tokens + sum(call.tokens for call in self._open),
            cost=self._cost + sum(call.cost for call in self._open),
            seconds=self._clock() - self._start,
            calls=self.calls,
        )

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit of time, or None without such a limit."""
        allowed = self.budget.seconds
        return None if allowed is None else allowed - self.used.seconds

    def admit(self, card: WorkerCard, prompt: Prompt, *, purpose: Purpose) -> Reservation | None:
        """Count a request to the worker of `card` that is about to be made, and reserve what it takes.

        None, and a crossing, where the budget has no room for it. `prompt` returns the texts of its messages.
        """
        if self.crossing is not None:
            return None
        call = Reservation(self, card, prompt, purpose)
        self.crossing = self._refusal(call) if self._limited else None
        if self.crossing is not None:
            return None
        self.calls += 1
        if self.estimates:
            self._open.add(call)
        return call

    def _refusal(self, call: Reservation) -> Crossing | None:
        """The limit that leaves no room for `call`."""
        needs = {"tokens": call.tokens, "cost": call.cost}
        for limit, used, allowed, of in self._limits():
            needed = needs.get(limit)
            if used >= allowed or (needed is not None and used + needed > allowed):
                return self._crossing(limit, used, allowed, of=of, needed=needed or None, refused=True)
        return None

    def count_earlier(self, used: Used, *, estimated: bool = False) -> None:
        """Count requests that were made before this meter; `estimated`: a part of it is no report."""
        self._start -= used.seconds
        self.calls += used.calls
        if estimated:
            self._estimated |= {"tokens", "cost"}
        self._add(used.tokens, used.cost)

    def close(self, call: Reservation) -> None:
        """Reserve no more for it."""
        self._open.discard(call)

    def count(self, charge: Charge) -> None:
        self.charged_tokens += charge.charged_tokens
        usage = charge.usage
        if not self.estimates:
            self._add((usage.prompt_tokens or 0) + (usage.completion_tokens or 0), usage.cost or 0.0)
            return
        cost = charge.charged_cost
        if usage.total is None and charge.counts:
            self._estimated.add("tokens")
        if usage.cost is None and cost:
            self._estimated.add("cost")
        self._add(charge.charged_tokens, cost)

    def _add(self, tokens: int, cost: float) -> None:
        self._tokens += tokens
        self._cost += cost
        if self._limited:
            self.check()

    def check(self) -> None:
        """See whether more is used than a limit allows, and call the watchers the first time."""
        if not self._limited or (self.crossing is not None and not self.crossing.refused):
            return
        for limit, used, allowed, of in self._limits():
            if used > allowed or (limit == "seconds" and used >= allowed):
                self.crossing = self._crossing(limit, used, allowed, of=of)
                for callback in tuple(self._watchers):
                    callback(self.crossing)
                return

    def _crossing(self, limit: Limit, used: float, allowed: float, **more: Any) -> Crossing:
        uncertain = limit in self._estimated or any(call.tokens for call in self._open)
        return Crossing(limit=limit, used=used, allowed=allowed, estimated=uncertain, **more)

    def _limits(self) -> list[tuple[Limit, float, float, str | None]]:
        """Each limit with what is used and allowed, and whose it is."""
        budget, used = self.budget, self.used
        limits: list[tuple[Limit, float, float | None, str | None]] = [
            ("tokens", used.tokens, budget.tokens, None),
            ("cost", used.cost, budget.cost, None),
            ("seconds", used.seconds, budget.seconds, None),
            ("calls", used.calls, budget.calls, None),
        ]
        if (allowance := self._allowance) is not None:
            before, budget, of = allowance.used, allowance.budget, allowance.of
            limits += [
                ("tokens", before.tokens + used.tokens, budget.tokens, of),
                ("cost", before.cost + used.cost, budget.cost, of),
            ]
        return [(limit, spent, allowed, of) for limit, spent, allowed, of in limits if allowed is not None]


class Requests:
    """The requests that one call makes, one after another, each admitted by the meter.

    `refused`: the budget has no room for the next one.
    """

    def __init__(self, meter: Meter, card: WorkerCard, prompt: Prompt, *, purpose: Purpose) -> None:
        self._meter = meter
        self._card = card
        self._prompt = prompt
        self._purpose = purpose
        self._now = meter.admit(card, prompt, purpose=purpose)

    @property
    def refused(self) -> bool:
        return self._now is None

    def receive(self, text: str) -> None:
        """Count a piece of the answer to the request under way."""
        if self._now is not None:
            self._now.receive(text)

    def again(self, used: Usage | None, *, card: WorkerCard | None = None) -> Charge | None:
        """The request under way has ended, and another follows, to the worker of `card` if that is another;
        see `Reservation.end`.
        """
        charge = self.end(used)
        self._card = card or self._card
        self._now = self._meter.admit(self._card, self._prompt, purpose=self._purpose)
        return charge

    def end(self, used: Usage | None = None, *, answer: str = "", stopped: bool = False) -> Charge | None:
        """The request under way has ended; see `Reservation.end`."""
        return None if self._now is None else self._now.end(used, answer=answer, stopped=stopped)
