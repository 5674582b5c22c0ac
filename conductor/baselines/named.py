"""Baselines by name: what each is called, which options it takes, and the planner it gives.

A name is as in `baseline:moa`, with a worker as in `worker:gpt` or `baseline:reflect:gpt`, with options as in
`baseline:moa:layers=2,aggregator=gpt`. Knows the protocol of planners.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pydantic import Field, ValidationError

from conductor.baselines.ensembles import best_of, mixture_of_agents, reflection, single, smoothie, vote
from conductor.errors import PlanError
from conductor.planner.format import write_steps
from conductor.planner.protocol import Conductor, Planned, PlanRequest
from conductor.planner.rule_planner import OfflineConductor
from conductor.text.formatting import counted
from conductor.values.messages import Completion, Delta, Sampling, Value
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect

PREFIX = "baseline:"
WORKER = "worker:"


class Options(Value):
    """What a baseline may be given behind its name; each takes some of them.

    `workers` are its proposers (unset: all that are offered), `worker` the one of a baseline with one
    worker, `layers` counts the aggregator's. `temperature` and `max_tokens` are those of every proposer's
    call, unset: as its worker has them.
    """

    worker: str | None = None
    workers: tuple[str, ...] | None = Field(default=None, min_length=1)
    aggregator: str | None = None
    layers: int = Field(default=3, ge=2)
    turns: int = Field(default=5, ge=1)
    n: int = Field(default=5, ge=1)
    seed: int = 0
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens)


Method = Callable[[PlanRequest, Options], Workflow]


@dataclass(frozen=True)
class Entry:
    """A baseline: its `title` and one sentence on it, the options it takes, and how it plans.

    `one_worker`: it needs the name of a worker behind its own.
    """

    title: str
    about: str
    method: Method
    takes: tuple[str, ...] = ()

    @property
    def one_worker(self) -> bool:
        return "worker" in self.takes


_SAMPLING = ("temperature", "max_tokens")


def _single(request: PlanRequest, options: Options) -> Workflow:
    return single(_worker(request, options.worker), options.sampling)


def _reflect(request: PlanRequest, options: Options) -> Workflow:
    return reflection(_worker(request, options.worker), options.sampling, turns=options.turns)


def _vote(request: PlanRequest, options: Options) -> Workflow:
    return vote(_workers(request, options), options.sampling)


def _best_of(request: PlanRequest, options: Options) -> Workflow:
    return best_of(_worker(request, options.worker), options.sampling, samples=options.n)


def _smoothie(request: PlanRequest, options: Options) -> Workflow:
    return smoothie(_workers(request, options), options.sampling)


def _mixture(request: PlanRequest, options: Options) -> Workflow:
    proposers = _workers(request, options)
    aggregator = _worker(request, options.aggregator or proposers[0])
    return mixture_of_agents(proposers, aggregator, options.sampling, layers=options.layers)


def _random(request: PlanRequest, options: Options) -> Workflow:
    """A plan drawn by the query and the seed: the same one each time."""
    names = _workers(request, options)
    seed = sha256(f"{options.seed}\x1f{request.query}".encode()).digest()
    draw = random.Random(seed)  # noqa: S311 - a floor to compare with, not a secret
    return Workflow.of(
        Step(
            instruction="Answer the question.",
            worker=draw.choice(names),
            access=tuple(read for read in range(at) if draw.random() < 0.5),
        )
        for at in range(draw.randint(1, request.max_steps))
    )


BASELINES: Mapping[str, Entry] = {
    "worker": Entry(
        "One worker", "The question as it is, to one worker.", _single, takes=("worker", *_SAMPLING)
    ),
    "reflect": Entry(
        "Self-reflection",
        "One worker answers, then reviews its own answer, again and again.",
        _reflect,
        takes=("worker", "turns", *_SAMPLING),
    ),
    "vote": Entry(
        "Vote", "All workers answer; the answer that most give wins.", _vote, takes=("workers", *_SAMPLING)
    ),
    "best-of": Entry(
        "Self-consistency",
        "One worker answers several times; the answer given most often wins.",
        _best_of,
        takes=("worker", "n", *_SAMPLING),
    ),
    "moa": Entry(
        "Mixture-of-Agents",
        "All workers answer, layer by layer, each reading the layer before; one aggregates.",
        _mixture,
        takes=("workers", "aggregator", "layers", *_SAMPLING),
    ),
    "smoothie": Entry(
        "Smoothie",
        "All workers answer; the answer that agrees most with the others is taken, without labels.",
        _smoothie,
        takes=("workers", *_SAMPLING),
    ),
    "random": Entry(
        "Random plan",
        "Random workers and access lists: a floor for every planner.",
        _random,
        takes=("workers", "seed"),
    ),
}
"""By name. `rules`, the offline planner, is a planner of its own."""

PLAIN_BASELINES = tuple(
    f"{PREFIX}{name}"
    for name in (*(name for name, entry in BASELINES.items() if not entry.one_worker), "rules")
)
"""The names of planners that need no worker's name behind them."""


@dataclass(frozen=True)
class Baseline:
    """A planner that writes the workflow of a method. See `Conductor` for the protocol."""

    name: str
    entry: Entry
    options: Options
    dialect: Dialect = "any"

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(
            name=self.name, kind="offline", strengths=self.entry.about, model=f"planner/{self.name}"
        )

    async def stream(self, request: PlanRequest) -> AsyncIterator[Planned | Delta | Completion]:
        """What the method is, and its workflow; a later round keeps the answer.

        Raises `PlanError` for a worker that is not offered, `WorkflowError` for too many steps.
        """
        if request.round > 1:
            kept = write_steps(
                (), form="lists", reasoning=f"{self.entry.title}: one round, the answer stands."
            )
            yield Completion(text=kept)
            return
        workflow = self.entry.method(request, self.options)
        words = f"{self.entry.title}: {self.entry.about} {counted(len(workflow), 'step')}."
        yield Delta(text=words)
        yield Planned(workflow=workflow)
        yield Completion(text=words)


def planner_named(name: str) -> Conductor:
    """The planner of that name. Raises `PlanError` where there is none, and for a wrong option."""
    kind, _, rest = name.removeprefix(PREFIX).partition(":")
    if kind == "rules" and not rest:
        return OfflineConductor()
    entry = BASELINES.get(kind)
    if entry is None:
        known = ", ".join([f"{WORKER}NAME", *(_usage(each) for each in BASELINES if each != "worker")])
        raise PlanError(f"There is no planner {name[:200]!r}; choose {known} or {PREFIX}rules.")
    return Baseline(name, entry, _options(name, entry, rest))


def _usage(kind: str) -> str:
    return f"{PREFIX}{kind}:WORKER" if BASELINES[kind].one_worker else f"{PREFIX}{kind}"


def _options(name: str, entry: Entry, rest: str) -> Options:
    given: dict[str, object] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            key, value = "worker", item
        if key not in entry.takes:
            takes = ", ".join(option if option == "worker" else f"{option}=..." for option in entry.takes)
            raise PlanError(f"The planner {name[:200]!r} takes no {key!r}; it takes {takes}.")
        given[key] = tuple(value.split("+")) if key == "workers" else value
    if entry.one_worker and "worker" not in given:
        raise PlanError(f"The planner {name[:200]!r} needs a worker's name behind it, as in {name}:NAME.")
    try:
        return Options.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise PlanError(f"The planner {name[:200]!r}: {first['loc'][0]} is wrong: {first['msg']}.") from error


def _workers(request: PlanRequest, options: Options) -> Sequence[str]:
    """The chosen proposers, else all that are offered; a Conductor that is a worker proposes nothing."""
    if options.workers is not None:
        return [_worker(request, name) for name in options.workers]
    return [card.name for card in request.workers if not card.nested]


def _worker(request: PlanRequest, name: str | None) -> str:
    names = [card.name for card in request.workers]
    if name not in names:
        raise PlanError(f"No worker named {name!r} is offered; there are {', '.join(names)}.")
    return name
