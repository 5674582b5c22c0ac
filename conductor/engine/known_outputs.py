"""Chooses the outputs of earlier runs that a run reuses: a step's own first, then one of an equal step. Pure.

Source: conductor-format, "How a workflow is run": equal requests are several samples, so an output goes to
one step of a plan only. Knows runs that are over; knows neither a store nor how a run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.values.message_parts.tool_use import ToolTurn, ToolUse
from conductor.values.output import Output
from conductor.workers.protocol import line_of
from conductor.workflow.fingerprint import outline_of
from conductor.workflow.matching import places_in
from conductor.workflow.model import Workflow

if TYPE_CHECKING:
    # It loads the workers; the store reads this module and needs none.
    from conductor.engine.bound_workflow import BoundWorkflow

CallId = tuple[str, int]
"""The run and the step that an output was made in, which no two calls share."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What a run had run, the outputs that its steps had in the end, and where the answers of the
    `open_steps` stood that called tools; both by position. `replay`: it called no tool.
    """

    workflow: Workflow
    outputs: Mapping[int, Output]
    turns: Mapping[int, ToolTurn] = field(default_factory=dict)
    replay: bool = False

    @property
    def open_steps(self) -> frozenset[int]:
        """Those without an answer of a worker."""
        stands_in = {at for at, output in self.outputs.items() if output.stand_in is not None}
        return frozenset(range(len(self.workflow))) - self.outputs.keys() | stands_in


def earlier_run(state: RunState) -> EarlierRun | None:
    """The run of this state; None before its workflow is known."""
    if state.workflow is None:
        return None
    return EarlierRun(state.workflow, state.outputs, state.turns, state.scope.recorded == "only")


class OutputArchive:
    """Outputs by fingerprint, each once, in the order in which they were added."""

    def __init__(self, outputs: Iterable[Output] = ()) -> None:
        self._outputs: dict[str, dict[CallId, Output]] = {}
        self._addresses: dict[str | None, list[str]] = {}
        self.extend(outputs)

    def extend(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self.add(output)

    def add(self, output: Output) -> None:
        address = output.fingerprint
        if address not in self._outputs:
            self._outputs[address] = {}
            self._addresses.setdefault(outline_of(address), []).append(address)
        self._outputs[address].setdefault(call_of(output), output)

    def equal(self, address: str) -> Iterable[Output]:
        """The outputs with this fingerprint."""
        return tuple(self._outputs.get(address, {}).values())

    def similar(self, outline: str) -> Iterator[Output]:
        """The outputs whose fingerprints have this outline."""
        return (output for address in self._addresses.get(outline, ()) for output in self.equal(address))

    def __iter__(self) -> Iterator[Output]:
        return (output for equal in self._outputs.values() for output in equal.values())


@dataclass(frozen=True)
class KnownOutputs:
    """What a run may take over: the outputs of earlier `runs`, newest first, and those of the `archive`."""

    runs: Sequence[EarlierRun] = ()
    archive: OutputArchive = field(default_factory=OutputArchive)
    _last_own: list[tuple[Workflow, tuple[tuple[OwnOutput, ...], ...]]] = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """What `own` returned last, and for which workflow: each way to run a plan asks for it."""

    @classmethod
    def of(cls, *states: RunState) -> KnownOutputs:
        """Those of runs, newest first."""
        runs = tuple(run for state in states if (run := earlier_run(state)) is not None)
        return cls(runs, OutputArchive(output for run in runs for _, output in sorted(run.outputs.items())))

    def own(self, workflow: Workflow) -> tuple[tuple[OwnOutput, ...], ...]:
        """For each step, the outputs of the steps that it was, newest first; those of runs of just this
        workflow come before all others. An output is one step's own: of the one that had it last.
        """
        for last, outputs in tuple(self._last_own):
            if last is workflow:
                return outputs
        own: dict[CallId, tuple[int, OwnOutput]] = {}
        is_edited = any(step.lineage is not None for step in workflow.steps)
        numbers = set(workflow.lineage)
        plain = (workflow.lineage, workflow.unpinned)
        for run in sorted(self.runs, key=lambda run: (run.workflow.lineage, run.workflow.unpinned) != plain):
            places = places_in(run.workflow, workflow)
            for at, output in run.outputs.items():
                if (place := places.get(at)) is not None:
                    number = run.workflow.lineage[at]
                    is_same = number == workflow.lineage[place] or not (is_edited or number in numbers)
                    own.setdefault(call_of(output), (place, OwnOutput(output, is_same)))
        by_step: list[list[OwnOutput]] = [[] for _ in workflow.steps]
        for place, own_output in own.values():
            by_step[place].append(own_output)
        outputs = tuple(map(tuple, by_step))
        self._last_own[:] = [(workflow, outputs)]
        return outputs

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """What tools answered, the newest first, of the runs and of the archive."""
        outputs = (output for run in self.runs for output in run.outputs.values())
        return tuple(use for output in (*outputs, *self.archive) for use in output.tool_uses)

    @cached_property
    def _has_turns(self) -> bool:
        return any(run.turns for run in self.runs)

    def turn(self, workflow: Workflow, step: int, address: str) -> ToolTurn | None:
        """Where the answer of a step of `workflow`, whose fingerprint is `address`, stood when its run broke
        off or began to wait; None if a later run gave an answer, or one from its beginning would repeat
        nothing. A person's text is no answer.
        """
        for run in self.runs if self._has_turns else ():
            at = next((at for at, place in places_in(run.workflow, workflow).items() if place == step), None)
            if at is None or run.replay:
                continue
            turn, output = run.turns.get(at), run.outputs.get(at)
            if turn is not None and turn.fingerprint == address:
                return turn if turn.acts or turn.waits else None
            if output is not None and output.fingerprint == address and output.hand is None:
                return None
        return None


NO_OUTPUTS = KnownOutputs()


class OwnOutput(NamedTuple):
    """An output of the step that a step was. `is_same`: the two are one step through all edits, and not only
    alike while the one that gave it is another step by now, or was removed.
    """

    output: Output
    is_same: bool


def call_of(output: Output) -> CallId:
    """The call that gave the output."""
    return output.run, output.step


class Takeover:
    """Hands known outputs to the steps of one run, each output to one step. Mutable; one for each run.

    A step's own output stays for it as long as it may still fit: no equal step that is ready earlier gets it.
    `preset` are the outputs that count without a call.
    """

    def __init__(
        self,
        reusable: KnownOutputs,
        bound: BoundWorkflow,
        *,
        scope: RunScope = EDITED,
        preset: Mapping[int, Output] = MappingProxyType({}),
    ) -> None:
        self.turn = partial(reusable.turn, bound.workflow)
        self._archive = reusable.archive
        self._bound = bound
        self._done = frozenset(scope.done)
        self._recorded = scope.recorded == "first"
        self._own = reusable.own(bound.workflow) if reusable.runs else ((),) * len(bound.workflow)
        self._holders: dict[CallId, int] = {}
        forced = scope.forced(bound.workflow)
        for step in sorted(scope.covers(bound.workflow) - preset.keys() - forced):
            for output in self._first_of_each(step):
                self._holders.setdefault(call_of(output), step)
        for step, output in preset.items():
            # A pin of another step's output does not take it away from that step.
            self._holders.setdefault(call_of(output), step)

    def take(self, step: int, address: str, outputs: Mapping[int, Output]) -> Output | None:
        """The output that `step`, whose fingerprint is `address`, takes over; None if it is to be called.
        `outputs` are those that it may read, by position.
        """
        own = (each for each, _ in self._own[step] if self._fits(step, each, address, outputs))
        output = next(own, None)
        if output is None:
            equal = (each for each in self._archive.equal(address) if self._lasts(each))
            output = next((each for each in equal if self._is_free(each, step)), None)
        if output is not None:
            self._holders[call_of(output)] = step
        return output

    @property
    def servers(self) -> frozenset[str]:
        """The tool servers whose results are in what could be taken over."""
        own = (each.output for outputs in self._own for each in outputs)
        return frozenset(use.server for output in (*own, *self._archive) for use in output.tool_uses)

    def is_own(self, step: int, output: Output) -> bool:
        """Whether an output is of the step that `step` was, not of an equal one."""
        return any(own.is_same and call_of(own.output) == call_of(output) for own in self._own[step])

    def may_take(self, step: int) -> bool:
        """Whether `step`, whose fingerprint is not known yet, could have an output to take over."""
        outline = self._bound.outlines[step]
        own = (each for each, _ in self._own[step] if self._counts(step, each) or self._is_kept(step, each))
        return any(
            outline_of(output.fingerprint) == outline and self._is_free(output, step) for output in own
        ) or any(
            self._lasts(output) and self._is_free(output, step) for output in self._archive.similar(outline)
        )

    def is_outdated(self, step: int) -> bool:
        """Whether `step` has outputs of an earlier version only, which nothing takes over."""
        own = self._own[step]
        return bool(own) and all(not each.hand and outline_of(each.fingerprint) is None for each, _ in own)

    def _first_of_each(self, step: int) -> Iterator[Output]:
        """The newest own output under each fingerprint that the step may have now."""
        addresses: set[str] = set()
        for output, _ in self._own[step]:
            if (
                outline_of(output.fingerprint) == self._bound.outlines[step]
                and self._counts(step, output)
                and output.fingerprint not in addresses
            ):
                addresses.add(output.fingerprint)
                yield output

    def _fits(self, step: int, output: Output, address: str, outputs: Mapping[int, Output]) -> bool:
        if not self._is_free(output, step):
            return False
        if _is_answer(output):
            return self._counts(step, output) and output.fingerprint == address
        return self._is_kept(step, output) and self._bound.would_give(step, output, outputs)

    def _counts(self, step: int, output: Output) -> bool:
        """Whether an answer still is one: what tools read may have changed, unless the step is not to be
        called again.
        """
        return _is_answer(output) and (step in self._done or self._lasts(output))

    def _lasts(self, output: Output) -> bool:
        """Whether an answer is one until its request changes, whatever its tools would return now."""
        if not _is_answer(output):
            return False
        return self._recorded or output.doubt(self._bound.tool_version) is None

    def doubt(self, step: int, address: str) -> str | None:
        """Why `step`, whose fingerprint is `address`, is called although it has an answer to that."""
        own = (each for each, _ in self._own[step] if _is_answer(each) and each.fingerprint == address)
        answer = next(own, None)
        return None if answer is None else answer.doubt(self._bound.tool_version)

    def _is_kept(self, step: int, output: Output) -> bool:
        """Whether what another gave in the place of the step's worker stays: the step's rule keeps it, or a
        run that waited at a gate goes on with it.
        """
        rule, stand_in = self._bound.workflow.steps[step].on_failure, output.stand_in
        if output.empty or (output.instead_of is None and stand_in is None):
            return False
        if output.worker not in self._bound.cards:
            return False
        if step not in self._done and not (rule is not None and rule.keep):
            return False
        if stand_in is None:
            return output.worker in line_of(self._bound.workflow.steps[step].worker, self._bound.cards)
        if rule is None or rule.fallback != stand_in.fallback:
            return False
        return not stand_in.text or rule.output == output.text

    def _is_free(self, output: Output, step: int) -> bool:
        return self._holders.get(call_of(output), step) == step


def _is_answer(output: Output) -> bool:
    """Whether a step's own worker gave the output, and it holds an answer."""
    return not output.empty and output.hand is None and output.stand_in is None and output.instead_of is None
