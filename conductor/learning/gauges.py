"""The gauges of a training by reinforcement, and the watch that warns where it collapses. Pure.

A collapse is a Conductor that becomes a router: nearly all plans have one step, whatever the question needs,
since one good worker is rewarded sooner than a chain that is nearly right. Knows outcomes; knows no model.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any

from conductor.evaluation.statistics import entropy
from conductor.learning.reward import Outcome
from conductor.planner.conductor import MAX_PLANNED_STEPS

FEW = 0.1
"""Below this share of plans with several steps their workers are not judged."""


@dataclass(frozen=True)
class Gauges:
    """What a batch of rollouts shows; `valid`, `right`, `one_step` and `live` are shares from 0 to 1.

    `reward` is the mean of all, `steps` and `tokens` those of valid plans. `one_step` is the share of plans
    with one step among the valid plans for questions that need more. `entropy` is that of the calls over the
    workers, in bits. `live` is the share of groups whose rewards differ: from the others nothing is learnt.
    `one_worker` is the share of plans that call one worker in all their steps among those with several steps,
    and `longest` that of plans with as many steps as a plan may have among the valid ones. None: nothing to
    take it from, or a line of a version that did not measure it.
    """

    reward: float
    valid: float
    right: float
    steps: float | None
    one_step: float | None
    entropy: float | None
    live: float
    tokens: float | None
    one_worker: float | None = None
    longest: float | None = None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Gauges:
        """The gauges of a line of metrics."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})

    @property
    def row(self) -> dict[str, float | None]:
        """All of them by name, rounded to what a reader can use."""
        return {name: None if value is None else round(value, 4) for name, value in asdict(self).items()}


def gauges_of(
    outcomes: Sequence[Outcome], rewards: Sequence[float], needed: Sequence[int | None], *, group: int
) -> Gauges:
    """The gauges of a batch: rollouts in groups of `group` for one question each.

    `needed` is for each rollout how many steps its question needs, None if that is unknown.
    """
    valid = [outcome for outcome in outcomes if outcome.valid]
    chains = [
        outcome.steps
        for outcome, least in zip(outcomes, needed, strict=True)
        if outcome.valid and least is not None and least > 1
    ]
    several = [outcome for outcome in valid if outcome.steps > 1]
    calls = Counter(worker for outcome in valid for worker in outcome.workers)
    groups = [rewards[at : at + group] for at in range(0, len(rewards), group)]
    tokens = [outcome.tokens for outcome in valid if outcome.tokens is not None]
    return Gauges(
        reward=fmean(rewards),
        valid=len(valid) / len(outcomes),
        right=sum(outcome.right for outcome in outcomes) / len(outcomes),
        steps=fmean(outcome.steps for outcome in valid) if valid else None,
        one_step=sum(steps == 1 for steps in chains) / len(chains) if chains else None,
        entropy=entropy([*calls.values()]),
        live=sum(max(each) > min(each) for each in groups) / len(groups),
        tokens=fmean(tokens) if tokens else None,
        one_worker=(
            sum(len({*outcome.workers}) == 1 for outcome in several) / len(several)
            if len(several) >= FEW * len(valid) > 0
            else None
        ),
        longest=(
            sum(outcome.steps >= MAX_PLANNED_STEPS for outcome in valid) / len(valid) if valid else None
        ),
    )


WINDOW = 5
"""Steps over which the watch takes its means: one batch of questions alone is too noisy."""

ONE_STEP = 0.85
"""From here on plans are taken for collapsed, where their questions need more steps."""

VALID = 0.5
"""Below this share of valid plans the form is being lost."""

ONE_WORKER = 0.9
"""From here on chains are chains of one worker, which no pool of different workers needs so often."""

LONGEST = 0.9
"""From here on plans are as long as they may be, whatever is asked."""

MASTERED = 0.95
"""From this share of right answers on, groups without differences are no fault."""

PROBES = 2
"""Successive probes behind that of the start in which the likeliest plans have to be alike for an alarm."""

NARROW = 0.2
"""Bits of routing entropy below which nearly all calls are of one worker."""

FALL = 0.1
"""From this loss on the likeliest plans have become worse: some three standard errors with 135 questions."""

RECOVERED = 0.8
"""Below this share of its bound a collapse has ended, and the next one is a new one."""


@dataclass(frozen=True)
class Alarm:
    """What the watch noticed, and what helps against it."""

    what: str
    cure: str

    @property
    def words(self) -> str:
        """Both, for people."""
        return f"{self.what}. Remedy: {self.cure}."


@dataclass(frozen=True)
class Stopped:
    """A training that was ended after this step, since it collapsed."""

    step: int
    alarm: Alarm

    @property
    def reason(self) -> str:
        """What happened and what to do, for people."""
        return (
            f"The training collapsed and was stopped after step {self.step}: {self.alarm.what}. "
            f"To train again, {self.alarm.cure}"
        )


@dataclass(frozen=True)
class Watched:
    """What a watch is for. `plans` names those that `Gauges.one_step` counts, for people; `router`, `form`
    and `idle` are the cures; without the last, another watch sees that nothing is learnt. `form_to_learn`:
    plans need not be valid from the start, only not lose their form again.
    """

    plans: str
    router: str
    form: str
    idle: str = ""
    form_to_learn: bool = False


NEED_SEVERAL = "plans for questions that need several steps"

DEMONSTRATION = Watched(
    plans=NEED_SEVERAL,
    router=(
        "start from plans that take the question apart in a third of the cases or more, or from corrections "
        "(`conductor learn corrections`); lower --grpo-lr (1e-4), or take larger groups (32 at 1.5e-4)"
    ),
    form="lower --grpo-lr, or lengthen the warm start (--warm-steps) until its plans are valid",
    idle="sample more plans for each question (--group), or lengthen the warm start (--warm-steps)",
)
"""The demonstration's training, which begins with plans that are valid."""


class CollapseWatch:
    """Reads the gauges of each training step, and those of the likeliest plans for a few fixed questions, the
    probes. It warns once for each kind of collapse, and again where that had ended meanwhile.

    `before` are the gauges of steps that were taken earlier, about which it does not warn.
    """

    def __init__(self, watched: Watched = DEMONSTRATION, *, before: Iterable[Gauges] = ()) -> None:
        self._watched = watched
        self._last: deque[Gauges] = deque(maxlen=WINDOW)
        # The first probe is that of the start, which is the worst that there may be.
        self._probes: deque[Gauges] = deque(maxlen=PROBES + 1)
        self._best = 0.0
        self._warned: set[str] = set()
        self._formed = not watched.form_to_learn
        for gauges in before:
            self._add(gauges)

    def read(self, gauges: Gauges) -> Alarm | None:
        """The warning that this step gives rise to, None for none."""
        self._add(gauges)
        return None if len(self._last) < WINDOW else self._first_new(self._signs())

    def read_probe(self, gauges: Gauges) -> Alarm | None:
        """The warning that the likeliest plans of this probe give rise to, None for none."""
        self._probes.append(gauges)
        self._best = max(self._best, gauges.right)
        return self._first_new(self._probe_signs())

    def _add(self, gauges: Gauges) -> None:
        self._last.append(gauges)
        valid = fmean(each.valid for each in self._last)
        self._formed = self._formed or (len(self._last) == WINDOW and valid >= VALID)

    def _signs(self) -> Iterator[_Sign]:
        last, watched = self._last, self._watched
        share = _mean(each.one_step for each in last)
        yield _Sign(
            "router", share, ONE_STEP,
            f"{share:.0%} of the {watched.plans} have one step: the Conductor has become a router",
            watched.router,
        )  # fmt: skip
        invalid = 1 - fmean(each.valid for each in last)
        yield _Sign(
            "form", invalid if self._formed else 0.0, 1 - VALID,
            f"only {1 - invalid:.0%} of the plans are valid", watched.form,
        )  # fmt: skip
        share = _mean(each.one_worker for each in last)
        yield _Sign(
            "one worker", share, ONE_WORKER,
            f"{share:.0%} of the plans with several steps call one worker in all of them", watched.router,
        )  # fmt: skip
        share = _mean(each.longest for each in last)
        yield _Sign(
            "longest", share, LONGEST, f"{share:.0%} of the plans have as many steps as a plan may have",
            "give tokens a price (--price), so that steps which earn nothing cost something",
        )  # fmt: skip
        if watched.idle:
            mastered = fmean(each.right for each in last) >= MASTERED
            yield _Sign(
                "idle", 0.0 if mastered else 1 - fmean(each.live for each in last), 1.0,
                "no group has plans of different rewards: nothing is learnt", watched.idle,
            )  # fmt: skip

    def _probe_signs(self) -> Iterator[_Sign]:
        probes, cure = [*self._probes][1:], self._watched.router
        if len(probes) == PROBES:
            share = min(each.one_step or 0.0 for each in probes)
            yield _Sign(
                "likeliest router", share, ONE_STEP,
                f"{share:.0%} of the likeliest {self._watched.plans}, which are served, have one step", cure,
            )  # fmt: skip
            narrow = all(each.entropy is not None and each.entropy < NARROW for each in probes)
            yield _Sign(
                "likeliest worker", float(narrow), 1.0,
                "nearly all of the likeliest plans, which are served, call the same worker", cure,
            )  # fmt: skip
        right = self._probes[-1].right
        yield _Sign(
            "likeliest plan", self._best - right, FALL,
            f"{right:.0%} of the likeliest plans, which are served, are right, after {self._best:.0%}", cure,
        )  # fmt: skip

    def _first_new(self, signs: Iterable[_Sign]) -> Alarm | None:
        for sign in signs:
            if sign.share < RECOVERED * sign.bound:
                self._warned.discard(sign.kind)
            elif sign.share >= sign.bound and sign.kind not in self._warned:
                self._warned.add(sign.kind)
                return Alarm(sign.what, sign.cure)
        return None


@dataclass(frozen=True)
class _Sign:
    """What gives alarm from `bound` on."""

    kind: str
    share: float
    bound: float
    what: str
    cure: str


def _mean(values: Iterable[float | None]) -> float:
    """The mean of what is known, 0 where nothing is."""
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else 0.0
