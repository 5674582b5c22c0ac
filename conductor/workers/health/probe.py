"""Examines a worker or the Conductor: its key, its endpoint, its model, and a short answer.

`examine` does it once, a `HealthProbe` in a background loop. Knows endpoints and the worker protocol. A key
is used and never shown. Each endpoint gets a request for its list and one for an answer, with its own
timeouts and without retries; a failure is a finding, never an error.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import httpx

from conductor.errors import PoolError, WorkerError
from conductor.plugins import fault_of
from conductor.values.charge import Charge
from conductor.values.messages import (
    NOTHING_USED,
    Completion,
    Delta,
    Message,
    Part,
    Request,
    Retried,
    Thought,
    Usage,
)
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.health.findings import (
    Health,
    HealthFinding,
    answered,
    failing,
    listed,
    skipped,
    unsure,
    well,
)
from conductor.workers.keys.hosts import KeyHost
from conductor.workers.keys.secret import SECRETS_FILE, find_secret
from conductor.workers.pool.fallback import chain
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.table import PlannerTable, built
from conductor.workers.protocol import StreamItem, Worker, WorkerCard
from conductor.workers.stream import Opened, called
from conductor.workers.tools.tool_worker import without_tools

# -- what can be examined ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProbeTarget:
    """A worker, or the Conductor, without its fallback.

    `offered`: it may be given a step, perhaps because its fallback does it. `answers` is false for a
    Conductor of another package, which only plans.
    """

    role: Literal["conductor", "worker"]
    worker: Worker
    offered: bool
    answers: bool = True

    @property
    def card(self) -> WorkerCard:
        """Its own card, also where its fallback makes it usable."""
        return self.worker.card

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it is served; None for experts and simulated workers."""
        return self.worker.client.endpoint if isinstance(self.worker, OpenAIWorker) else None

    @cached_property
    def mark(self) -> str:
        """Differs where another one, or the same in another place, is examined."""
        where = self.endpoint.model_dump_json() if self.endpoint else ""
        card = self.card
        return "\x1f".join((self.role, card.name, card.model, card.sampling.model_dump_json(), where))


def targets(pool: Pool) -> tuple[ProbeTarget, ...]:
    """The Conductor, where the pool file names one, and the workers in order."""
    workers = tuple(map(_worker, pool.workers))
    if pool.conductor is None:
        return workers
    if isinstance(pool.conductor, PlannerTable):
        planner = ProbeTarget("conductor", built(pool.conductor), offered=False, answers=False)
        return (planner, *workers)
    conductor = pool.conductor.build()
    offered = pool.conductor.as_worker and conductor.card.unusable is None
    return (ProbeTarget("conductor", conductor, offered), *workers)


def unconfirmed(probe_targets: Iterable[ProbeTarget]) -> tuple[KeyHost, ...]:
    """The keys that are set and not confirmed for the host of their endpoint, each pair once.

    Keys that cannot be looked up are left out; the card's `unusable` gives the reason.
    """
    pairs: dict[KeyHost, None] = {}
    for target in probe_targets:
        with suppress(PoolError):
            if target.endpoint is not None and (pair := target.endpoint.unconfirmed) is not None:
                pairs[pair] = None
    return tuple(pairs)


def unconfirmed_in(pool: Pool) -> tuple[KeyHost, ...]:
    """Those of all endpoints of the pool, also of the one for embeddings and of servers of tools."""
    pairs = dict.fromkeys(unconfirmed(targets(pool)))
    others = [] if pool.embeddings is None else [pool.embeddings.endpoint]
    of_tools = (server.key_endpoint(name) for server in pool.tool_servers for _, name in server.headers)
    for endpoint in (*others, *of_tools):
        with suppress(PoolError):
            if (pair := endpoint.unconfirmed) is not None:
                pairs[pair] = None
    return tuple(pairs)


def _worker(worker: Worker) -> ProbeTarget:
    return ProbeTarget("worker", without_tools(chain(worker)[0]), offered=worker.card.unusable is None)


# -- an examination ------------------------------------------------------------------------------------

PROBE_TOKENS = 16
"""The longest answer: one token shows that an answer comes, the others how fast they follow."""

AT_ONCE = 16
"""How many are examined at the same time."""

Note = Callable[[Charge], object]
"""Gets what a request took, once it has ended."""

Spawn = Callable[[Coroutine[Any, Any, None]], "Future[None]"]
"""Begins a coroutine in the loop, from any thread."""

_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, PoolError)

_log = logging.getLogger(__name__)

_QUESTION = (
    Message(
        role="user",
        parts=(
            Part(kind="query", text="What is 1 + 1?"),
            Part(kind="frame", text="\n"),
            Part(kind="instruction", text="Answer in one word."),
        ),
    ),
)


async def examine(target: ProbeTarget, note: Note) -> AsyncGenerator[Health, None]:
    """What is known after each check; the last one is done. `note` gets what each request took."""
    if not target.answers:
        yield Health().with_findings(skipped("answer", "it plans and answers no question"), done=True)
        return
    if target.endpoint is None:
        request = Request(messages=_QUESTION, sampling=target.card.sampling)
        yield await _with_answer(Health(), called(target.worker, request), target.card, note)
        return
    health = Health().with_findings(key := _key(target.endpoint))
    yield health
    client = ChatClient(_single_attempt(target.endpoint, with_key=key.state == "well"), name=target.name)
    try:
        health = health.with_findings(*await _list(client, context=target.card.context))
        yield health
        if key.state != "well":
            yield health.with_findings(skipped("answer", f"the key is {key.word}"), done=True)
        elif health.failing:
            yield health.with_findings(skipped("answer", "the endpoint cannot be reached"), done=True)
        else:
            sampling = target.card.sampling.model_copy(update={"max_tokens": PROBE_TOKENS})
            yield await _with_answer(health, client.stream(_QUESTION, sampling=sampling), target.card, note)
    finally:
        await client.aclose()


def token_rate(tokens: int | None, *, first: float, last: float) -> float | None:
    """Tokens a second after the first one, which came at `first`; None if they cannot be separated."""
    if tokens is None or tokens < 2 or last <= first:
        return None
    return (tokens - 1) / (last - first)


def _single_attempt(endpoint: Endpoint, *, with_key: bool) -> Endpoint:
    """The endpoint without retries; without its key it can still show that it is there."""
    variable = endpoint.api_key_env if with_key else None
    return endpoint.model_copy(update={"retries": 0, "api_key_env": variable})


def _key(endpoint: Endpoint) -> HealthFinding:
    variable = endpoint.api_key_env
    if variable is None:
        return well("key", "none", "No key is named, so none is sent.")
    try:
        key = find_secret(variable)
    except PoolError as error:
        reason, _, advice = str(error).rstrip(".").partition("; ")
        return failing("key", "unusable", reason, advice or "correct that file")
    if key is None:
        advice = f'export it before the program starts, or write {variable} = "..." into {SECRETS_FILE}'
        return failing("key", "missing", f"{variable} is not set", advice)
    fault = endpoint.key_fault()
    if fault is not None:
        reason, _, advice = fault.rstrip(".").partition("; ")
        return failing("key", "not confirmed", reason, advice)
    return well("key", "set", f"{variable} is set.")


async def _list(client: ChatClient, *, context: int | None) -> tuple[HealthFinding, HealthFinding]:
    """Whether the endpoint can be reached, and whether it lists the model."""
    yes = well("reachable", "yes", f"{client.endpoint.host} can be reached.")
    try:
        served = await client.served()
    except EndpointFailure as failure:
        reason = _nameless(failure, client.name)
        if isinstance(failure.__cause__, _UNREACHABLE):
            no = failing("reachable", "no", reason, failure.advice)
            return no, skipped("model", "the endpoint cannot be reached")
        if failure.status in (401, 403):
            return yes, skipped("model", "its list of models needs the right key")
        return yes, unsure("model", "no list", f"Its models are not known: {reason}.")
    return yes, listed(client.endpoint.model, served, context=context)


async def _with_answer(
    health: Health, stream: AsyncIterable[StreamItem], card: WorkerCard, note: Note
) -> Health:
    """The health with the answer of `stream` and its pace, done."""
    time = asyncio.get_running_loop().time
    start = time()
    first = last = None
    wrote, under_way = False, True
    completion = Completion(text="")

    def end(used: Usage | None, *, stopped: bool = False) -> None:
        if card.kind != "offline" and used != NOTHING_USED:
            usage = card.cost_of(used or Usage())
            note(
                Charge(
                    worker=card.name,
                    kind=card.kind,
                    purpose="doctor",
                    usage=usage,
                    wrote=wrote,
                    stopped=stopped,
                )
            )

    try:
        async with Opened(stream) as items:
            async for item in items:
                if isinstance(item, Delta | Thought):
                    last, wrote = time(), True
                    first = last if first is None else first
                elif isinstance(item, Retried):
                    end(item.used)
                    # It refused a parameter, and the request is sent again without it.
                    start, wrote = time(), False
                elif isinstance(item, Completion):
                    completion, under_way = item, False
                    wrote = wrote or bool(item.written)
                    end(item.usage)
    except EndpointFailure as failure:
        under_way = False
        end(failure.used)
        finding = failing("answer", "fails", _nameless(failure, card.name), failure.advice)
        return health.with_findings(finding, done=True)
    except Exception as error:  # noqa: BLE001 - a worker is foreign code
        under_way = False
        end(error.used if isinstance(error, WorkerError) else None)
        reason = str(error) if isinstance(error, WorkerError) else fault_of(error)
        advice = "give its steps to another worker until this is fixed"
        return health.with_findings(failing("answer", "fails", reason.rstrip("."), advice), done=True)
    finally:
        if under_way:
            end(None, stopped=True)
    measures: dict[str, float | None] = {}
    if first is not None and last is not None:
        tokens = completion.usage.completion_tokens
        measures = {
            "first_token": first - start,
            "tokens_per_second": token_rate(tokens, first=first, last=last),
        }
    return health.with_findings(answered(completion, limit=PROBE_TOKENS), done=True).model_copy(
        update=measures
    )


def _nameless(failure: EndpointFailure, name: str) -> str:
    """A failure's reason without the worker's name, which is shown next to it already."""
    return failure.reason.removeprefix(f"{name}: ")


# -- in the background --------------------------------------------------------------------------------


class HealthProbe:
    """One a loop. What is known of a target ends with its mark: another endpoint was not examined."""

    def __init__(self, spawn: Spawn, record: Callable[[Sequence[Charge]], None]) -> None:
        """`record` writes down what an examination's requests took; it is called in a thread."""
        self._spawn = spawn
        self._record = record
        self._health: dict[str, Health] = {}
        self._going: dict[str, Future[None]] = {}
        self._beginning = threading.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)

    def begin(self, targets: Iterable[ProbeTarget]) -> None:
        """Examine them, several at a time; examinations under way continue. Returns at once."""
        with self._beginning:
            for target in targets:
                if not self.examines(target):
                    self._health[target.mark] = Health()
                    self._going[target.mark] = self._spawn(self._follow(target))

    def examines(self, target: ProbeTarget) -> bool:
        going = self._going.get(target.mark)
        return going is not None and not going.done()

    @property
    def busy(self) -> bool:
        return any(not going.done() for going in tuple(self._going.values()))

    def health(self, target: ProbeTarget) -> Health | None:
        """What is known of it, or None if no examination has ended or is under way."""
        health = self._health.get(target.mark)
        return health if health is not None and (health.done or self.examines(target)) else None

    def stop(self) -> None:
        """End those under way; what is known of the others stays."""
        for going in tuple(self._going.values()):
            going.cancel()

    async def _follow(self, target: ProbeTarget) -> None:
        try:
            async with self._places:
                await self._examine(target)
        except Exception:
            # Nothing waits for the future, so an exception in it would go unseen.
            _log.exception("examining %s broke", target.name)
            raise

    async def _examine(self, target: ProbeTarget) -> None:
        charges: list[Charge] = []
        try:
            async with aclosing(examine(target, charges.append)) as states:
                async for health in states:
                    self._health[target.mark] = health
        finally:
            if charges:
                await asyncio.to_thread(self._record, charges)
