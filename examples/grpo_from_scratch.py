"""GRPO from scratch: a small Conductor learns to orchestrate, in one file that reads from top to bottom.

    PYTHONPATH=. python examples/grpo_from_scratch.py       # needs torch; some minutes of one core

A policy of 0.1 million parameters reads a question and writes a plan: up to three steps, each with a worker,
an instruction, and the earlier steps that it sees. It first copies a poor teacher, which leaves two of three
questions whole for one worker; so its likeliest plans are mostly wrong. Then GRPO samples plans, runs them on
workers that really compute, and makes those likelier that came to better answers than others for the same
question. The world (questions, workers, engine, scorer) is the library's; the policy, the sampling and the
update are all here.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import zlib
from collections.abc import Callable, Sequence
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from conductor.evaluation.items import Item
from conductor.learning.reward import Judge, Outcome, Reward
from conductor.orchard import INSTRUCTIONS, Question, draw, orchard_pool, teacher_plan
from conductor.workflow.model import Step, Workflow

# ---- 1. The language of plans --------------------------------------------------------------------
#
# A plan is a row of tokens: worker, instruction, access for each step, and END behind the last one. An access
# token names the earlier steps that are seen: none, the first, the second, or both.

POOL = orchard_pool()
ACCESS: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))
MOST_STEPS = 3
PAD, ASK, END = 0, 1, 2  # what fills a row; what stands between question and plan; what ends a plan
WORKERS = 3
ORDERS = WORKERS + len(POOL.names)
SEEN = ORDERS + len(INSTRUCTIONS)
WORDS = SEEN + len(ACCESS)
BUCKETS = 509  # words of questions by their hash: nothing needs a list of all words
VOCABULARY = WORDS + BUCKETS
LONGEST_PLAN = 3 * MOST_STEPS + 1


def question_tokens(text: str) -> list[int]:
    """The words of a question; all numbers are one word, since plans never repeat a number."""
    words = re.findall(r"\d+|[a-z]+|[^\sa-z\d]", text.lower())
    return [WORDS + zlib.crc32(b"#" if word.isdigit() else word.encode()) % BUCKETS for word in words]


def plan_tokens(plan: Workflow) -> list[int]:
    """A teacher's plan in tokens, its first three steps."""
    return [*chain.from_iterable(map(step_tokens, plan.steps[:MOST_STEPS])), END]


def step_tokens(step: Step) -> tuple[int, int, int]:
    worker, order = POOL.names.index(step.worker), INSTRUCTIONS.index(step.instruction)
    return WORKERS + worker, ORDERS + order, SEEN + ACCESS.index(step.access)


def read_plan(tokens: Sequence[int]) -> Workflow | None:
    """The plan that tokens stand for, None for no valid plan: the form has to be learnt like all else."""
    if END not in tokens:
        return None
    body = tokens[: tokens.index(END)]
    if not body or len(body) % 3:
        return None
    steps = []
    for at in range(len(body) // 3):
        worker, order, seen = body[3 * at : 3 * at + 3]
        if not (WORKERS <= worker < ORDERS <= order < SEEN <= seen < WORDS):
            return None
        name, instruction = POOL.names[worker - WORKERS], INSTRUCTIONS[order - ORDERS]
        access = ACCESS[seen - SEEN]
        if any(step >= at for step in access):
            return None
        steps.append(Step(instruction=instruction, worker=name, access=access))
    return Workflow.of(steps)


# ---- 2. The policy -------------------------------------------------------------------------------


class Policy(nn.Module):
    """A transformer that gives the logits of the token behind each token; causal, so it can write."""

    def __init__(self, width: int = 64, layers: int = 2, longest: int = 96) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, WORDS)  # it writes plans, no questions

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of shape (rows, tokens, WORDS) for ids of shape (rows, tokens)."""
        length = ids.shape[1]
        places = torch.arange(length)
        future = torch.full((length, length), -torch.inf).triu(1)
        filled = torch.zeros(ids.shape).masked_fill(ids == PAD, -1e9)  # finite: a row may begin with PAD
        hidden = self.blocks(self.words(ids) + self.places(places), mask=future, src_key_padding_mask=filled)
        return self.out(hidden)


def prompts_of(questions: Sequence[Question]) -> Tensor:
    """Questions as ids, filled on the left, so that all plans begin in the same column."""
    rows = [[*question_tokens(question.text), ASK] for question in questions]
    width = max(map(len, rows))
    return torch.tensor([[PAD] * (width - len(row)) + row for row in rows])


@torch.no_grad()
def write(policy: Policy, prompts: Tensor, *, greedy: bool) -> Tensor:
    """A plan for each prompt, token by token: the likeliest tokens, or tokens drawn at temperature 1."""
    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(LONGEST_PLAN):
        logits = policy(ids)[:, -1]
        token = logits.argmax(-1) if greedy else torch.multinomial(logits.softmax(-1), 1)[:, 0]
        token = token.masked_fill(ended, PAD)
        ids = torch.cat([ids, token[:, None]], 1)
        ended |= token == END
        if ended.all():
            break
    return ids[:, prompts.shape[1] :]


def log_probabilities(policy: Policy, prompts: Tensor, plans: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm of the probability of each token of the plans, and which tokens count: (rows, tokens)."""
    logits = policy(torch.cat([prompts, plans], 1))[:, prompts.shape[1] - 1 : -1]
    return -cross_entropy(logits.transpose(1, 2), plans, reduction="none"), (plans != PAD).float()


# ---- 3. The warm start: copy a poor teacher --------------------------------------------------------


def warm_start(policy: Policy, steps: int, rng: random.Random, *, batch: int = 32, shy: float = 0.67) -> None:
    """Learn the teacher's plans by likelihood, so that sampling finds some plans that are worth a reward."""
    optimiser = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    for _ in range(steps):
        questions = draw(batch, seed=rng.getrandbits(48))
        rows = [plan_tokens(teacher_plan(question.oracle, rng, shy)) for question in questions]
        plans = torch.tensor([row + [PAD] * (LONGEST_PLAN - len(row)) for row in rows])
        likelihoods, counts = log_probabilities(policy, prompts_of(questions), plans)
        take_step(policy, optimiser, -(likelihoods * counts).sum() / counts.sum())


def take_step(policy: Policy, optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimiser.step()


# ---- 4. The reward: run the plan, compare the answer -----------------------------------------------


async def judged(judge: Judge, questions: Sequence[Question], plans: Tensor) -> list[Outcome]:
    """What each plan comes to, run on the workers for the question of its row."""
    workflows = [read_plan(row) for row in plans.tolist()]
    valid = [at for at, plan in enumerate(workflows) if plan is not None]
    items = [Item(id=f"{at}", input=questions[at].text, target=questions[at].answer) for at in valid]
    ran = await judge.run([plan for plan in workflows if plan is not None], items)
    outcomes = [Outcome("no plan")] * len(workflows)
    for at, outcome in zip(valid, ran, strict=True):
        outcomes[at] = outcome
    return outcomes


# ---- 5. GRPO: better than the others of its group --------------------------------------------------


async def grpo(
    policy: Policy,
    steps: int,
    rng: random.Random,
    say: Callable[[str], None],
    *,
    count: int = 12,
    group: int = 16,
) -> None:
    """Sample `group` plans for each of `count` questions, reward them, and learn from the differences."""
    optimiser = torch.optim.AdamW(policy.parameters(), lr=3e-4, weight_decay=0.0)
    judge, reward = Judge(POOL), Reward()  # 0 for no valid plan, 0.5 for a wrong answer, 1 for the right one
    for step in range(1, steps + 1):
        questions = draw(count, seed=rng.getrandbits(48))
        prompts = prompts_of(questions).repeat_interleave(group, 0)
        plans = write(policy, prompts, greedy=False)
        outcomes = await judged(judge, [question for question in questions for _ in range(group)], plans)
        # The advantage of a plan: its reward against its group's mean, in units of the group's deviation.
        rewards = torch.tensor([reward.of(outcome) for outcome in outcomes]).view(count, group)
        advantage = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        # One update a batch, so plans are of the policy that learns and no ratio is clipped; no penalty.
        likelihoods, counts = log_probabilities(policy, prompts, plans)
        take_step(policy, optimiser, -(likelihoods * counts * advantage.view(-1, 1)).sum() / counts.sum())
        if step % 20 == 0 or step == steps:
            right = sum(outcome.right for outcome in outcomes) / len(outcomes)
            live = (rewards.std(1) > 0).float().mean()
            say(f"step {step}: {right:.0%} of sampled plans right, {live:.0%} of the groups teach something")


# ---- 6. Before and after, on questions that were never learnt from ---------------------------------


async def measured(policy: Policy, count: int) -> str:
    questions = draw(count, seed=7, split="test")
    outcomes = await judged(Judge(POOL), questions, write(policy, prompts_of(questions), greedy=True))
    valid = [outcome.steps for outcome in outcomes if outcome.valid]
    right = sum(outcome.right for outcome in outcomes) / count
    return f"{right:.3f} of the likeliest plans right, {sum(valid) / max(1, len(valid)):.2f} steps"


async def main() -> None:
    options = argparse.ArgumentParser(description="Train a small Conductor by GRPO.")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--warm-steps", type=int, default=200)
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--questions", type=int, default=300, help="of the measurement")
    chosen = options.parse_args()
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(1)
    rng = random.Random(chosen.seed)  # noqa: S311 - a seed that can be repeated
    policy = Policy()
    warm_start(policy, chosen.warm_steps, rng)
    print("before GRPO:", await measured(policy, chosen.questions), flush=True)
    await grpo(policy, chosen.steps, rng, lambda line: print(line, flush=True))
    print("after it:   ", await measured(policy, chosen.questions))


if __name__ == "__main__":
    asyncio.run(main())
