"""The methods by name: their titles, the options they take, and how each plans without learnt parameters.

Knows the protocol of planners. `named.py` makes planners of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from conductor.baselines.collaboration import Chances, planned
from conductor.baselines.ensembles import (
    mixture_of_agents,
    reflection,
    self_consistency,
    single,
    smoothie,
    vote,
)
from conductor.baselines.options import Options, chosen_proposers, offered_name
from conductor.baselines.trinity import first_round, next_round
from conductor.errors import PlanError
from conductor.planner.conductor import PlanRequest
from conductor.plugins import Registry
from conductor.workflow.model import Step, Workflow

Method = Callable[[PlanRequest, Options], Workflow]


@dataclass(frozen=True)
class Entry:
    """A baseline: its `title` and one sentence on it, the options it takes, and how it plans without learnt
    parameters; None if it needs them. `again` plans each later round; None for it, or from it: the answer
    stands.

    `temperature` is that of its calls if the options give none; None: the workers' own. `short_of` is why it
    is less than its source while it is not fitted. `one_worker`: it needs a worker's name behind its own.
    `learns`: it may be fitted on results.
    """

    title: str
    about: str
    method: Method | None
    takes: tuple[str, ...] = ()
    again: Callable[[PlanRequest, Options], Workflow | None] | None = None
    temperature: float | None = None
    short_of: str = ""

    @property
    def label(self) -> str:
        """The title of the method as it plans without learnt parameters."""
        return f"{self.title} ({self.short_of})" if self.short_of else self.title

    @property
    def one_worker(self) -> bool:
        return "worker" in self.takes

    @property
    def learns(self) -> bool:
        return "fitted" in self.takes


_SAMPLING = ("temperature", "max_tokens")


def _single(request: PlanRequest, options: Options) -> Workflow:
    return single(offered_name(request, options.worker), options.sampling)


def _reflect(request: PlanRequest, options: Options) -> Workflow:
    review = options.texts("reflect")["review"]
    return reflection(
        offered_name(request, options.worker), options.sampling, turns=options.turns, review=review
    )


def _vote(request: PlanRequest, options: Options) -> Workflow:
    return vote(chosen_proposers(request, options), options.sampling)


def _self_consistency(request: PlanRequest, options: Options) -> Workflow:
    return self_consistency(offered_name(request, options.worker), options.sampling, samples=options.n)


def _smoothie(request: PlanRequest, options: Options) -> Workflow:
    return smoothie(chosen_proposers(request, options), options.sampling, embeddings=options.embeddings)


def _mixture(request: PlanRequest, options: Options) -> Workflow:
    proposers = chosen_proposers(request, options)
    aggregator = offered_name(request, options.aggregator or proposers[0])
    aggregate = options.texts("moa")["aggregate"]
    return mixture_of_agents(
        proposers, aggregator, options.sampling, layers=options.layers, aggregate=aggregate
    )


def _masrouter(request: PlanRequest, options: Options) -> Workflow:
    names = chosen_proposers(request, options)
    return planned(request.query, names, Chances.alike(len(names)), options)[0]


def _trinity(request: PlanRequest, options: Options) -> Workflow:
    return first_round(chosen_proposers(request, options), options.sampling, options.texts("trinity"))


def _trinity_again(request: PlanRequest, options: Options) -> Workflow | None:
    return next_round(request, chosen_proposers(request, options), options.sampling, options.texts("trinity"))


def _random(request: PlanRequest, options: Options) -> Workflow:
    """A plan drawn by the query and the seed: the same one each time."""
    names = chosen_proposers(request, options)
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


_METHODS: Mapping[str, Entry] = {
    "worker": Entry(
        "One worker", "The question as it is, to one worker.", _single, takes=("worker", *_SAMPLING)
    ),
    "reflect": Entry(
        "Self-reflection",
        "One worker answers, then reviews its own answer, again and again.",
        _reflect,
        takes=("worker", "turns", "prompt", *_SAMPLING),
    ),
    "vote": Entry(
        "Vote", "All workers answer; the answer that most give wins.", _vote, takes=("workers", *_SAMPLING)
    ),
    "self-consistency": Entry(
        "Self-consistency",
        "One worker answers several times; the answer given most often wins.",
        _self_consistency,
        takes=("worker", "n", *_SAMPLING),
        temperature=0.7,
    ),
    "moa": Entry(
        "Mixture-of-Agents",
        "All workers answer, layer by layer, each reading the layer before; one aggregates.",
        _mixture,
        takes=("workers", "aggregator", "layers", "prompt", *_SAMPLING),
    ),
    "smoothie": Entry(
        "Smoothie",
        "All workers answer; the answer that agrees most with the others is taken, without labels. Fitted, "
        "one worker answers, the one that agreed most on a set of questions.",
        _smoothie,
        takes=("workers", "embeddings", "fitted", "k", *_SAMPLING),
    ),
    "routerdc": Entry(
        "RouterDC",
        "One worker, the one whose learnt vector is most similar to the question's.",
        None,
        takes=("fitted", "embeddings", "seed", *_SAMPLING),
    ),
    "masrouter": Entry(
        "MasRouter",
        "A group of agents, each with a worker and a role, works together in one of six modes; one of them "
        "decides. Unfitted, all of this is drawn.",
        _masrouter,
        takes=("workers", "mode", "agents", "seed", "cost_rate", "embeddings", "fitted", *_SAMPLING),
        short_of="not fitted",
    ),
    "trinity": Entry(
        "Trinity",
        "A thinker, a worker and a verifier take turns, round after round, until the verifier accepts.",
        _trinity,
        takes=("workers", "prompt", *_SAMPLING),
        again=_trinity_again,
        short_of="fixed order",
    ),
    "random": Entry(
        "Random plan",
        "Random workers and access lists: a floor for every planner.",
        _random,
        takes=("workers", "seed"),
    ),
}


def _entry_fault(kind: object) -> str | None:
    if not isinstance(kind, Entry):
        return "it is not an Entry of conductor.baselines.methods"
    learns = kind.method is None or {"prompt", "fitted", "embeddings"} & set(kind.takes)
    return "only built-in baselines learn, compare by embeddings or take a prompt" if learns else None


BASELINES: Registry[Entry] = Registry(
    "conductor.baselines",
    _METHODS,
    check=_entry_fault,
    error=PlanError,
    reserved=lambda name: name == "rules",
)
"""By name. `rules`, the rule planner, is a planner of its own."""
