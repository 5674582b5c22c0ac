"""MasRouter's router: how many agents a question gets and which workers they have, learnt by REINFORCE.

Source: Yue et al., "MasRouter" (2025; yanweiyue/masrouter, `MAR/MasRouter/mas_router.py` and
`Experiments/run_math.py`): the utility of a group is whether its answer is right, less its cost times a rate,
and what was drawn is made as much more likely as its utility is above the others'. What is ours: the heads
are linear in a fixed encoder's vectors; how many agents and which is judged by what workers answered alone;
modes, which no answer of one worker shows, are learnt from groups that were drawn and run, weighted by how
likely they have become since; roles are not learnt. Pure.
"""

from __future__ import annotations

import numpy as np

from conductor.baselines.collaboration import MOST_AGENTS, Chances
from conductor.baselines.learning.vectors import AdamW, Indexes, Matrix, batches, softmax, stated
from conductor.baselines.options import MODES
from conductor.values.messages import Value

STEPS = 600
BATCH = 64
LEARNING_RATE = 0.01
"""The reference's."""


class MasRouterParameters(Value):
    """A row of `agents` for each number of them, from 1, one of `workers` for each worker, and one of `modes`
    for each of `MODES`, or no row if these were not learnt: a weight for each place of a question's vector,
    and one for all questions.
    """

    agents: tuple[tuple[float, ...], ...]
    workers: tuple[tuple[float, ...], ...]
    modes: tuple[tuple[float, ...], ...] = ()


def chances(parameters: MasRouterParameters, question: Matrix) -> Chances:
    """For a question's vector, one row."""
    own = _with_one(question)
    heads = (parameters.agents, parameters.workers, parameters.modes)
    shares = [[float(each) for each in softmax(own @ np.array(head).T)[0]] for head in heads if head]
    return Chances(*shares)


def fit(questions: Matrix, right: Matrix, costs: Matrix, *, rate: float, seed: int) -> MasRouterParameters:
    """The parameters after `STEPS` batches; `right` and `costs` are questions x workers."""
    draw = np.random.default_rng(seed)
    own = _with_one(questions)
    agents = np.zeros((MOST_AGENTS, own.shape[1]))
    workers = np.zeros((right.shape[1], own.shape[1]))
    optimizer = AdamW(agents, workers, rate=LEARNING_RATE)
    for batch in batches(len(own), STEPS, BATCH, draw):
        of_agents, of_workers = softmax(own[batch] @ agents.T), softmax(own[batch] @ workers.T)
        number = _sampled(of_agents, 1, draw)[:, 0] + 1
        counts = np.zeros_like(of_workers)
        for agent, worker in enumerate(_sampled(of_workers, MOST_AGENTS, draw).T):
            counts[np.arange(len(batch)), worker] += agent < number
        utility = utilities(counts, right[batch], costs[batch], rate=rate)
        above = (utility - utility.mean())[:, None] / len(batch)
        toward_agents = (np.eye(MOST_AGENTS)[number - 1] - of_agents) * above
        toward_workers = (counts - number[:, None] * of_workers) * above
        optimizer.step([-toward_agents.T @ own[batch], -toward_workers.T @ own[batch]])
    return MasRouterParameters(agents=stated(agents), workers=stated(workers))


def fit_modes(
    questions: Matrix, modes: Indexes, utility: Matrix, *, seed: int
) -> tuple[tuple[float, ...], ...]:
    """The head of modes from groups whose modes were drawn with equal chances: by REINFORCE, each weighted by
    how many times as likely its mode has become.
    """
    draw = np.random.default_rng(seed)
    own = _with_one(questions)
    head = np.zeros((len(MODES), own.shape[1]))
    optimizer = AdamW(head, rate=LEARNING_RATE)
    for batch in batches(len(own), STEPS, BATCH, draw):
        likely = softmax(own[batch] @ head.T)
        weight = likely[np.arange(len(batch)), modes[batch]] * len(MODES)
        above = (utility[batch] - np.average(utility[batch], weights=weight)) * weight / len(batch)
        toward = (np.eye(len(MODES))[modes[batch]] - likely) * above[:, None]
        optimizer.step([-toward.T @ own[batch]])
    return stated(head)


def utilities(counts: Matrix, right: Matrix, costs: Matrix, *, rate: float) -> Matrix:
    """Of groups with so many agents on each worker: 1 where most of their workers are right alone, a half
    where half of them are, less the rate times the cost of all agents and of the deciding worker's call.
    """
    share = (counts * right).sum(axis=1) / counts.sum(axis=1)
    decides = np.eye(counts.shape[1])[np.argmax(counts, axis=1)]
    spent = ((counts + decides) * costs).sum(axis=1)
    worth: Matrix = (np.sign(share - 0.5) + 1) / 2 - rate * spent
    return worth


def _sampled(chances: Matrix, times: int, draw: np.random.Generator) -> Matrix:
    """Columns drawn for each row, `times` times."""
    above = np.cumsum(chances, axis=1)[:, None, :] > draw.random((len(chances), times))[:, :, None]
    columns: Matrix = np.where(above.any(axis=2), above.argmax(axis=2), chances.shape[1] - 1)
    return columns


def _with_one(rows: Matrix) -> Matrix:
    return np.column_stack([rows, np.ones(len(rows))])
