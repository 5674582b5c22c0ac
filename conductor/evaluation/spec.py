"""The specification of an evaluation, and the result of one of its cells: values only.

A cell is one item, answered once by one planner. Knows no store and no pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from conductor.evaluation.plan_sources import GivenPlans
from conductor.evaluation.score import Score
from conductor.runs.state import RunState
from conductor.values.messages import NOTHING_USED, Usage, Value
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.values.total import Total
from conductor.workflow.critical_path import last_end
from conductor.workflow.model import Topology

CONDUCTOR = "conductor"
"""The planner that is the pool's own Conductor."""


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each once and sorted, without blanks around it. Raises `ValueError` for one that is empty or has more
    than 60 characters.
    """
    stripped = sorted({tag.strip() for tag in tags})
    if not all(0 < len(tag) <= 60 for tag in stripped):
        raise ValueError("a tag has 1 to 60 characters")
    return tuple(stripped)


Tags = Annotated[tuple[str, ...], AfterValidator(checked_tags)]
"""Names by which people find an evaluation again, sorted."""


class FittedOn(Value):
    """That a planner's parameters were fitted: a hash of them, on how many questions, and which of the
    evaluation's own items (by position) are among these; no item if it was not shown which answers are right.
    """

    planner: str
    digest: str
    questions: int
    seen: tuple[int, ...] = ()


class JudgeSpec(Value):
    """The worker that judges, and a hash of its instructions."""

    worker: str
    prompt: str = ""


class EvaluationSpec(Value):
    """`data` is the data set's name and `digest` its items' hash; `planners` are names, the first is
    compared with the others, and `fitted` holds those of them that were fitted, `given` those that write
    nothing. `settings` are those of every session, its budget that of the whole evaluation. `pool` holds the
    workers' names with a hash of their identities, `version` is the program's. With a `margin` it is a trial:
    the first of `given` as it is, and variants of it that may be worse by so much in accuracy. Where a trial
    has `held_out` questions, half of them, the variants answer the others; the variant that these chose is
    `confirmed` on them, None until one is chosen. A `sequential` one ends once every difference to the first
    planner is significant, and asks its questions in an order drawn by the seed. `judge` scores the questions
    that are scored so; None without such questions. `tags` change nothing. With
    `batch` all questions are asked at once, in batches: `batches` are those that were sent, each with its
    worker's name. `parts` has planners that answer a part of the questions, by position.
    """

    data: str
    digest: str
    planners: tuple[str, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=100)
    seed: int = 0
    settings: Settings = Settings()
    parallel: int = Field(default=4, ge=1, le=64)
    allow_code: bool = False
    pool: tuple[tuple[str, str], ...] = ()
    version: str = ""
    fitted: tuple[FittedOn, ...] = ()
    given: tuple[GivenPlans, ...] = ()
    margin: float | None = Field(default=None, gt=0, lt=1)
    held_out: bool = False
    confirmed: str | None = None
    sequential: bool = False
    judge: JudgeSpec | None = None
    tags: Tags = ()
    batch: bool = False
    batches: tuple[tuple[str, str], ...] = ()
    parts: Mapping[str, tuple[int, ...]] = Field(default_factory=dict)

    def plans_of(self, planner: str) -> GivenPlans | None:
        """What a planner that writes nothing gives; None for one that plans."""
        return next((each for each in self.given if each.name == planner), None)

    @property
    def whole(self) -> tuple[str, ...]:
        """The planners that are asked every question."""
        return tuple(planner for planner in self.planners if planner not in self.parts)

    def holds_out(self, item: int) -> bool:
        """Whether the item at that position is held out: of two neighbours one, drawn by the seed."""
        parity = sha256(f"{self.seed}/{item // 2}".encode()).digest()[0] % 2 if item > 1 else 1
        return self.held_out and item % 2 == parity

    def places(self, questions: int) -> Mapping[str, Collection[int]]:
        """By planner the positions of the items that it answers, of so many."""
        every = [at for at in range(questions) if not self.holds_out(at)]
        chosen = (self.planners[0], self.confirmed) if self.confirmed is not None else ()
        return {
            planner: self.parts.get(planner, range(questions) if planner in chosen else every)
            for planner in self.planners
        }

    def cells(self, questions: int) -> int:
        """How many answers it has on so many questions."""
        return sum(map(len, self.places(questions).values())) * self.repeats

    def order(self, questions: int) -> Sequence[int]:
        """The positions of so many items in the order in which they are asked."""
        if not self.sequential:
            return range(questions)
        return sorted(range(questions), key=lambda at: sha256(f"{self.seed}/{at}".encode()).digest())

    def title_of(self, planner: str) -> str:
        """A planner's name for people."""
        plans = self.plans_of(planner)
        return planner if plans is None else plans.title

    def differences(self, other: EvaluationSpec) -> tuple[str, ...]:
        """Why the two tables cannot be compared; nothing where they can. Questions include scorers."""
        own, others = ({each.planner: each.digest for each in spec.fitted} for spec in (self, other))
        reasons = {
            "the questions": self.digest == other.digest,
            "the order of choices (seed)": self.seed == other.seed,
            "the workers of the pool": dict(self.pool) == dict(other.pool),
            "the limit on steps": self.settings.max_steps == other.settings.max_steps,
            "the number of rounds": self.settings.rounds == other.settings.rounds,
            "the attempts at a plan": self.settings.attempts == other.settings.attempts,
            "the workers that may be used": (self.settings.workers, self.settings.economical)
            == (other.settings.workers, other.settings.economical),
            "how plans are read": self.settings.strict_form == other.settings.strict_form,
            "the judge": self.judge == other.judge,
            "what a planner has learnt": all(
                own[name] == others[name] for name in own.keys() & others.keys()
            ),
        }
        return tuple(reason for reason, same in reasons.items() if not same)


class CellResult(Value):
    """A cell's score and what it took. `work` is what the workflow's calls took: those whose output was there
    already as well, with what they took then, and those that failed. `calls` counts them with the planning;
    `seconds` is how long planning and the longest way through the workflow take by themselves, whichever
    planner paid for a call, and None if the time of a plan is unknown. `judging` is what each request to the
    judge took. `paid` counts the requests that were made for this cell, also those to the judge.
    """

    score: Score
    planning: Usage = NOTHING_USED
    work: Usage = NOTHING_USED
    judging: tuple[Usage, ...] = ()
    calls: int = 0
    paid: int = 0
    steps: int | None = None
    seconds: float | None = None
    workers: tuple[tuple[str, int], ...] = ()
    topology: Topology | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_spent(cls, stored: Any) -> Any:
        """Older versions stored a sum over what the ledger has by request."""
        if not isinstance(stored, Mapping):
            return stored
        return {name: value for name, value in stored.items() if name != "spent"}

    @property
    def planned(self) -> Total:
        """What the planning took."""
        return Total.of([self.planning])

    @property
    def worked(self) -> Total:
        """What the workflow's calls took."""
        return Total.of([self.work])

    @property
    def whole(self) -> Total:
        """What the planning and the workflow's calls took."""
        return self.planned + self.worked

    @property
    def judged(self) -> Total:
        """What the judge's verdict took."""
        return Total.of(self.judging)


def cell_result(
    score: Score,
    *,
    planning: Usage,
    planning_seconds: Sequence[float | None],
    plans: int,
    runs: Sequence[RunState],
    judging: Sequence[Usage] = (),
    paid: int,
) -> CellResult:
    """The result of a session with these runs, oldest first; of a round that was run again the last one
    counts.

    `planning` is what its `plans` took together that a model wrote, `planning_seconds` how long each plan
    took, `judging` what each request to a judge took. `paid` counts all requests of the session.
    """
    rounds = {run.round: run for run in runs}
    outputs = _outputs(rounds.values())
    called = [output for output in outputs if output.worker_kind != "offline" and output.hand is None]
    steps = [step for run in rounds.values() for step in run.steps]
    failed = [each for each in steps if each.calls and each.output is None and each.worker_kind != "offline"]
    usages = [
        *(output.usage for output in called),
        *(charge.usage for step in failed for charge in step.all_charges if charge.counts),
    ]
    last = runs[-1].workflow if runs else None
    return CellResult(
        score=score,
        planning=planning,
        work=sum(usages, NOTHING_USED),
        judging=tuple(judging),
        calls=sum(output.requests for output in called) + len(failed) + plans,
        paid=paid,
        steps=None if last is None else len(last),
        seconds=_seconds(planning_seconds, rounds.values()) if rounds or planning_seconds else None,
        workers=tuple(sorted(Counter(output.worker for output in outputs).items())),
        topology=None if last is None else last.topology,
    )


def _outputs(rounds: Iterable[RunState]) -> Sequence[Output]:
    """The outputs of these rounds' steps, each once: what a later round repeats has the output that was
    there.
    """
    outputs: list[Output] = []
    for run in rounds:
        calls = {(output.run, output.step) for output in outputs}
        outputs += [each for each in run.outputs.values() if (each.run, each.step) not in calls]
    return outputs


def _seconds(planning: Sequence[float | None], rounds: Iterable[RunState]) -> float | None:
    """As `CellResult.seconds`; what a later round repeats takes none there."""
    parts, earlier = [*planning], set[tuple[str, int]]()
    for run in rounds:
        outputs = run.outputs
        steps: dict[int, float | None] = {
            at: step.seconds or 0.0 for at, step in enumerate(run.steps) if at not in outputs
        }
        for at, output in outputs.items():
            repeats = output.hand is not None or (output.run, output.step) in earlier
            steps[at] = 0.0 if repeats else output.seconds
        earlier |= {(output.run, output.step) for output in outputs.values()}
        parts += [] if run.workflow is None else [last_end(run.workflow, steps)]
    every = [part for part in parts if part is not None]
    return sum(every) if len(every) == len(parts) else None
