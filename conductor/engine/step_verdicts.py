"""Ranks the steps by whether their replacement turns the answer right: which step spoiled it. Pure.

Knows trials and whether their answers are right; not how that is decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conductor.engine.experiments import Replacement, Trial
from conductor.runs.state import RunState
from conductor.text.formatting import quantity


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What `replacement` (None: nothing, the control) did to the answer.

    `right` and `wrong` count the trials with such an answer, `lost` those that ended without one, `pending`
    those that have not ended or are not compared yet, `broken` those that were stopped or interrupted and so
    prove nothing. `same` of them had the very output that was to be replaced. `beyond_chance`: right each
    time, and never in the control; None without a control, before both have all their answers, and for it.
    """

    replacement: Replacement | None
    right: int = 0
    wrong: int = 0
    lost: int = 0
    pending: int = 0
    broken: int = 0
    same: int = 0
    beyond_chance: bool | None = None

    @property
    def ended(self) -> int:
        """The trials that show something."""
        return self.right + self.wrong + self.lost

    @property
    def share(self) -> float | None:
        """The share of right answers; None before there is one that shows something."""
        return self.right / self.ended if self.ended else None

    @property
    def words(self) -> str:
        """It in words; nothing about chance where that is unknown."""
        if not self.ended:
            return "stopped early, no result" if self.broken else "waiting for its answer"
        parts = [self._turned] if self.right or self.wrong else []
        if self.lost:
            parts.append(f"{quantity(self.lost, 'run')} without an answer")
        if self.same:
            parts.append(
                "with the output that it had" if self.same >= self.ended else "some with the same output"
            )
        if self.pending:
            parts.append(f"{self.pending} pending")
        if self.broken:
            parts.append(f"{self.broken} stopped early")
        if self.beyond_chance is not None and self.right:
            parts.append("never in the control" if self.beyond_chance else "no more often than by chance")
        return ", ".join(parts)

    @property
    def _turned(self) -> str:
        if self.ended > 1 and 0 < self.right < self.ended:
            return f"right in {self.right} of {self.ended} runs"
        each = f" in all {self.ended} runs" if self.ended > 1 else ""
        if self.right:
            return f"the answer is right{each}"
        return f"the answer is {'still wrong' if self.replacement is not None else 'wrong'}{each}"


def step_verdicts(
    base: RunState, trials: Sequence[Trial], states: Mapping[int, RunState], right: Mapping[int, bool]
) -> tuple[StepVerdict, ...]:
    """A verdict for each replacement, the one that turned the answer right most often first, of equals the
    earlier step's; the control's last.

    `states` are the runs so far by the trial's place, `right` whether the answers of those are that have one.
    """
    verdicts = [
        _verdict(
            each, base, [at for at, trial in enumerate(trials) if trial.replacement == each], states, right
        )
        for each in dict.fromkeys(trial.replacement for trial in trials)
    ]
    control = next((verdict for verdict in verdicts if verdict.replacement is None), None)
    judged = [replace(each, beyond_chance=_beyond_chance(each, control)) for each in verdicts]
    return tuple(sorted(judged, key=_rank))


def _verdict(
    replacement: Replacement | None,
    base: RunState,
    places: Sequence[int],
    states: Mapping[int, RunState],
    right: Mapping[int, bool],
) -> StepVerdict:
    run_states = [state for at in places if (state := states.get(at)) is not None]
    endings = Counter(_ending(states.get(at), right.get(at)) for at in places)
    return StepVerdict(
        replacement,
        right=endings["right"],
        wrong=endings["wrong"],
        lost=endings["lost"],
        pending=endings["pending"],
        broken=endings["broken"],
        same=sum(_same_output(replacement, base, state) for state in run_states),
    )


def _ending(state: RunState | None, right: bool | None) -> str:
    if state is None or state.live:
        return "pending"
    if state.status not in ("finished", "failed"):
        return "broken"
    if state.answer is None:
        return "lost"
    return "pending" if right is None else "right" if right else "wrong"


def _same_output(replacement: Replacement | None, base: RunState, state: RunState) -> bool:
    if replacement is None or not state.steps or state.status not in ("finished", "failed"):
        return False
    step = state.steps[replacement.step]
    return step.output is not None and step.text == base.steps[replacement.step].text


def _beyond_chance(verdict: StepVerdict, control: StepVerdict | None) -> bool | None:
    """As strict as an edge test is: by chance alone, n repeats are all right and n of the control are all
    wrong in at most 1 of C(2n, n) searches, that is 1 of 6 for two repeats and 1 of 20 for three.
    """
    if verdict.replacement is None or control is None:
        return None
    if verdict.pending or control.pending or verdict.broken or control.broken:
        return None
    return verdict.right == verdict.ended and not control.right


def _rank(verdict: StepVerdict) -> tuple[bool, float, int, str]:
    replacement = verdict.replacement
    if replacement is None:
        return (True, 0.0, 0, "")
    share = -1.0 if verdict.share is None else verdict.share
    return (False, -share, replacement.step, replacement.worker or "")


def found_words(verdicts: Sequence[StepVerdict]) -> str:
    """What all verdicts together show, in a sentence or few; for a search that has ended."""
    tried = [verdict for verdict in verdicts if verdict.replacement is not None]
    control = next((verdict for verdict in verdicts if verdict.replacement is None), None)
    turned = sorted({each.replacement.step for each in tried if each.replacement is not None and each.right})
    sentences = [_sentence(turned, tried)]
    if control is not None and control.right:
        sentences.append(
            f"Rerun without a change, it is right in {control.right} of "
            f"{quantity(control.ended, 'run')} as well: the answer varies on its own."
        )
    elif turned and control is None:
        sentences.append("Each ran only once; repeats with a control separate cause from chance.")
    return " ".join(sentences)


def _sentence(turned: Sequence[int], tried: Sequence[StepVerdict]) -> str:
    if len(turned) == 1:
        return f"A different output of step {turned[0] + 1} makes the answer right."
    if turned:
        names = ", ".join(str(step + 1) for step in turned)
        return (
            f"A different output of any of the steps {names} makes the answer right. Look first at "
            f"step {turned[0] + 1}, the earliest."
        )
    if not any(verdict.ended for verdict in tried):
        return "No run finished, so there is no result."
    if any(verdict.pending or verdict.broken for verdict in tried):
        return "None of the outputs tried so far makes the answer right; not every run finished."
    return (
        "None of these outputs makes the answer right. Another step is wrong, several are, or the "
        "replacements are no better. Write the right output of a step to find out."
    )
