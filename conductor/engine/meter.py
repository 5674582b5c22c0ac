"""Counts what a run and everything inside it spends, before a call by estimate and after it by its usage.

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
from typing import Any

from conductor.values.budget import Budget, Crossing, Limit, Used
from conductor.values.messages import Usage
from conductor.workers.endpoint.tokens import TokenCount
from conductor.workers.protocol import WorkerCard

LEAST_COMPLETION = 16
"""Tokens of an answer that must fit in addition to the prompt, or the call is refused."""


class Reservation:
    """What one admitted call takes of a meter's budget. Made by `Meter.admit`; ended once.

    This one reserves nothing, where nothing is estimated: only the call's usage counts, at its end.
    """

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def receive(self, text: str) -> None:
        """Count another piece of the answer, which may cross a limit."""

    def settle(self, usage: Usage, *, answer: str = "") -> None:  # noqa: ARG002 - an estimate needs the answer
        """The call has ended with this usage; what of it is unknown is counted as estimated.

        `answer` is its whole text, for one that did not come in pieces.
        """
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self._meter.count(tokens=tokens, cost=usage.cost or 0.0, estimated=False)

    def release(self) -> None:
        """The call has ended without its usage; prompt and answer count where any of the answer had come."""


class _Estimate(Reservation):
    """The reservation of a call whose prompt and answer are counted by estimate while it is under way."""

    __slots__ = ("_answer", "_card", "_spends", "prompt")

    def __init__(self, meter: Meter, card: WorkerCard, prompt: Iterable[str]) -> None:
        super().__init__(meter)
        self._card = card
        self._spends = card.kind != "offline"
        self._answer = TokenCount(card)
        prompt_tokens = TokenCount(card)
        for text in prompt:
            prompt_tokens.add(text)
        self.prompt = prompt_tokens.total

    @property
    def _completion(self) -> int:
        """Tokens that are reserved for the answer."""
        return max(self._answer.total, LEAST_COMPLETION) if self._spends else 0

    @property
    def tokens(self) -> int:
        """All tokens that are reserved."""
        return self.prompt + self._completion

    @property
    def cost(self) -> float:
        """US dollars of the reserved tokens; 0 where the worker has no price."""
        return self._cost(self.prompt, self._completion) or 0.0

    def receive(self, text: str) -> None:
        self._answer.add(text)
        self._meter.check()

    def settle(self, usage: Usage, *, answer: str = "") -> None:
        if not self._answer.total:
            self._answer.add(answer)
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        unknown = self._spends and (prompt is None or completion is None)
        tokens = (
            self.prompt if prompt is None else prompt,
            self._answer.total if completion is None else completion,
        )
        cost = usage.cost if usage.cost is not None else self._cost(*tokens)
        self._meter.end(self, tokens=sum(tokens), cost=cost or 0.0, estimated=unknown)

    def release(self) -> None:
        if self._answer.total:
            self.settle(Usage())
        else:
            self._meter.end(self, tokens=0, cost=0.0, estimated=False)

    def _cost(self, prompt: int, completion: int) -> float | None:
        if self._card.price is None:
            return None
        return self._card.price.of(Usage(prompt_tokens=prompt, completion_tokens=completion))


class Meter:
    """Belongs to one event loop. Time counts from its making. Calls of unknown price cost nothing."""

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.calls = 0
        self.crossing: Crossing | None = None
        self._tokens = 0
        self._cost = 0.0
        self._estimated = False
        self._open: set[_Estimate] = set()
        self._limited = not budget.open
        self.estimates = budget.tokens is not None or budget.cost is not None
        """Whether tokens or dollars are limited, so that calls are estimated."""
        self._clock = clock
        self._start = clock()
        self._watchers: list[Callable[[Crossing], None]] = []

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

    def admit(self, card: WorkerCard | None = None, prompt: Iterable[str] = ()) -> Reservation | None:
        """Count a call to the worker of `card` that is about to be made, and reserve what it takes.

        None, and a crossing, where the budget has no room for it. `prompt` are the texts of its messages;
        without a card nothing is reserved.
        """
        if self.crossing is not None:
            return None
        if not self._limited:
            self.calls += 1
            return Reservation(self)
        estimate = self._estimate(card, prompt)
        self.crossing = self._refusal(estimate)
        if self.crossing is not None:
            return None
        self.calls += 1
        return self._opened(estimate)

    def _estimate(self, card: WorkerCard | None, prompt: Iterable[str]) -> _Estimate | None:
        return _Estimate(self, card, prompt) if self.estimates and card is not None else None

    def _refusal(self, call: _Estimate | None) -> Crossing | None:
        """The limit that leaves no room for `call`."""
        needs = {} if call is None else {"tokens": call.tokens, "cost": call.cost}
        for limit, used, allowed in self._limits():
            needed = needs.get(limit)
            if used >= allowed or (needed is not None and used + needed > allowed):
                return self._crossing(limit, used, allowed, needed=needed or None, refused=True)
        return None

    def _opened(self, estimate: _Estimate | None) -> Reservation:
        if estimate is None:
            return Reservation(self)
        self._open.add(estimate)
        return estimate

    def count_earlier(
        self, card: WorkerCard, prompt: Iterable[str], *, answer: str, usage: Usage, seconds: float
    ) -> None:
        """Count a call that was made before this meter."""
        self.calls += 1
        self._start -= seconds
        self._opened(self._estimate(card, prompt)).settle(usage, answer=answer)

    def end(self, call: _Estimate, *, tokens: int, cost: float, estimated: bool) -> None:
        """Count what a call took in place of what it reserved; nothing where it has ended before."""
        if call not in self._open:
            return
        self._open.remove(call)
        self.count(tokens=tokens, cost=cost, estimated=estimated)

    def count(self, *, tokens: int, cost: float, estimated: bool) -> None:
        """Count usage that was not reserved."""
        self._tokens += tokens
        self._cost += cost
        self._estimated = self._estimated or estimated
        if self._limited:
            self.check()

    def check(self) -> None:
        """See whether more is used than a limit allows, and call the watchers the first time."""
        if not self._limited or (self.crossing is not None and not self.crossing.refused):
            return
        for limit, used, allowed in self._limits():
            if used > allowed or (limit == "seconds" and used >= allowed):
                self.crossing = self._crossing(limit, used, allowed)
                for callback in tuple(self._watchers):
                    callback(self.crossing)
                return

    def _crossing(self, limit: Limit, used: float, allowed: float, **refusal: Any) -> Crossing:
        uncertain = self._estimated or any(call.tokens for call in self._open)
        return Crossing(limit=limit, used=used, allowed=allowed, estimated=uncertain, **refusal)

    def _limits(self) -> list[tuple[Limit, float, float]]:
        budget, used = self.budget, self.used
        limits: list[tuple[Limit, float, float | None]] = [
            ("tokens", used.tokens, budget.tokens),
            ("cost", used.cost, budget.cost),
            ("seconds", used.seconds, budget.seconds),
            ("calls", used.calls, budget.calls),
        ]
        return [(limit, spent, allowed) for limit, spent, allowed in limits if allowed is not None]
