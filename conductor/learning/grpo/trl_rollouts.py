"""What TRL's trainer calls: the reward of its completions, and for two rounds the rollout itself.

Knows the trainer's protocol; imports no library that trains.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from conductor.evaluation.items import Item
from conductor.learning.grpo.alarm import METRICS, ONE_STEP_SHARE
from conductor.learning.grpo.draws import Draw, prompt_of
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.rollouts import (
    Rollout,
    gauges,
    one_step_share,
    rolled_out,
    worth,
    worth_of_first,
)
from conductor.learning.reward import WorkflowJudge
from conductor.planner.protocol import PlanRequest

Chat = list[dict[str, str]]
LogMetric = Callable[[str, float], None]

_CUT = "(The beginning is left out.)\n"


class TrlRollouts:
    """What TRL calls: the reward of completions, and, for two rounds, the rollout itself."""

    def __init__(
        self, recipe: GrpoRecipe, drawn: Sequence[Draw], judge: WorkflowJudge, tokenizer: Any
    ) -> None:
        self._recipe, self._drawn, self._judge, self._tokenizer = recipe, drawn, judge, tokenizer
        self._by_prompt = {_key(chat_of(each.request(recipe), recipe)): each for each in drawn}

    async def workflow_reward(
        self,
        completions: Sequence[Chat],
        draw: Sequence[int],
        log_metric: LogMetric,
        rollout: Sequence[Rollout] | None = None,
        value: Sequence[float | None] | None = None,
        **_: object,
    ) -> list[float | None]:
        """The reward of each completion; None, from which nothing is learnt, where a worker failed."""
        recipe, judge = self._recipe, self._judge
        if rollout is None:
            asked = [(self._drawn[at].item, self._drawn[at].request(recipe)) for at in draw]
            calls, steps = judge.calls, judge.steps
            rollout = await rolled_out(recipe, judge, asked, [chat[-1]["content"] for chat in completions])
            self._log_calls(log_metric, calls, steps)
        rewards = value if value is not None else [worth(recipe, each) for each in rollout]
        for name, gauge in gauges(recipe, rollout).row.items():
            if gauge is not None and name != "reward":
                log_metric(METRICS.get(name, name), gauge)
        log_metric("failed", sum(each.outcome.verdict == "failed" for each in rollout) / len(rollout))
        log_metric(ONE_STEP_SHARE, one_step_share(rollout))
        return list(rewards)

    def two_rounds(self, prompts: Sequence[Chat], trainer: Any) -> dict[str, Any]:
        """Half of each question's completions as first rounds, then a second round after each of them."""
        recipe = self._recipe
        half = recipe.rollouts // 2
        first_prompts = [
            prompts[group + at] for group in range(0, len(prompts), recipe.rollouts) for at in range(half)
        ]
        asked = [
            (draw.item, draw.request(recipe))
            for draw in (self._by_prompt[_key(each)] for each in first_prompts)
        ]
        calls, steps = self._judge.calls, self._judge.steps
        ids, first_ids, first_logprobs, firsts = self._round(trainer, asked, half)
        asked = [(each.item, self._shortened(each.next_request)) for each in firsts]
        next_ids, second_ids, second_logprobs, seconds = self._round(trainer, asked, 1, before=firsts)
        self._log_calls(trainer._log_metric, calls, steps)
        values = [
            *(worth_of_first(recipe, *both) for both in zip(firsts, seconds, strict=True)),
            *(worth(recipe, each) for each in seconds),
        ]
        # A group is its first rounds, then its second ones.
        order = [
            at + offset
            for group in range(0, len(firsts), half)
            for offset in (0, len(firsts))
            for at in range(group, group + half)
        ]
        logprobs = None if first_logprobs is None else [*first_logprobs, *second_logprobs]
        columns: dict[str, list[Any]] = {
            "prompt_ids": [*ids, *next_ids],
            "completion_ids": [*first_ids, *second_ids],
            "rollout": [*firsts, *seconds],
            "value": values,
        }
        ordered: dict[str, Any] = {name: [column[at] for at in order] for name, column in columns.items()}
        return ordered | {"logprobs": None if logprobs is None else [logprobs[at] for at in order]}

    def _round(
        self,
        trainer: Any,
        asked: Sequence[tuple[Item, PlanRequest]],
        each: int,
        before: Sequence[Rollout] = (),
    ) -> tuple[list[list[int]], list[list[int]], Any, list[Rollout]]:
        """Completions for the requests, of which `each` in a row are equal, and what they came to."""
        ids = [self._prompt_ids(request) for _, request in asked]
        completion_ids, logprobs = trainer._generate_single_turn(ids, None, {}, each)
        texts = self._tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
        judged = rolled_out(self._recipe, self._judge, asked, texts, before)
        rollouts = asyncio.run_coroutine_threadsafe(judged, trainer.async_loop).result()
        return ids, completion_ids, logprobs, rollouts

    def _prompt_ids(self, request: PlanRequest) -> list[int]:
        chat = chat_of(request, self._recipe)
        found = self._tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)
        ids: list[int] = found["input_ids"]
        return ids

    def _shortened(self, request: PlanRequest) -> PlanRequest:
        """The request with as much of each response as fits, from its end, where answers are."""
        length = max((len(seen.response) for seen in request.responses), default=0)
        room = self._recipe.prompt_tokens + self._recipe.completion_tokens
        while len(self._prompt_ids(request)) > room and length > 1:
            length //= 2
            cut = tuple(
                replace(seen, response=_CUT + seen.response[-length:])
                if len(seen.response) > length
                else seen
                for seen in request.responses
            )
            request = request.model_copy(update={"responses": cut})
        return request

    def _log_calls(self, log_metric: LogMetric, calls: int, steps: int) -> None:
        """What was called since there were so many `calls` and answered `steps`."""
        made = self._judge.calls - calls
        log_metric("calls", made)
        log_metric("calls_saved", self._judge.steps - steps - made)


def chat_of(request: PlanRequest, recipe: GrpoRecipe) -> Chat:
    """The messages that a completion is sampled for, as TRL takes them."""
    return [{"role": each.role, "content": each.content} for each in prompt_of(request, recipe)]


def _key(chat: Chat) -> str:
    return json.dumps(chat)
