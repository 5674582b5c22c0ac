"""A workflow: steps in order, each with an instruction, a worker and the earlier steps it may read.

Pure values. Positions are 0-based everywhere in data; people see step 1 first, so messages
count from one. Knows no pool: `Workflow.check_workers` takes the names of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from secrets import randbits
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from conductor.errors import WorkflowError
from conductor.values.messages import RequestStyle, Sampling, Value
from conductor.values.output import Output
from conductor.workflow.drawable import Drawable
from conductor.workflow.on_failure import OnFailure
from conductor.workflow.step_tools import pattern_problem

if TYPE_CHECKING:
    # Loaded where a graph is looked at: who only lists sessions does not wait for it.
    import networkx as nx

MAX_STEPS = 1_000
"""The most steps any workflow may have; a Conductor's plan may have fewer."""

MAX_WRITTEN_STEPS = 100
"""The most steps that a model may write."""

MAX_INSTRUCTION = 100_000
"""The most characters one instruction may have."""

Topology = Literal["single", "chain", "fan-out", "planner-executor-verifier", "tree", "general"]


class Step(Value):
    """One piece of work. `access` holds 0-based positions of the earlier steps whose work it sees.

    `sees_previous`: it also sees all steps of the round before, where its run is a later round. `sees_files`:
    it sees the files and images that are attached. `tools` are those of its worker's that it may call, as
    `step_tools` has them: None: all, (): none. `pin` is an
    output that stays the same whatever changes above the step; a pinned step is never called. `prompt_style`
    is how its request is laid out, None: as its worker's requests are. `gate`: a run waits before it calls
    the step, until a person continues it; a gate never changes what the step answers. `on_failure` is what is
    done where its worker gives no answer, None: the step fails. `lineage` is the number of the step among
    those that its workflow was edited from, None: its position. It decides nothing but which of several equal
    steps is which, so steps that differ in it are equal.
    """

    instruction: str
    worker: str
    access: tuple[int, ...] = Field(default=(), description="0-based positions of earlier steps, ascending")
    sees_previous: bool = False
    sees_files: bool = Field(default=True, exclude_if=lambda sees: sees)
    tools: tuple[str, ...] | None = Field(default=None, exclude_if=lambda tools: tools is None)
    sampling: Sampling = Sampling()
    prompt_style: RequestStyle | None = None
    pin: Output | None = None
    gate: bool = False
    on_failure: OnFailure | None = Field(default=None, exclude_if=lambda rule: rule is None)
    lineage: int | None = Field(default=None, ge=0, repr=False, exclude_if=lambda number: number is None)

    def __eq__(self, other: object) -> bool:
        # First the whole of both, without a copy: nearly all steps that are compared are the same.
        return isinstance(other, Step) and (
            self.__dict__ == other.__dict__ or self._deciding == other._deciding
        )

    def __hash__(self) -> int:
        return hash(self._deciding)

    @property
    def _deciding(self) -> tuple[object, ...]:
        return tuple([value for name, value in self.__dict__.items() if name != "lineage"])

    @property
    def workers(self) -> tuple[str, ...]:
        """The names of those that a run may call for it: its worker, then its fallback."""
        fallback = None if self.on_failure is None else self.on_failure.fallback
        return (self.worker,) if fallback is None else (self.worker, fallback)

    @property
    def unguarded(self) -> Step:
        """The step without what changes no request of its worker: its gate and its rule for failures."""
        if not self.gate and self.on_failure is None:
            return self
        return self.model_copy(update={"gate": False, "on_failure": None})

    @property
    def ungated(self) -> Step:
        return self.model_copy(update={"gate": False}) if self.gate else self


class Workflow(Value, Drawable):
    """One or more steps; the final step's response is the answer to the query.

    Raises `WorkflowError` (from `Workflow.of` and every edit) where a rule is broken: an empty
    instruction or worker, more than `MAX_STEPS` steps, access to the step itself or a later one.
    """

    steps: tuple[Step, ...]

    def model_post_init(self, _context: object) -> None:
        """Check the rules. An `after` validator would run again in every value that holds a workflow."""
        problems = problems_of(self.steps)
        if problems:
            raise problems[0]

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Self:
        """The workflow of these steps; access lists and tools are put in ascending order without repeats."""
        return cls(steps=tuple(_tidy(step) for step in steps))

    # -- shape ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def final(self) -> int:
        """Position of the step whose response is the answer."""
        return len(self.steps) - 1

    @cached_property
    def graph(self) -> nx.DiGraph[int]:
        """Positions as nodes, an edge from each step to every step that reads it."""
        import networkx as nx  # noqa: PLC0415 - see above

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.steps)))
        graph.add_edges_from((read, i) for i, step in enumerate(self.steps) for read in step.access)
        return graph

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each step, the later steps that read it directly."""
        readers: list[list[int]] = [[] for _ in self.steps]
        for i, step in enumerate(self.steps):
            for read in step.access:
                readers[read].append(i)
        return tuple(map(tuple, readers))

    def __repr__(self) -> str:
        seen = [", ".join(str(read + 1) for read in step.access) for step in self.steps]
        steps = ", ".join(
            f"{at + 1} {step.worker}{f' (sees {reads})' if reads else ''}"
            for at, (step, reads) in enumerate(zip(self.steps, seen, strict=True))
        )
        return f"<Workflow of {len(self.steps)}: {steps if len(steps) <= 200 else f'{steps[:199]}…'}>"

    __str__ = __repr__

    def mermaid(self) -> str:
        """The graph as Mermaid, https://mermaid.js.org/syntax/flowchart.html: a box for each step."""
        lines = ["flowchart TD"]
        for at, step in enumerate(self.steps):
            words = " ".join(step.instruction.split())
            text = f"{at + 1}. {step.worker}: {words if len(words) <= 60 else f'{words[:59]}…'}"
            # Its own escapes; what is left of Markdown or HTML would be drawn.
            escaped = "".join(
                each if each.isalnum() or each in " .,:…-" else f"#{ord(each)};" for each in text
            )
            lines.append(f'  s{at + 1}["{escaped}"]')
        edges = [f"  s{read + 1} --> s{at + 1}" for at, step in enumerate(self.steps) for read in step.access]
        return "\n".join([*lines, *edges]) + "\n"

    def ancestors(self, step: int) -> frozenset[int]:
        """Steps whose work reaches `step`, directly or through others."""
        reached = self._reached[step]
        return frozenset(at for at in range(step) if reached >> at & 1)

    @cached_property
    def _reached(self) -> Sequence[int]:
        """The ancestors of each step as the bits of a number: a thousand sets would be half a million."""
        reached: list[int] = []
        for step in self.steps:
            reached.append(reduce(or_, (reached[read] | 1 << read for read in step.access), 0))
        return reached

    def descendants(self, step: int) -> frozenset[int]:
        """Steps that `step`'s work reaches, directly or through others."""
        reached = {step}
        for later in range(step + 1, len(self.steps)):
            if not reached.isdisjoint(self.steps[later].access):
                reached.add(later)
        return frozenset(reached - {step})

    @cached_property
    def topology(self) -> Topology:
        """The workflow's shape by name, judged by which step waits for which.

        An edge that only repeats a longer way (1 -> 3 in addition to 1 -> 2 -> 3) adds no wait, so a
        chain whose steps see everything before them is still a chain; three such steps are the
        planner, executor and verifier of the paper.
        """
        count = len(self.steps)
        if count == 1:
            return "single"
        if [step.access for step in self.steps] == [(), (0,), (0, 1)]:
            return "planner-executor-verifier"
        reads = [step.access for step in self.steps]
        if all(at in read for at, read in enumerate(reads[1:])):
            return "chain"
        if not any(reads[:-1]) and len(reads[-1]) == count - 1:
            return "fan-out"
        readers = Counter(read for needed in self.waits for read in needed)
        if readers.total() == count - 1 and (max(map(len, self.waits)) == 1 or max(readers.values()) == 1):
            return "tree"
        return "general"

    @cached_property
    def waits(self) -> Sequence[Sequence[int]]:
        """What each step waits for: what it reads, without what reaches it on a longer way as well."""
        longer = [reduce(or_, (self._reached[read] for read in step.access), 0) for step in self.steps]
        return [
            [read for read in step.access if not around >> read & 1]
            for step, around in zip(self.steps, longer, strict=True)
        ]

    def workers(self) -> tuple[str, ...]:
        """Names of the steps' workers, also as `fallbacks`, in order of first use."""
        return self._workers

    @cached_property
    def _workers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for step in self.steps for name in step.workers))

    def missing_workers(self, names: Collection[str]) -> tuple[str, ...]:
        """Those of the `workers` that are not in `names`; without those of pinned steps, which call none."""
        called = (name for step in self.steps if step.pin is None for name in step.workers)
        return tuple(dict.fromkeys(name for name in called if name not in names))

    @property
    def fallbacks(self) -> frozenset[str]:
        """Names of those of the `workers` that are called only in the place of another."""
        return frozenset(self.workers()) - {step.worker for step in self.steps}

    def check_workers(self, names: Collection[str]) -> None:
        """Raise `WorkflowError` for the first step whose worker or fallback is not in `names`; a pinned step
        calls none.
        """
        for i, step in enumerate(self.steps):
            if step.pin is not None:
                continue
            for role, name in zip(("names the worker", "has the fallback"), step.workers, strict=False):
                if name not in names:
                    raise WorkflowError(
                        f"Step {i + 1} {role} {name!r}, which the pool does not have; "
                        f"choose one of: {', '.join(names)}.",
                        step=i,
                    )

    @cached_property
    def lineage(self) -> tuple[int, ...]:
        """Each step's number among those that the workflow was edited from."""
        return tuple(at if step.lineage is None else step.lineage for at, step in enumerate(self.steps))

    @cached_property
    def pins(self) -> Mapping[int, Output]:
        return {i: step.pin for i, step in enumerate(self.steps) if step.pin is not None}

    # Not cached: a value that holds itself cannot be compared.
    @property
    def unpinned(self) -> Workflow:
        if not self.pins:
            return self
        return Workflow.of(step.model_copy(update={"pin": None}) for step in self.steps)

    @cached_property
    def gates(self) -> frozenset[int]:
        """The steps before which a run waits; a pinned one is never called, so its gate stops nothing."""
        return frozenset(i for i, step in enumerate(self.steps) if step.gate and step.pin is None)

    @property
    def ungated(self) -> Workflow:
        """The workflow without gates: what the same answers come of, without anyone who continues it."""
        if not any(step.gate for step in self.steps):
            return self
        return Workflow.of(step.ungated for step in self.steps)

    # -- edits: each returns a new workflow ------------------------------------------------------

    def with_worker(self, step: int, worker: str) -> Workflow:
        """Give `step` to another worker; its rule for failures loses a fallback that is this one."""
        self._check_place(step)
        rule = self.steps[step].on_failure
        return self._replace(step, worker=worker, on_failure=rule and rule.of_worker(worker))

    def with_workers(self, instead: Mapping[str, str]) -> Workflow:
        """Give the steps of each worker that `instead` names, and what has it as its fallback, to another."""

        def moved(step: Step) -> Step:
            worker, rule = instead.get(step.worker, step.worker), step.on_failure
            if rule is not None and rule.fallback is not None:
                rule = rule.model_copy(update={"fallback": instead.get(rule.fallback, rule.fallback)})
            return step.model_copy(update={"worker": worker, "on_failure": rule and rule.of_worker(worker)})

        return Workflow.of(map(moved, self._numbered))

    def with_instruction(self, step: int, instruction: str) -> Workflow:
        return self._replace(step, instruction=instruction)

    def with_access(self, step: int, access: Iterable[int]) -> Workflow:
        """Let `step` read exactly the earlier steps in `access`."""
        return self._replace(step, access=tuple(sorted(set(access))))

    def with_sight_of_previous(self, step: int, sees: bool) -> Workflow:
        """Let `step` see the round before, or not."""
        return self._replace(step, sees_previous=sees)

    def with_sight_of_files(self, step: int, sees: bool) -> Workflow:
        """Let `step` see what is attached to the question, or not."""
        return self._replace(step, sees_files=sees)

    def with_tools(self, step: int, tools: Iterable[str] | None) -> Workflow:
        """Let `step` call just those of its worker's tools that these name; None: all of them."""
        return self._replace(step, tools=None if tools is None else tuple(tools))

    def with_sampling(self, step: int, sampling: Sampling) -> Workflow:
        return self._replace(step, sampling=sampling)

    def with_pin(self, step: int, output: Output | None) -> Workflow:
        """The workflow with `output` as the fixed answer of `step`; None unpins it."""
        return self._replace(step, pin=output)

    def with_gate(self, step: int, gate: bool = True) -> Workflow:
        """Let a run wait before `step`, or not."""
        return self._replace(step, gate=gate)

    def with_on_failure(self, step: int, rule: OnFailure | None) -> Workflow:
        """Give `step` a rule for failures; None or one that does nothing takes it away."""
        return self._replace(step, on_failure=None if rule is None or rule.nothing else rule)

    def add_step(self, step: Step, at: int | None = None) -> Workflow:
        """Insert `step` before position `at` (at the end when None).

        `step.access` counts positions in this workflow, before the insertion.
        """
        place = len(self.steps) if at is None else at
        if not 0 <= place <= len(self.steps):
            raise WorkflowError(
                f"A step cannot be inserted at place {place + 1} of a workflow with {len(self.steps)} steps."
            )
        order: list[int | None] = [*range(place), None, *range(place, len(self.steps))]
        # By chance, since nothing here remembers the numbers of removed steps.
        return self._reordered(order, new=step.model_copy(update={"lineage": MAX_STEPS + randbits(52)}))

    def remove_step(self, step: int) -> Workflow:
        """Remove `step` and every access to it; later steps are renumbered.

        Raises `WorkflowError` for the only step.
        """
        if len(self.steps) == 1:
            self._check_place(step)
            raise WorkflowError("The only step cannot be removed; a workflow needs one step.", step=step)
        return self.remove_steps((step,))

    def remove_steps(self, gone: Collection[int]) -> Workflow:
        """Remove these steps, not all, and every access to them; later steps are renumbered."""
        for step in gone:
            self._check_place(step)
        return self._reordered([i for i in range(len(self.steps)) if i not in gone])

    def move_step(self, step: int, to: int) -> Workflow:
        """Move `step` to position `to`; access follows the steps that were meant.

        Raises `WorkflowError` where a step would come before one it reads.
        """
        self._check_place(step)
        self._check_place(to)
        order: list[int | None] = [i for i in range(len(self.steps)) if i != step]
        order.insert(to, step)
        place = {old: new for new, old in enumerate(order)}
        for reader, seen in enumerate(self.steps):
            for read in seen.access:
                if place[read] > place[reader]:
                    raise WorkflowError(
                        f"Step {step + 1} cannot move to place {to + 1}: step {reader + 1} reads "
                        f"step {read + 1} and must stay after it. Remove that access first.",
                        step=step,
                    )
        return self._reordered(order)

    def _replace(self, step: int, **fields: object) -> Workflow:
        self._check_place(step)
        steps = list(self._numbered)
        steps[step] = steps[step].model_copy(update=fields)
        return Workflow.of(steps)

    @cached_property
    def _numbered(self) -> Sequence[Step]:
        """The steps with their numbers, by which they are known after an edit of any field."""
        return [
            step if step.lineage is not None else step.model_copy(update={"lineage": at})
            for at, step in enumerate(self.steps)
        ]

    def _reordered(self, order: Sequence[int | None], new: Step | None = None) -> Workflow:
        """The steps in the given order of old positions (None: the step `new`), access renumbered."""
        place = {old: at for at, old in enumerate(order) if old is not None}

        def moved(old: int | None) -> Step:
            step = new if old is None else self._numbered[old]
            assert step is not None, "an order without a new step has old positions only"
            for read in step.access:
                if not 0 <= read < len(self.steps):
                    raise WorkflowError(f"Access to step {read + 1}, which this workflow does not have.")
            access = tuple(sorted(place[read] for read in step.access if read in place))
            return step if access == step.access else step.model_copy(update={"access": access})

        return Workflow.of(map(moved, order))

    def _check_place(self, step: int) -> None:
        if not 0 <= step < len(self.steps):
            raise WorkflowError(f"There is no step {step + 1}; this workflow has {len(self.steps)}.")


def problems_of(steps: Sequence[Step]) -> tuple[WorkflowError, ...]:
    """Every rule that these steps break, in the order of the steps."""
    if not steps:
        return (WorkflowError("A workflow needs at least one step."),)
    if len(steps) > MAX_STEPS:
        return (
            WorkflowError(f"A workflow may have at most {MAX_STEPS:,} steps; this one has {len(steps):,}."),
        )
    return tuple(problem for i, step in enumerate(steps) for problem in _step_problems(i, step))


def _step_problems(i: int, step: Step) -> Iterable[WorkflowError]:
    name = f"Step {i + 1}"
    if not step.instruction.strip():
        yield WorkflowError(f"{name} has an empty instruction; describe what its worker shall do.", step=i)
    if len(step.instruction) > MAX_INSTRUCTION:
        yield WorkflowError(
            f"{name} has an instruction of {len(step.instruction):,} characters; "
            f"the limit is {MAX_INSTRUCTION:,}.",
            step=i,
        )
    if not step.worker:
        yield WorkflowError(f"{name} names no worker; choose one of the pool.", step=i)
    if wrong := pattern_problem(step.tools or ()):
        yield WorkflowError(f"{name} {wrong}", step=i)
    if step.on_failure is not None and step.on_failure.fallback == step.worker:
        yield WorkflowError(
            f"{name} has its own worker {step.worker!r} as its fallback; choose another one, or let it be "
            "called again.",
            step=i,
        )
    for read in step.access:
        if read < 0:
            yield WorkflowError(f"{name} reads position {read}; positions start at 0.", step=i)
        elif read == i:
            yield WorkflowError(f"{name} reads itself; it may read earlier steps only.", step=i)
        elif read > i:
            yield WorkflowError(
                f"{name} reads step {read + 1}, which is not before it; it may read earlier steps only.",
                step=i,
            )


def _tidy(step: Step) -> Step:
    access = tuple(sorted(set(step.access)))
    tools = None if step.tools is None else tuple(sorted(set(step.tools)))
    if (access, tools) == (step.access, step.tools):
        return step
    return step.model_copy(update={"access": access, "tools": tools})
