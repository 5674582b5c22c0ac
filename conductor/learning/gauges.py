"""The gauges of a training by reinforcement, and the watch that warns where it collapses. Pure.

A collapse is a Conductor that becomes a router: nearly all plans have one step, whatever the question needs,
since one good worker is rewarded sooner than a chain that is nearly right. Knows outcomes; knows no model.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any

from conductor.evaluation.statistics import entropy
from conductor.learning.reward import Outcome


@dataclass(frozen=True)
class Gauges:
    """What a batch of rollouts shows; `valid`, `right`, `one_step` and `live` are shares from 0 to 1.

    `reward` is the mean of all, `steps` and `tokens` those of valid plans. `one_step` is the share of plans
    with one step among the valid plans for questions that need more. `entropy` is that of the calls over the
    workers, in bits. `live` is the share of groups whose rewards differ: from the others nothing is learnt.
    None: nothing to take it from.
    """

    reward: float
    valid: float
    right: float
    steps: float | None
    one_step: float | None
    entropy: float | None
    live: float
    tokens: float | None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Gauges:
        """The gauges of a line of metrics."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    @property
    def row(self) -> dict[str, float | None]:
        """All of them by name, rounded to what a reader can use."""
        return {name: None if value is None else round(value, 4) for name, value in asdict(self).items()}


def gauges_of(
    outcomes: Sequence[Outcome], rewards: Sequence[float], needed: Sequence[int | None], *, group: int
) -> Gauges:
    """The gauges of a batch: rollouts in groups of `group` for one question each.

    `needed` is for each rollout how many steps its question needs, None where that is unknown.
    """
    valid = [outcome for outcome in outcomes if outcome.valid]
    chains = [
        outcome.steps
        for outcome, least in zip(outcomes, needed, strict=True)
        if outcome.valid and least is not None and least > 1
    ]
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
    )


WINDOW = 5
"""Steps over which the watch takes its means: one batch of questions alone is too noisy."""

ONE_STEP = 0.85
"""From here on plans are taken for collapsed, where their questions need more steps."""

VALID = 0.5
"""Below this share of valid plans the form is being lost."""


@dataclass(frozen=True)
class Alarm:
    """What the watch noticed, and what helps against it."""

    what: str
    cure: str

    @property
    def words(self) -> str:
        """Both, for people."""
        return f"{self.what}. To cure it, {self.cure}."


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
    """What a watch is for. `plans` names those that `Gauges.one_step` counts, for people; `router` and `form`
    are the cures. `form_to_learn`: plans need not be valid from the start, only not lose their form again.
    """

    plans: str
    router: str
    form: str
    form_to_learn: bool = False


NEED_SEVERAL = "plans for questions that need several steps"

DEMONSTRATION = Watched(
    plans=NEED_SEVERAL,
    router=(
        "start from plans of which at least a third take the question apart, or from corrections "
        "(`conductor learn corrections`); lower --grpo-lr (1e-4), or take larger groups (32 at 1.5e-4)"
    ),
    form="lower --grpo-lr, or lengthen the warm start (--warm-steps) until its plans are valid",
)
"""The demonstration's training, which begins with plans that are valid."""


class CollapseWatch:
    """Reads the gauges of each training step, and warns once for each kind of collapse.

    `before` are those of steps that were taken earlier, about which it does not warn.
    """

    def __init__(self, watched: Watched = DEMONSTRATION, *, before: Iterable[Gauges] = ()) -> None:
        self._watched = watched
        self._last: deque[Gauges] = deque(maxlen=WINDOW)
        self._warned: set[str] = set()
        self._formed = not watched.form_to_learn
        for gauges in before:
            self._add(gauges)

    def read(self, gauges: Gauges) -> Alarm | None:
        """The warning that this step gives rise to, None for none."""
        valid = self._add(gauges)
        if len(self._last) < WINDOW:
            return None
        one_step = [each.one_step for each in self._last if each.one_step is not None]
        share = fmean(one_step) if one_step else 0.0
        if share >= ONE_STEP and "router" not in self._warned:
            self._warned.add("router")
            return Alarm(
                f"{share:.0%} of the {self._watched.plans} have one step: the Conductor has become a router",
                self._watched.router,
            )
        if valid < VALID and self._formed and "form" not in self._warned:
            self._warned.add("form")
            return Alarm(f"only {valid:.0%} of the plans are valid", self._watched.form)
        return None

    def _add(self, gauges: Gauges) -> float:
        """The share of valid plans in the last steps, with this one."""
        self._last.append(gauges)
        valid = fmean(each.valid for each in self._last)
        self._formed = self._formed or (len(self._last) == WINDOW and valid >= VALID)
        return valid
