"""Rules about a workflow's structure: which step reads which, and how the work is divided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from conductor.workflow.lint.finding import Finding, Fix, Subject, given_to_others, let_read, step_numbers
from conductor.workflow.model import Step, Workflow

_LEAST_REPEATED = 40
"""Characters an output has at least, before another one that holds it makes it redundant."""

_Ask = tuple[str, tuple[object, ...], frozenset[int]]
"""What a step asks whom, and which steps it reads."""

_Edges = Mapping[int, set[int]]
"""Of each step, which others it reads, or which read it."""


def blind_final_step(subject: Subject) -> Iterator[Finding]:
    """A final step that reads nothing though there are others; it also covers their unread outputs."""
    workflow = subject.workflow
    if not _blind(subject):
        return
    last = workflow.final
    ends = [step for step in range(last) if not workflow.readers[step]]
    fixes = [let_read(workflow, last, ends)]
    if len(ends) < last:
        fixes.append(let_read(workflow, last, range(last)))
    yield Finding(
        "blind-final-step",
        last,
        "warning",
        f"The final step reads no other step, so the work of {step_numbers(range(last))} "
        "cannot reach the answer.",
        tuple(fixes),
    )


def pinned_before(subject: Subject) -> Iterator[Finding]:
    """A pinned step whose inputs changed since its output was made; a person's text may be meant to stay."""
    for step in sorted(subject.changed_pins):
        pin = subject.workflow.steps[step].pin if step < len(subject.workflow) else None
        if pin is None:
            continue
        origin = "made" if pin.hand is None else "written by hand"
        yield Finding(
            "pinned-before",
            step,
            "warning" if pin.hand is None else "note",
            f"Step {step + 1} is pinned, and its inputs changed since its output was {origin}.",
            (Fix(f"Unpin step {step + 1}", partial(subject.workflow.with_pin, step, None)),),
        )


def unread_output(subject: Subject) -> Iterator[Finding]:
    """Steps before the final one whose output no step reads."""
    workflow = subject.workflow
    if _blind(subject):
        return
    for step, gone in _in_vain(workflow).items():
        removal = Fix(f"Remove {step_numbers(gone)}", partial(workflow.remove_steps, gone))
        yield Finding(
            "unread-output",
            step,
            "warning",
            f"No step reads step {step + 1}, so its work cannot reach the answer.",
            (let_read(workflow, workflow.final, (step,)), removal),
        )


def redundant_access(subject: Subject) -> Iterator[Finding]:
    """A step that reads an earlier output and also a later one that contains it word for word."""
    workflow = subject.workflow
    repeated = [_repeated_reads(subject, step) for step in range(len(workflow))]
    for step, own in enumerate(workflow.steps):
        if own.pin is not None:
            continue
        redundant = {read: by for by in own.access for read in repeated[by].intersection(own.access)}
        if redundant:
            rest = [read for read in own.access if read not in redundant]
            less = partial(workflow.with_access, step, rest)
            fix = Fix(f"Let step {step + 1} read {step_numbers(rest)} only", less)
            words = "; and ".join(
                f"step {read + 1} and also step {by + 1}, whose output holds that of step {read + 1} "
                "word for word"
                for read, by in sorted(redundant.items())
            )
            yield Finding("redundant-access", step, "note", f"Step {step + 1} reads {words}.", (fix,))


def _repeated_reads(subject: Subject, step: int) -> frozenset[int]:
    """Those of the steps that `step` reads whose whole output it has in its own, as far as they are known."""
    if step not in subject.outputs:
        return frozenset()
    own = subject.outputs[step].text
    texts = {
        read: subject.outputs[read].text.strip()
        for read in subject.workflow.steps[step].access
        if read in subject.outputs
    }
    return frozenset(read for read, text in texts.items() if len(text) >= _LEAST_REPEATED and text in own)


def _blind(subject: Subject) -> bool:
    last = subject.workflow.final
    return last > 0 and subject.sees_nothing(last) and subject.workflow.steps[last].pin is None


def _in_vain(workflow: Workflow) -> Mapping[int, Sequence[int]]:
    """Each unread step before the final one, with the steps that only it was done for, and then itself."""
    end_of: list[int | None] = [None] * len(workflow)
    gone: dict[int, list[int]] = {}
    for step in range(workflow.final, -1, -1):
        ends = {end_of[reader] for reader in workflow.readers[step]} or {step}
        end_of[step] = end = ends.pop() if len(ends) == 1 else None
        if end is not None and end != workflow.final:
            gone.setdefault(end, []).append(step)
    return {end: steps[::-1] for end, steps in sorted(gone.items())}


# -- how the work is divided -----------------------------------------------------------------------


def too_many_steps(subject: Subject) -> Iterator[Finding]:
    count, limit = len(subject.workflow), max(1, subject.max_steps)
    if count > limit:
        sentence = f"The workflow has {count} steps; the limit is {limit}."
        yield Finding("too-many-steps", None, "warning", sentence, (_shortening(subject.workflow, limit),))


def _shortening(workflow: Workflow, limit: int) -> Fix:
    """Remove what matters least to the answer; the readers of a removed step read what it read."""
    access = {step: set(own.access) for step, own in enumerate(workflow.steps)}
    readers = {step: set(those) for step, those in enumerate(workflow.readers)}
    while len(access) > limit:
        victim = _least_missed(access, readers)
        reads, read_by = access.pop(victim), readers.pop(victim)
        for reader in read_by:
            access[reader] = access[reader] - {victim} | reads
        for read in reads:
            readers[read] = readers[read] - {victim} | read_by
    removed = [step for step in range(len(workflow)) if step not in access]
    return Fix(f"Remove {step_numbers(removed)}", partial(_shortened, workflow, access, removed))


def _least_missed(access: _Edges, readers: _Edges) -> int:
    """The last step that no step reads; else the last of several attempts; else the one before the final."""
    *steps, _final = access
    steps.reverse()
    unread = (step for step in steps if not readers[step])
    several = (
        step
        for step in steps
        if not access[step] and all(len(access[reader]) > 1 for reader in readers[step])
    )
    return next(unread, next(several, steps[0]))


def _shortened(workflow: Workflow, access: _Edges, removed: Collection[int]) -> Workflow:
    for step, reads in access.items():
        if reads != {*workflow.steps[step].access}:
            workflow = workflow.with_access(step, reads)
    return workflow.remove_steps(removed)


def same_instruction(subject: Subject) -> Iterator[Finding]:
    """One worker with the same instruction and access twice; two workers are independent attempts."""
    workflow = subject.workflow
    requests = [_request(step) for step in workflow.steps]
    busy: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for own, request in zip(workflow.steps, requests, strict=True):
        busy[request, own.access].add(own.worker)
    asks = Counter(
        _ask(own, request, own.access)
        for own, request in zip(workflow.steps, requests, strict=True)
        if own.pin is None
    )
    first: dict[tuple[object, ...], int] = {}
    for step, own in enumerate(workflow.steps):
        if own.pin is not None:
            continue
        twin = first.setdefault((own.worker, requests[step], own.access), step)
        if twin == step:
            continue
        sentence = (
            f"Step {step + 1} asks {own.worker} for the same as step {twin + 1}, with the same in view."
        )
        fixes = given_to_others(subject, step, besides=busy[requests[step], own.access])
        # The final step stays. Readers of both may be left with one request.
        gone, instead = (twin, None) if step == workflow.final else (step, twin)
        if not _repeats_more(workflow, requests, asks, gone=gone, instead=instead):
            removal = partial(_without_twin, workflow, gone, instead)
            fixes.insert(0, Fix(f"Remove step {gone + 1}", removal))
        yield Finding("same-instruction", step, "warning", sentence, tuple(fixes))


def _request(step: Step) -> tuple[object, ...]:
    instruction = " ".join(step.instruction.casefold().split())
    return instruction, step.sees_previous, step.sees_files, step.sampling, step.prompt_style


def _ask(step: Step, request: tuple[object, ...], reads: Iterable[int]) -> _Ask:
    return step.worker, request, frozenset(reads)


def _repeats_more(
    workflow: Workflow,
    requests: Sequence[tuple[object, ...]],
    asks: Mapping[_Ask, int],
    *,
    gone: int,
    instead: int | None,
) -> bool:
    """Whether more readers of `gone` than now would repeat a step, without it and reading `instead`; `asks`
    counts all steps.
    """
    changed = Counter({_ask(workflow.steps[gone], requests[gone], workflow.steps[gone].access): -1})
    more = 0
    for reader in workflow.readers[gone]:
        own, request = workflow.steps[reader], requests[reader]
        if own.pin is not None:
            continue
        before = _ask(own, request, own.access)
        after = _ask(own, request, {*own.access} - {gone} | ({instead} if instead is not None else set()))
        changed[before] -= 1
        more -= asks[before] + changed[before] > 0
        more += asks[after] + changed[after] > 0
        changed[after] += 1
    return more > 0


def _without_twin(workflow: Workflow, gone: int, instead: int | None) -> Workflow:
    """The workflow without one of two equal steps, whose readers read the other one, if any is given."""
    if instead is not None:
        for reader in workflow.readers[gone]:
            workflow = workflow.with_access(reader, {*workflow.steps[reader].access, instead})
    return workflow.remove_step(gone)
