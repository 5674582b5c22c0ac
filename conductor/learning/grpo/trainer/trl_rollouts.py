"""The functions that TRL's trainer calls: rewards of completions, rollouts of two rounds, and evaluations.

Knows the trainer's protocol; imports no library that trains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from conductor.errors import WorkerError
from conductor.evaluation.items import Item
from conductor.learning.grpo.alarm import METRICS, ONE_STEP_SHARE
from conductor.learning.grpo.draws import Draw, prompt_of
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.rollouts import (
    Rollout,
    evaluated,
    gauges,
    live_share,
    one_step_share,
    rolled_out,
    worth,
    worth_of_first,
)
from conductor.learning.reward import WorkflowJudge
from conductor.planner.conductor import PlanRequest

Chat = list[dict[str, str]]
LogMetric = Callable[[str, float], None]
Gather = Callable[[list[Any]], list[Any]]
"""Returns the lists of all processes one after the other, on each of them."""

_CUT = "(The beginning is left out.)\n"


class TrlRollouts:
    """What TRL calls: the reward of completions, for two rounds the rollout itself, and evaluations.

    Where rollouts fail in one process, all raise: the others would wait for it until NCCL's time is up.
    """

    def __init__(
        self,
        recipe: GrpoRecipe,
        in_order: Sequence[Draw],
        judge: WorkflowJudge,
        tokenizer: Any,
        *,
        held_out: Sequence[Draw] = (),
        gather: Gather = list,
    ) -> None:
        self._recipe, self._in_order, self._judge, self._tokenizer = recipe, in_order, judge, tokenizer
        self._held_out, self._gather = held_out, gather
        self._by_prompt = {
            completion_prompt(tokenizer, chat_of(each.request(recipe), recipe)): each for each in in_order
        }
        # The judge's connections belong to one loop.
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Close the connections that rollouts made."""
        self._runner.close()

    def workflow_reward(
        self,
        completions: Sequence[str],
        draw: Sequence[int],
        log_metric: LogMetric,
        rollout: Sequence[Rollout] | None = None,
        value: Sequence[float | None] | None = None,
        **_: object,
    ) -> list[float | None]:
        """The reward of each completion; None, from which nothing is learnt, where it is unknown."""
        recipe, judge = self._recipe, self._judge
        if rollout is None:
            requests = [(self._in_order[at].item, self._in_order[at].request(recipe)) for at in draw]
            calls, steps = judge.calls, judge.steps
            rollout = self._judged(requests, completions)
            self._log_calls(log_metric, calls, steps)
        rewards = value if value is not None else [worth(recipe, each) for each in rollout]
        live = live_share(rewards, group=recipe.rollouts)
        for name, gauge in gauges(recipe, rollout).row.items():
            if gauge is not None and name not in ("reward", "live"):
                log_metric(METRICS.get(name, name), gauge)
        log_metric("live", live)
        log_metric("failed", sum(each.outcome.failed for each in rollout) / len(rollout))
        log_metric(ONE_STEP_SHARE, one_step_share(rollout))
        return list(rewards)

    def two_rounds(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Half of each question's completions as first rounds, then a second round after each of them."""
        recipe = self._recipe
        half = recipe.rollouts // 2
        first_prompts = [
            prompts[group + at] for group in range(0, len(prompts), recipe.rollouts) for at in range(half)
        ]
        requests = [
            (draw.item, draw.request(recipe)) for draw in (self._by_prompt[each] for each in first_prompts)
        ]
        calls, steps = self._judge.calls, self._judge.steps
        ids, first_ids, first_logprobs, firsts = self._round(trainer, requests, half)
        requests = [(each.item, self._shortened(each.next_request)) for each in firsts]
        next_ids, second_ids, second_logprobs, seconds = self._round(trainer, requests, 1, before=firsts)
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

    def evaluate(self, trainer: Any) -> dict[str, float]:
        """What the held-out questions come to now: a completion each, of the last round where there are two.

        Each process answers its share; all return the same.
        """
        place = trainer.accelerator
        mine = self._held_out[place.process_index :: place.num_processes]
        requests = [(draw.item, draw.request(self._recipe)) for draw in mine]
        calls = self._judge.calls
        *_, rollouts = self._round(trainer, requests, 1)
        if self._recipe.rounds == 2:
            requests = [(each.item, self._shortened(each.next_request)) for each in rollouts]
            *_, rollouts = self._round(trainer, requests, 1, before=rollouts)
        measures = evaluated(self._gather(rollouts), self._recipe)
        counts: list[int] = self._gather([self._judge.calls - calls])
        return {f"eval_{name}": value for name, value in (measures | {"calls": float(sum(counts))}).items()}

    def _round(
        self,
        trainer: Any,
        requests: Sequence[tuple[Item, PlanRequest]],
        each: int,
        before: Sequence[Rollout] = (),
    ) -> tuple[list[list[int]], list[list[int]], Any, list[Rollout]]:
        """Completions for the requests (`each` in a row are equal), and what they came to."""
        ids = [self._prompt_ids(request) for _, request in requests]
        completion_ids, logprobs = trainer._generate_single_turn(ids, None, {}, each)
        texts = self._tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
        return ids, completion_ids, logprobs, self._judged(requests, texts, before)

    def _judged(
        self,
        requests: Sequence[tuple[Item, PlanRequest]],
        texts: Sequence[str],
        before: Sequence[Rollout] = (),
    ) -> list[Rollout]:
        failure: Exception | None = None
        rollouts: list[Rollout] = []
        try:
            rollouts = self._runner.run(rolled_out(self._recipe, self._judge, requests, texts, before))
        except Exception as error:  # noqa: BLE001 - raised below, once the other processes know of it
            failure = error
        reasons = self._gather([None if failure is None else str(failure) or repr(failure)])
        if failure is not None:
            raise failure
        if other := next((reason for reason in reasons if reason is not None), None):
            raise WorkerError(f"Another process of this training ended: {other}")
        return rollouts

    def _prompt_ids(self, request: PlanRequest) -> list[int]:
        text = completion_prompt(self._tokenizer, chat_of(request, self._recipe))
        ids: list[int] = self._tokenizer(text=text)["input_ids"]
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
        new = self._judge.calls - calls
        log_metric("calls", new)
        log_metric("calls_saved", self._judge.steps - steps - new)


def chat_of(request: PlanRequest, recipe: GrpoRecipe) -> Chat:
    """The messages that a completion is sampled for, as a tokenizer takes them."""
    return [{"role": each.role, "content": each.content} for each in prompt_of(request, recipe)]


def completion_prompt(tokenizer: Any, chat: Chat) -> str:
    """What a completion goes on from: an answer that is begun, or the beginning of one.

    Text, as TRL's trainer closes the last message of a chat.
    """
    continues = chat[-1]["role"] == "assistant"
    text: str = tokenizer.apply_chat_template(
        chat, tokenize=False, add_generation_prompt=not continues, continue_final_message=continues
    )
    # Tokenizers that write a first token of their own would write it twice.
    twice = tokenizer.bos_token if tokenizer("")["input_ids"] else None
    return text.removeprefix(twice or "")
