"""Baselines by name: the planner that a name stands for, how it plans, and how it is fitted.

A name is as in `baseline:moa`, with a worker as in `worker:gpt` or `baseline:reflect:gpt`, with options as in
`baseline:moa:layers=2,aggregator=gpt`. Knows the protocol of planners.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conductor.baselines.encoder import CountedEmbeddings
from conductor.baselines.methods import BASELINES, Entry, Method
from conductor.baselines.options import FILE, Options, options_of, texts_of
from conductor.baselines.planner_file.file_planner import PREFIX as PLANNER
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.errors import ConductorError, PlanError
from conductor.planner.conductor import Conductor, Planned, PlanRequest
from conductor.planner.format import write_steps
from conductor.planner.rule_planner import OfflineConductor
from conductor.text.formatting import quantity
from conductor.values.messages import NOTHING_USED, Completion, Delta, Usage
from conductor.values.output import WorkerKind
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import Dialect

if TYPE_CHECKING:
    from conductor.baselines.fitted import Fitted, GroupResult, WorkerResult

PREFIX = "baseline:"
WORKER = "worker:"


def plain_baselines() -> tuple[str, ...]:
    """The names of planners that need nothing behind them: no worker's name, no learnt parameters."""
    plain = (name for name, entry in BASELINES.items() if not entry.one_worker and entry.method is not None)
    return tuple(f"{PREFIX}{name}" for name in (*plain, "rules"))


@dataclass(frozen=True)
class Baseline:
    """A planner that writes the workflow of a method. See `Conductor` for the protocol.

    `pool` names the files of fitted parameters and the endpoint for embeddings.
    """

    name: str
    kind: str
    options: Options
    pool: Pool | None = None
    dialect: Dialect = "any"

    @property
    def entry(self) -> Entry:
        return BASELINES[self.kind]

    @property
    def card(self) -> WorkerCard:
        """With the encoder of its learnt parameters, where they can be read."""
        strengths = self.entry.about
        if self.options.fitted is not None:
            # Planning names what is wrong with the file.
            with suppress(ConductorError):
                strengths = f"{strengths} Questions are compared by {self.fitted.encoder.title}."
        kind: WorkerKind = "model" if self._asks_endpoint else "offline"
        return WorkerCard(name=self.name, kind=kind, strengths=strengths, model=f"planner/{self.name}")

    @property
    def _asks_endpoint(self) -> bool:
        """Whether it has a question embedded by an endpoint before it plans, as far as that can be read."""
        if self.options.fitted is None:
            return False
        with suppress(ConductorError):
            return self.fitted.encoder.kind == "endpoint"
        return False

    @property
    def fitted(self) -> Fitted:
        """The learnt parameters. Raises `PlanError` where the pool file does not name them, `FormatError`
        where the file cannot be read or holds something else.
        """
        from conductor.baselines.fitted import read_fitted  # noqa: PLC0415 - it brings numpy

        path = self.options.fitted_in({} if self.pool is None else self.pool.fitted)
        return read_fitted(path, baseline=self.kind)

    async def stream(self, request: PlanRequest) -> AsyncIterator[Planned | Delta | Completion]:
        """What the method is, and its workflow; a later round keeps the answer, unless the method has more.

        Raises `PlanError` for a worker that is not offered and where a plan is to be changed in words,
        `WorkflowError` for too many steps.
        """
        if request.change is not None:
            raise PlanError(
                f"{self.name} always writes the workflow of its method and cannot change a plan in words. "
                "Use a Conductor that is a language model, or edit the plan by hand."
            )
        again = self.entry.again
        following = None if request.round == 1 or again is None else again(request, self.options)
        if request.round > 1 and following is None:
            answer = write_steps((), form="lists", reasoning=f"{self.entry.title}: the answer stands.")
            yield Completion(text=answer, usage=NOTHING_USED)
            return
        client: CountedEmbeddings | None = None
        if following is not None:
            workflow, why = following, ""
        else:
            client = self._client(self._asks_endpoint)
            workflow, why = await self._planned(request, client)
        title = self.entry.label if self.options.fitted is None else self.entry.title
        words = f"{title}: {self.entry.about} {quantity(len(workflow), 'step')}.{why and f' {why}'}"
        yield Delta(text=words)
        yield Planned(workflow=workflow)
        yield Completion(text=words, usage=NOTHING_USED if client is None else client.used)

    async def fit(
        self,
        rows: Sequence[WorkerResult],
        *,
        cards: Mapping[str, WorkerCard],
        trials: Sequence[GroupResult] = (),
        note: Callable[[Usage], object] = lambda _: None,
    ) -> Fitted:
        """The method's parameters, learnt from what single workers answered, and MasRouter's modes from
        `trials`; `cards` has all of these workers. `note` gets what each request for embeddings took.

        Raises `PlanError` for a method that learns nothing, `DataError` where there is nothing to learn from,
        `WorkerError` where there are no embeddings.
        """
        from conductor.baselines.learning.learners import fit  # noqa: PLC0415 - it brings numpy

        if not self.entry.learns:
            learning = ", ".join(f"{PREFIX}{name}" for name, entry in BASELINES.items() if entry.learns)
            raise PlanError(f"The planner {self.name[:200]!r} learns nothing; these do: {learning}.")
        client = self._client(self.options.embeddings)
        try:
            return await fit(self.kind, rows, cards=cards, options=self.options, client=client, trials=trials)
        finally:
            for used in () if client is None else client.requests:
                note(used)

    def check(self) -> None:
        """Raise `PlanError` or `FormatError` where it cannot plan for this pool, whatever the question."""
        if self.options.prompt is not None:
            _ = self.options.texts(self.kind)
        if self.options.fitted is not None:
            _ = self._client(self.fitted.encoder.kind == "endpoint")
        else:
            _ = self._unfitted
            _ = self._client(self.options.embeddings)

    @property
    def _unfitted(self) -> Method:
        """How it plans without learnt parameters. Raises `PlanError` where it needs them."""
        if self.entry.method is None:
            raise PlanError(
                f"The planner {self.name[:200]!r} plans by what it learnt: write that with "
                f"`evaluate fit ID {self.name[:200]}`, then name the file behind it, as in "
                f"{PREFIX}{self.kind}:fitted=FILE.json."
            )
        return self.entry.method

    async def _planned(self, request: PlanRequest, client: CountedEmbeddings | None) -> tuple[Workflow, str]:
        if self.options.fitted is None:
            self.check()
            return self._unfitted(request, self.options), ""
        from conductor.baselines.learning.learners import learnt_plan  # noqa: PLC0415 - it brings numpy

        return await learnt_plan(request, self.options, self.fitted, client)

    def _client(self, is_necessary: bool) -> CountedEmbeddings | None:
        """The pool's client for embeddings, if it is necessary. Raises `PlanError` if the pool has none."""
        if not is_necessary:
            return None
        client = None if self.pool is None else self.pool.embedding_client
        if client is None:
            raise PlanError(
                "There is no endpoint for embeddings: write a table [embeddings] with base_url and model "
                "into the pool file."
            )
        return CountedEmbeddings(client)


def planner_named(
    name: str, pool: Pool | None = None, *, base: Conductor | None = None
) -> Baseline | FilePlanner | OfflineConductor:
    """The planner of that name, for that pool; `base` is the pool's own Conductor, None: the rules.

    Raises `PlanError` for an unknown name and for a wrong option, `FormatError` for a planner's file that
    cannot be read.
    """
    if name.startswith(PLANNER):
        file = _planner_file(name.removeprefix(PLANNER), {} if pool is None else pool.planners)
        own = base.base if isinstance(base, FilePlanner) else base
        planner = FilePlanner(name, file, own or OfflineConductor(), pool)
        _ = planner.file
        return planner
    kind, _, rest = name.removeprefix(PREFIX).partition(":")
    if kind == "rules" and not rest:
        return OfflineConductor()
    entry = BASELINES.find(kind)
    if entry is None:
        methods = [_usage(each) for each in BASELINES if each != "worker"]
        listed = ", ".join([f"{WORKER}NAME", *methods, f"{PREFIX}rules or {PLANNER}NAME"])
        raise PlanError(f"There is no planner {name[:200]!r}; choose {listed}.")
    options = options_of(name, rest, takes=entry.takes, temperature=entry.temperature)
    return Baseline(name, kind, options, pool)


def _planner_file(name: str, named: Mapping[str, Path]) -> Path:
    """The file of a planner: its path, or the one that the pool file names so. Raises `PlanError`."""
    if name.endswith(FILE):
        return Path(name)
    if name not in named:
        choices = f"; it names {', '.join(named)}" if named else ""
        raise PlanError(
            f"The pool file names no planner {name[:200]!r}{choices}: write {name[:60] or 'NAME'} = "
            f'"FILE{FILE}" under [planners] there, or name a file that ends in {FILE}.'
        )
    return named[name]


def label_of(name: str) -> str:
    """A planner's name for tables and exports: itself, and in what it falls short of its source."""
    kind, colon, rest = name.removeprefix(PREFIX).partition(":")
    entry = BASELINES.get(kind) if name.startswith(PREFIX) else None
    if entry is None:
        return name
    note = f" ({entry.short_of})" if entry.short_of and "fitted=" not in rest else ""
    return f"{PREFIX}{kind}{colon}{rest}{note}"


def with_prompt(names: Sequence[str], file: str) -> list[str]:
    """The planners' names, with `prompt=FILE` behind those of methods whose texts are in the file.

    Raises `PlanError` where no planner of these takes it.
    """
    planners, reasons = [], []
    for name in names:
        kind, _, rest = name.removeprefix(PREFIX).partition(":")
        entry = BASELINES.get(kind) if name.startswith(PREFIX) else None
        try:
            if entry is not None and "prompt" in entry.takes and texts_of(kind, file):
                planners.append(f"{PREFIX}{kind}:{','.join(filter(None, (rest, f'prompt={file}')))}")
                reasons.append("")
                continue
        except PlanError as error:
            reasons.append(str(error))
        planners.append(name)
    if "" not in reasons:
        able = ", ".join(f"{PREFIX}{kind}" for kind, entry in BASELINES.items() if "prompt" in entry.takes)
        raise PlanError(next(iter(reasons), f"No planner of these takes a prompt; these do: {able}."))
    return planners


def _usage(kind: str) -> str:
    return f"{PREFIX}{kind}:WORKER" if BASELINES[kind].one_worker else f"{PREFIX}{kind}"
