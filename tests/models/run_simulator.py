"""A run of a workflow as a simulation of discrete events, written from docs/ alone: what a run should do.

Takes plans, rules, scopes and budgets as the values that they are; calls nothing of engine, workers or runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from typing import Literal
from zlib import crc32

from conductor.runs.scope import RunScope
from conductor.values.budget import Budget
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure

LEAST_ANSWER = 16
"""Tokens of an answer for which there must be room before a call."""

TryKind = Literal["answers", "empty", "declines", "fails", "breaks", "ends", "repeats", "wastes"]
"""What a worker does with a request. It fails by its own error, by a fault of its program, or without an end;
it repeats the request by itself, or wastes a whole answer, which is paid for, and then repeats it."""


class TieError(Exception):
    """Two things happen at one moment without one causing the other, so that their order is not defined."""


class _NoAnswerError(Exception):
    """By which kind of try; "no room": the budget had none for the next request."""


@dataclass(frozen=True)
class Turn:
    """One request as it is played: each of the `pieces` comes after a pause, the end after the last one."""

    kind: TryKind
    pieces: tuple[str, ...]
    pauses: tuple[float, ...]
    text: str
    tokens: tuple[int, int] | None


@dataclass(frozen=True)
class Script:
    """For each step what happens with its requests, by any worker: a kind, how many pieces come, and
    whether usage is reported. Later ones are answered. `varies`: each answer of the step is another.
    """

    salt: int
    tries: tuple[tuple[tuple[TryKind, int, bool], ...], ...]
    varies: tuple[bool, ...]

    def turn(self, step: int, worker: str, number: int) -> Turn:
        """The step's request of that number, from 0. Pauses are one to nine seconds, sums of them exact."""
        own = self.tries[step]
        kind, count, is_reported = own[number] if number < len(own) else ("answers", 0, True)
        keys = (f"{self.salt}/{step}/{number}/{at}".encode() for at in range(count + 1))
        piece = f"{worker[:3]}{number if self.varies[step] else 0:>33}"
        text = {"empty": " ", "declines": "I cannot."}.get(kind, piece * max(1, count))
        pieces = () if kind in ("empty", "declines") else (piece,) * count
        tokens = (30, len(text) // 4 + 2) if is_reported or kind == "wastes" else None
        return Turn(kind, pieces, tuple(1 + crc32(key) % 2**20 / 2**17 for key in keys), text, tokens)


@dataclass(frozen=True)
class SimWorker:
    """A worker of the pool; `price` is in US dollars a token."""

    fallback: str | None = None
    at_once: int | None = None
    per_minute: int | None = None
    price: int = 0


@dataclass(frozen=True)
class SimOutput:
    """`key` is what the step was sent, `by` who answered. `rule` gave it by its fallback or its text."""

    key: object
    text: str
    by: str
    is_own: bool = True
    rule: OnFailure | None = None
    is_text: bool = False
    is_by_hand: bool = False
    is_refused: bool = False
    tokens: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()

    @property
    def status(self) -> str:
        return "empty" if self.is_empty else "refused" if self.is_refused else "finished"


@dataclass(frozen=True)
class Sent:
    """A request that a worker got; `seen` are the responses in it by position, with who wrote them."""

    at: float
    step: int
    worker: str
    instruction: str
    seen: tuple[tuple[int, str, str, bool], ...]


Earlier = Sequence[tuple[Workflow, Mapping[int, SimOutput]]]
"""Earlier runs, newest first."""
Size = Callable[[int, Mapping[int, SimOutput]], int]
"""The tokens of a step's prompt with these outputs."""
Process = Generator["float | Queue", None, SimOutput]


@dataclass
class Queue:
    """Requests that wait for their turn at one worker, first come, first served."""

    worker: SimWorker
    waiting: deque[_Call] = field(default_factory=deque)
    busy: int = 0
    starts: list[float] = field(default_factory=list)
    look_at: float = 0.0


@dataclass(eq=False)
class _Call:
    """The call of a step. `prompt` is reserved for the request under way, by the card of the worker `by`."""

    step: int
    key: object
    process: Generator[float | Queue, None, None] | None = None
    by: str = ""
    sent_to: str = ""
    prompt: int | None = None
    received: int = 0
    text: str = ""
    wasted: int = 0
    reported: int | None = None
    is_unknown: bool = False
    is_stopped: bool = False
    pauses_until: float = 0.0


@dataclass
class Simulation:
    """One run. After `played` its fields show what happened; `sent` counts each step's requests so far."""

    plan: Workflow
    workers: Mapping[str, SimWorker]
    script: Script
    scope: RunScope
    budget: Budget
    cancel_at: float | None
    pins: Mapping[int, SimOutput]
    earlier: Earlier
    size: Size
    sent: list[int]
    queues: dict[str, Queue] = field(default_factory=dict)
    now: float = 0.0
    requests: list[Sent] = field(default_factory=list)
    outputs: dict[int, SimOutput] = field(default_factory=dict)
    steps: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Status and text by position; the others wait."""
    reused: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)
    outcome: str = ""
    crossed: str | None = None
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __post_init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._soon: deque[Callable[[], None]] = deque()
        self._numbers = count()
        self._calls: dict[int, _Call] = {}
        for name, worker in self.workers.items():
            self.queues.setdefault(name, Queue(worker))
        self._refuses = self._has_stopped = self._is_cancelled = False
        limits = self.budget.model_dump(exclude_none=True)
        self._limits = {name: limits[name] for name in Budget.model_fields if name in limits}
        self._estimates = "tokens" in limits or "cost" in limits
        steps, kind, about = range(len(self.plan)), self.scope.kind, self.scope.step
        behind = {at: self._behind(at) for at in steps}
        self._covers = {at for at in steps if kind != "to" or about in behind[at]}
        forced = set(steps) if kind == "force" else behind[about or 0] if kind == "from" else set()
        self._forced = forced - set(self.scope.done)
        self._missing = {at: set(step.access) for at, step in enumerate(self.plan.steps)}

    def _behind(self, step: int) -> set[int]:
        """The step and all that its output reaches."""
        reached = {step}
        for at, own in enumerate(self.plan.steps):
            reached |= {at} if reached.intersection(own.access) else set()
        return reached

    # -- time ------------------------------------------------------------------------------------

    def played(self) -> Simulation:
        if (seconds := self._limits.get("seconds")) is not None:
            self._later(seconds, self._check)
        if self.cancel_at is not None:
            self._later(self.cancel_at, self._cancel)
        ready = [at for at, missing in self._missing.items() if not missing]
        needs = self._covers | {read for at in self._covers for read in self.plan.steps[at].access}
        for at in sorted(needs & self.pins.keys()):
            ready += self._settle(at, self.pins[at])
        self._launch(ready)
        while not self.outcome:
            if self._soon:
                self._soon.popleft()()
                continue
            self.now, _, act = heappop(self._heap)
            if self._heap and self._heap[0][0] - self.now < 1e-6:
                raise TieError
            act()
        return self

    def _later(self, at: float, act: Callable[[], None]) -> None:
        heappush(self._heap, (at, next(self._numbers), act))

    def _resume(self, call: _Call) -> None:
        if call.is_stopped or call.process is None:
            return
        wait = next(call.process, None)
        if call.is_stopped:
            call.process.close()
        elif isinstance(wait, Queue):
            wait.waiting.append(call)
            self._look(wait)
        elif wait is not None:
            self._later(self.now + wait, lambda: self._resume(call)) if wait else self._go(call)

    def _go(self, call: _Call) -> None:
        self._soon.append(lambda: self._resume(call))

    def _look(self, queue: Queue) -> None:
        """Let those begin that may."""
        at_once, a_minute = queue.worker.at_once, queue.worker.per_minute
        while queue.waiting and (at_once is None or queue.busy < at_once):
            if a_minute is not None and len(queue.starts) >= a_minute:
                free = queue.starts[-a_minute] + 60
                if free > self.now and queue.look_at != free:
                    queue.look_at = free
                    self._later(free, lambda: self._look(queue))
                if free > self.now:
                    return
            queue.busy += 1
            queue.starts.append(self.now)
            self._go(queue.waiting.popleft())

    # -- steps -----------------------------------------------------------------------------------

    def _settle(self, at: int, output: SimOutput) -> list[int]:
        """Give the step its output; which steps that makes ready."""
        self.outputs[at], self.steps[at] = output, (output.status, output.text)
        readers = [reader for reader, missing in self._missing.items() if at in missing]
        for reader in readers:
            self._missing[reader].discard(at)
        return [reader for reader in readers if not self._missing[reader]]

    def _launch(self, ready: Sequence[int]) -> None:
        waiting = deque(ready)
        while waiting and not self._has_stopped:
            at = waiting.popleft()
            own = self.plan.steps[at]
            if at in self.pins or at not in self._covers:
                continue
            call = _Call(at, key=self._key(at))
            if at not in self._forced and (output := self._takeover(at, call.key)) is not None:
                self.reused.add(at)
                waiting.extend(self._settle(at, output))
            elif own.gate and at not in self.scope.passes:
                self.steps[at] = ("paused", "")
            elif self._admit(call, own.worker):
                self.started.add(at)
                self._calls[at] = call
                call.process = self._work(call)
                self._go(call)
        self._end_if_idle()

    def _key(self, at: int) -> object:
        own, steps = self.plan.steps[at], self.plan.steps
        # With the worker of a step that it reads: that is known of a request before it is made.
        reads = [(read, steps[read].worker, steps[read].instruction, self._seen(read)) for read in own.access]
        return (own.instruction, own.worker, at == len(steps) - 1, *reads)

    def _seen(self, read: int) -> tuple[str, str, bool] | None:
        output = self.outputs[read]
        return None if output.is_empty else (output.by, output.text, output.is_by_hand)

    def _takeover(self, at: int, key: object) -> SimOutput | None:
        """An earlier answer to just this request; what stood in where the rule keeps it, or after a gate."""
        rule = self.plan.steps[at].on_failure
        is_kept = at in self.scope.done or (rule is not None and rule.keep)
        for _, outputs in sorted(self.earlier, key=lambda run: run[0].unpinned != self.plan.unpinned):
            output = outputs.get(at)
            if output is None or output.key != key or output.is_empty:
                continue
            if output.rule is None and (is_kept or output.is_own):
                return output
            same = rule is not None and output.rule is not None and rule.fallback == output.rule.fallback
            if is_kept and same and rule and (not output.is_text or rule.output == output.text):
                return output
        return None

    def _work(self, call: _Call) -> Generator[float | Queue, None, None]:
        try:
            output = yield from self._by_rule(call, self.plan.steps[call.step].on_failure)
        except _NoAnswerError:
            # A limit that is crossed while what had come is counted stops the call itself, too.
            if not call.is_stopped:
                self._close(call)
                self._lose(call, "failed")
        else:
            del self._calls[call.step]
            ready = self._settle(call.step, output)
            self._close(call, output.text)
            self._launch(ready)

    def _by_rule(self, call: _Call, rule: OnFailure | None) -> Process:
        """The worker as often as the rule calls it, its fallbacks, the rule's with its own, a text."""
        own = self.plan.steps[call.step].worker
        for left in range(0 if rule is None else rule.retries, -1, -1):
            try:
                return (yield from self._requests(call, own))
            except _NoAnswerError as failure:
                (kind,) = failure.args
                if kind == "no room" or self._makes_no_calls:
                    raise
            if left and rule is not None:
                self._again(call, own)
                call.pauses_until = self.now + rule.pause
                yield rule.pause
        try:
            return (yield from self._fall_back(call, own, kind))
        except _NoAnswerError as failure:
            stands_in = rule is not None and (rule.fallback is not None or rule.output is not None)
            if failure.args == ("no room",) or self._makes_no_calls or not stands_in:
                raise
        assert rule is not None
        self._give_up(call)
        if rule.fallback is not None:
            self._again(call, rule.fallback)
            try:
                return replace((yield from self._answer(call, rule.fallback)), rule=rule)
            except _NoAnswerError as failure:
                if failure.args == ("no room",) or rule.output is None or self._makes_no_calls:
                    raise
            self._give_up(call)
        call.reported = None
        text, tokens = rule.output or "", None if call.is_unknown else call.wasted
        return SimOutput(call.key, text, by=own, rule=rule, is_text=True, is_by_hand=True, tokens=tokens)

    def _answer(self, call: _Call, worker: str) -> Process:
        """That of the worker, or of its fallbacks in the pool."""
        try:
            return (yield from self._requests(call, worker))
        except _NoAnswerError as failure:
            (kind,) = failure.args
            if kind == "no room":
                raise
        return (yield from self._fall_back(call, worker, kind))

    def _fall_back(self, call: _Call, worker: str, kind: str) -> Process:
        """That of the worker's fallback in the pool; nothing, if a text counts or a program broke."""
        other = self.workers[worker].fallback
        if kind == "breaks" or call.text or other is None:
            raise _NoAnswerError(kind)
        self._again(call, other)
        return (yield from self._answer(call, other))

    def _requests(self, call: _Call, worker: str) -> Process:
        own, at, queue = self.plan.steps[call.step], call.step, self.queues[worker]
        seen = tuple((read, *seen) for read in own.access if (seen := self._seen(read)) is not None)
        while True:
            yield queue
            turn = self.script.turn(at, worker, self.sent[at])
            self.sent[at] += 1
            call.sent_to = worker
            self.requests.append(Sent(self.now, at, worker, own.instruction, seen))
            for pause, piece in zip(turn.pauses, turn.pieces, strict=False):
                yield pause
                call.text += piece
                call.received += len(piece) // 4
                self._check()
            yield turn.pauses[-1]
            queue.busy -= 1
            self._look(queue)
            if turn.kind in ("answers", "empty", "declines"):
                call.reported = None if turn.tokens is None else sum(turn.tokens)
                is_known = call.reported is not None and not call.is_unknown
                tokens = call.wasted + (call.reported or 0) if is_known else None
                refused = turn.kind == "declines"
                is_own = worker == own.worker
                return SimOutput(call.key, turn.text, worker, is_own, is_refused=refused, tokens=tokens)
            if turn.kind not in ("repeats", "wastes"):
                raise _NoAnswerError(turn.kind)
            self._again(call, worker, wasted=sum(turn.tokens or ()) if turn.kind == "wastes" else 0)
            call.pauses_until = self.now + 1.5
            yield 1.5

    # -- the budget ------------------------------------------------------------------------------

    def _used(self) -> dict[str, float]:
        reserved = [
            (call.prompt + max(call.received, LEAST_ANSWER), self.workers[call.by].price)
            for call in self._calls.values()
            if call.prompt is not None
        ]
        cost = self.cost + sum(tokens * price for tokens, price in reserved)
        tokens = self.tokens + sum(tokens for tokens, _ in reserved)
        return {"tokens": tokens, "cost": cost, "seconds": self.now, "calls": self.calls}

    def _admit(self, call: _Call, worker: str) -> bool:
        """Take the room of a request to that worker, if the budget has it; else no further call is made."""
        if self._makes_no_calls:
            return False
        prompt = self.size(call.step, self.outputs) if self._estimates else None
        least, used = LEAST_ANSWER + (prompt or 0), self._used()
        needs = {"tokens": least, "cost": least * self.workers[worker].price}
        for limit, allowed in self._limits.items():
            if used[limit] >= allowed or used[limit] + needs.get(limit, 0) > allowed:
                self._refuses, self.crossed = True, limit
                return False
        self.calls += 1
        call.by, call.prompt, call.received = worker, prompt, 0
        return True

    def _close(self, call: _Call, answer: str | None = None) -> None:
        """Count the request that ended, by its usage, else by estimate where any of an answer had come, or it
        was stopped under way.
        """
        was_stopped = call.is_stopped and self.now >= call.pauses_until
        amount, by = 0, call.by
        if answer is not None and call.reported is not None:
            amount, by = call.reported, call.sent_to
        elif call.prompt is not None and (answer is not None or call.received or was_stopped):
            amount = call.prompt + (call.received or -(-len(answer or "") // 4))
        call.prompt, call.received = None, 0
        self._count(amount, by)

    def _count(self, tokens: int, worker: str) -> None:
        self.tokens += tokens
        self.cost += tokens * self.workers[worker].price
        self._check()

    def _again(self, call: _Call, worker: str, *, wasted: int = 0) -> None:
        """Another request in the place of one that gave no answer, or a wasted one of so many tokens."""
        text = call.text
        self._withdraw(call, wasted)
        call.reported = None
        if not self._admit(call, worker):
            call.text = text
            raise _NoAnswerError("no room")

    def _give_up(self, call: _Call) -> None:
        """No request follows to the worker whose text is withdrawn."""
        self._withdraw(call)
        if call.is_stopped:
            raise _NoAnswerError("stopped")

    def _withdraw(self, call: _Call, wasted: int = 0) -> None:
        """What a request without an answer had given no longer counts as text, and still as used."""
        prompt, broken = call.prompt, call.received if call.prompt is not None else 0
        call.wasted += wasted
        call.is_unknown = call.is_unknown or (bool(call.text) and not wasted)
        amount, by = (wasted, call.sent_to) if wasted else ((prompt or 0) + broken if broken else 0, call.by)
        call.text, call.received, call.prompt = "", 0, None
        self._count(amount, by)

    def _check(self) -> None:
        """Stop the calls under way where more is used than a limit allows."""
        used = self._used()
        for limit, allowed in self._limits.items():
            if used[limit] > allowed or (limit == "seconds" and used[limit] >= allowed):
                self.crossed = self.crossed or limit
                self._stop()

    # -- the end ---------------------------------------------------------------------------------

    @property
    def _makes_no_calls(self) -> bool:
        return self._has_stopped or self._refuses

    def _cancel(self) -> None:
        self._is_cancelled = not self._has_stopped
        self._stop()

    def _stop(self) -> None:
        if self._has_stopped:
            return
        self._has_stopped = True
        for call in self._calls.values():
            call.is_stopped = True
            if call.process is not None and not call.process.gi_running:
                call.process.close()
        # One that has its answer at this moment keeps it.
        self._soon.append(self._end_stopped)

    def _end_stopped(self) -> None:
        for call in list(self._calls.values()):
            self._close(call)
            self._lose(call, "cancelled")
        self._end_if_idle()

    def _lose(self, call: _Call, status: str) -> None:
        del self._calls[call.step]
        self.steps[call.step] = (status, call.text)
        for at in sorted(self._covers - self.pins.keys() - self.steps.keys()):
            if any(self._status(read) in ("failed", "blocked") for read in self.plan.steps[at].access):
                self.steps[at] = ("blocked", "")
        self._end_if_idle()

    def _status(self, at: int) -> str:
        return self.steps.get(at, ("waiting", ""))[0]

    def _end_if_idle(self) -> None:
        if self._calls or self.outcome:
            return
        goal = max(self._covers)
        is_done, waits = goal in self.outputs, any(status == "paused" for status, _ in self.steps.values())
        if self._is_cancelled and not is_done:
            self.outcome = "cancelled"
        elif self.crossed is not None and not is_done:
            self.outcome = "over_budget"
        elif waits and self._status(goal) not in ("failed", "blocked"):
            self.outcome = "paused"
        else:
            self.outcome = "finished" if is_done else "failed"
        if self.outcome != "paused":
            self.steps = {at: step for at, step in self.steps.items() if step[0] != "paused"}

    @property
    def answer(self) -> tuple[int, str] | None:
        """The step and the text that answer: the last response that has words."""
        final = len(self.plan) - 1
        spoken = [at for at, output in self.outputs.items() if not output.is_empty]
        if final not in self.outputs or final not in self._covers or not spoken:
            return None
        step = final if final in spoken else max(spoken)
        return (step, self.outputs[step].text)
