"""The workflows of methods with a fixed shape: one worker, reflection, votes, Smoothie, Mixture-of-Agents.

Pure. All proposers have one instruction and one request style, in which their request is the question
verbatim: so a proposer's fingerprint is the same in all of these workflows, and its call is paid once.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.baselines.options import OURS
from conductor.values.messages import Sampling
from conductor.workers.computed.select import SELECT, SELECT_BY_EMBEDDINGS
from conductor.workflow.model import Step, Workflow

PROPOSE = "Answer the question."
"""The instruction of every proposer; its worker is sent the question alone."""

VOTE = "Return the response with the answer that most responses give."
AGREE = "Return the response that the others agree with most."


def single(worker: str, sampling: Sampling) -> Workflow:
    """One step: the question verbatim."""
    return Workflow.of([_proposer(worker, sampling)])


def reflection(worker: str, sampling: Sampling, *, turns: int, review: str) -> Workflow:
    """A chain on one worker, `turns` calls long; each reads the answer before it and is sent `review`.

    Source: the Conductor's paper, which compares with 5 turns of self-reflection.
    """
    steps = [_proposer(worker, sampling)]
    steps += [
        Step(instruction=review, worker=worker, access=(before,), sampling=sampling)
        for before in range(turns - 1)
    ]
    return Workflow.of(steps)


def vote(workers: Sequence[str], sampling: Sampling) -> Workflow:
    """A proposal of each worker, and a vote."""
    return _gathered([_proposer(worker, sampling) for worker in workers], VOTE, "vote")


def self_consistency(worker: str, sampling: Sampling, *, samples: int) -> Workflow:
    """`samples` answers of one worker, and a vote. Source: Wang et al., arXiv 2203.11171.

    The number in an instruction, which its worker is not sent, sets a sample apart from the others.
    """
    proposers = [_proposer(worker, sampling)]
    proposers += [
        _proposer(worker, sampling, instruction=f"{PROPOSE} (sample {number})")
        for number in range(2, samples + 1)
    ]
    return _gathered(proposers, VOTE, "vote")


def smoothie(workers: Sequence[str], sampling: Sampling, *, embeddings: bool) -> Workflow:
    """A proposal of each worker, and the one that the others agree with most, by TF-IDF or embeddings."""
    selecting = SELECT_BY_EMBEDDINGS if embeddings else SELECT
    return _gathered([_proposer(worker, sampling) for worker in workers], AGREE, selecting)


def mixture_of_agents(
    proposers: Sequence[str],
    aggregator: str,
    sampling: Sampling,
    *,
    layers: int,
    aggregate: str = OURS["moa"]["aggregate"],
) -> Workflow:
    """`layers` - 1 layers of all proposers, which read the whole layer before, and the aggregator;
    who reads is sent `aggregate`.

    Calls: (layers - 1) * proposers + 1. Source: togethercomputer/MoA, `advanced-moa.py` (3 layers).
    """
    steps = [_proposer(worker, sampling) for worker in proposers]
    for _ in range(layers - 2):
        steps += [_reader(worker, aggregate, steps, len(proposers), sampling) for worker in proposers]
    return Workflow.of([*steps, _reader(aggregator, aggregate, steps, len(proposers), Sampling())])


def _proposer(worker: str, sampling: Sampling, *, instruction: str = PROPOSE) -> Step:
    return Step(instruction=instruction, worker=worker, sampling=sampling, prompt_style="moa")


def _reader(worker: str, words: str, before: Sequence[Step], width: int, sampling: Sampling) -> Step:
    """A step that reads the last layer, `width` steps wide, of those `before`."""
    layer = tuple(range(len(before) - width, len(before)))
    return Step(instruction=words, worker=worker, access=layer, sampling=sampling, prompt_style="moa")


def _gathered(proposers: Sequence[Step], instruction: str, worker: str) -> Workflow:
    everything = tuple(range(len(proposers)))
    return Workflow.of([*proposers, Step(instruction=instruction, worker=worker, access=everything)])
