"""MasRouter's groups of agents: a task, a mode, and for each agent a worker and a role, unrolled into steps.

Source: Yue et al., "MasRouter: Learning to Route LLMs for Multi-Agent Systems" (2025; yanweiyue/masrouter,
`MAR/Utils/utils.py` for who sees whom in a mode, `MAR/Graph/graph.py` for rounds and the final decision).
The three tasks and the six modes are its own; the roles are fewer, and all wording is ours. Pure.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from conductor.baselines.options import MODES, Mode, Options
from conductor.values.messages import Sampling
from conductor.workers.computed.select import tf_idf
from conductor.workflow.model import Step, Workflow

MOST_AGENTS = 6


@dataclass(frozen=True)
class TaskKind:
    """A kind of question: words that stand in such questions, and the roles that an agent may have."""

    words: str
    roles: Mapping[str, str]


TASKS: Mapping[str, TaskKind] = {
    "Commonsense": TaskKind(
        "who which where when why what is are was the of in country city capital person people animal plant "
        "history law health work money world word mean most likely because",
        {
            "Knowledge expert": "State the facts that bear on the question, then answer it.",
            "Scientist": "Answer by what is known of nature and by how it was found out.",
            "Historian": "Answer by what happened, where and when.",
            "Critic": "Look for what is wrong with the obvious answer, then give the answer that stands.",
        },
    ),
    "Math": TaskKind(
        "number sign number sign how many much sum product difference equation solve value of x y find prove "
        "integer prime triangle area angle circle probability percent ratio total each per cost speed",
        {
            "Mathematician": "Set the problem up in formulas, and solve it by them.",
            "Teacher": "Solve it in small steps, each with its reason.",
            "Engineer": "Compute the result, then estimate it in another way and compare.",
            "Inspector": "Solve it, then check each number and each step of the solution.",
        },
    ),
    "Code": TaskKind(
        "write a function program code python java class method returns list string input output def import "
        "algorithm implement test error bug loop array sort recursion sql script",
        {
            "Programmer": "Write the program.",
            "Algorithm designer": "Describe the algorithm and its edge cases, then write the program.",
            "Test analyst": "Name inputs that break a careless program, then write one that takes them.",
            "Bug fixer": "Write the program, go through it line by line, and correct it.",
        },
    ),
}

_OF_MODE: Mapping[Mode, str] = {
    "io": "Give the answer directly.",
    "cot": "Think step by step before you answer.",
    "chain": "Build on the work before yours, where there is any.",
    "full": "Use the work of the others before you, where there is any.",
    "debate": "Find an answer of your own, and argue for it where others differ.",
    "reflection": "Give the answer directly.",
}
_ARGUE = "Others have answered, too. Where they differ from you, argue or give way; then answer again."
_REFLECT = "Look for mistakes in your answer above. Then answer again, the same where nothing is wrong."
_DECIDE = "Decide from what the agents answered, and give the final answer to the question in full."


@dataclass(frozen=True)
class Agent:
    worker: str
    role: str


@dataclass(frozen=True)
class Chances:
    """How likely each number of agents (from 1), each worker and each of `MODES` is; a router that learnt
    nothing has all alike.
    """

    agents: Sequence[float]
    workers: Sequence[float]
    modes: Sequence[float] = (1.0,) * len(MODES)

    @classmethod
    def alike(cls, workers: int) -> Chances:
        return cls([1.0] * MOST_AGENTS, [1.0] * workers)


def task_of(query: str) -> str:
    """The task whose words are the most similar to the question's, by TF-IDF; of equals the first."""
    named = re.sub(r"[-+*/=^<>×÷√∫]", " sign ", re.sub(r"\d+(?:[.,]\d+)*", " number ", query))
    own, *tasks = tf_idf([named, *(task.words for task in TASKS.values())])
    likeness = [sum(value * other.get(word, 0.0) for word, value in own.items()) for other in tasks]
    return max(zip(likeness, TASKS, strict=True), key=lambda each: each[0])[1]


def draw_group(
    task: str, workers: Sequence[str], chances: Chances, draw: random.Random, *,
    mode: Mode | None, agents: int | None,
) -> tuple[Mode, tuple[Agent, ...]]:  # fmt: skip
    """A mode and a group for a question of this task; `mode` and `agents` are kept to where they are given.

    Workers are drawn one by one and stand in the pool's order, as in the reference; roles are all as likely.
    """
    count = agents or draw.choices(range(1, MOST_AGENTS + 1), chances.agents)[0]
    places = sorted(draw.choices(range(len(workers)), chances.workers, k=count))
    way: Mode = draw.choices(MODES, chances.modes)[0] if mode is None else mode
    roles = tuple(TASKS[task].roles)
    return way, tuple(Agent(workers[at], draw.choice(roles)) for at in places)


def planned(query: str, workers: Sequence[str], chances: Chances, options: Options) -> tuple[Workflow, str]:
    """The workflow of the group that is drawn for this question, the same one each time, and who is in it."""
    seed = sha256(f"{options.seed}\x1f{query}".encode()).digest()
    draw = random.Random(seed)  # noqa: S311 - a draw that can be repeated, not a secret
    task = task_of(query)
    mode, agents = draw_group(task, workers, chances, draw, mode=options.mode, agents=options.agents)
    group = ", ".join(f"{agent.worker} as {agent.role.lower()}" for agent in agents)
    return unrolled(task, mode, agents, options.sampling), f"{task}, {mode}: {group}."


def unrolled(task: str, mode: Mode, agents: Sequence[Agent], sampling: Sampling) -> Workflow:
    """The group's steps, and a decision by the worker that most agents have, which reads each agent's last.

    `chain`: each agent reads the one before; `full`: all before it; in the others they do not see each
    other. `debate` has a second round, in which each reads the first answers of all others, `reflection` one
    in which each reads its own. Calls: agents + 1, in these two modes 2 * agents + 1.
    """
    count = len(agents)
    steps = [_step(task, agent, _OF_MODE[mode], _seen(mode, at), sampling) for at, agent in enumerate(agents)]
    if mode == "debate":
        steps += [
            _step(task, agent, _ARGUE, [each for each in range(count) if each != at], sampling)
            for at, agent in enumerate(agents)
        ]
    if mode == "reflection":
        steps += [_step(task, agent, _REFLECT, [at], sampling) for at, agent in enumerate(agents)]
    ((worker, _),) = Counter(agent.worker for agent in agents).most_common(1)
    last = tuple(range(len(steps) - count, len(steps)))
    return Workflow.of([*steps, Step(instruction=_DECIDE, worker=worker, access=last, sampling=sampling)])


def mode_of(workflow: Workflow) -> Mode | None:
    """The mode that this workflow was unrolled in, whatever its steps sample with; None for any other."""
    shape = _shape(workflow)
    for mode in MODES:
        count, rest = divmod(len(workflow) - 1, 2 if mode in ("debate", "reflection") else 1)
        agents = [Agent(step.worker, step.instruction.partition(":")[0]) for step in workflow.steps[:count]]
        for name, task in TASKS.items():
            if rest or not agents or not all(agent.role in task.roles for agent in agents):
                continue
            if _shape(unrolled(name, mode, agents, Sampling())) == shape:
                return mode
    return None


def _shape(workflow: Workflow) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(step.instruction, step.worker, step.access) for step in workflow.steps]


def _seen(mode: Mode, at: int) -> Sequence[int]:
    """Which agents of the first round an agent reads."""
    if mode == "chain":
        return range(max(at - 1, 0), at)
    return range(at) if mode == "full" else ()


def _step(task: str, agent: Agent, words: str, access: Sequence[int], sampling: Sampling) -> Step:
    instruction = f"{agent.role}: {TASKS[task].roles[agent.role]} {words}"
    return Step(instruction=instruction, worker=agent.worker, access=tuple(access), sampling=sampling)
