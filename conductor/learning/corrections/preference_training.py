"""A small Conductor learns from what people made of plans, in seconds: by likelihood, then by preference.

Plain DPO at these rates destroys the form of the plans, so it comes second and with a term of likelihood,
and both end where plans stop being valid. Imports torch. Source: Rafailov et al. 2023,
https://arxiv.org/abs/2305.18290.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch.nn.functional import logsigmoid
from transformers import LlamaForCausalLM

from conductor.learning.corrections.lessons import CorrectionSettings, Learnt, Lesson
from conductor.learning.small_llama.folder import confidence_in, write_folder
from conductor.learning.small_llama.torch_llama import (
    Texts,
    Vocabulary,
    log_probabilities,
    sample,
    weights_of,
)
from conductor.llama.checkpoint import TOKENIZER
from conductor.llama.numpy_llama import read_llama
from conductor.orchard import draw, orchard_pool
from conductor.planner.local.card import ConductorCard, read_card
from conductor.planner.local.local_prompt import plan_text, prompt_text
from conductor.planner.parsing.parse import parse
from conductor.workflow.model import Workflow

PATIENCE = 3
"""Epochs in a row with too few valid plans that end it; on the way to another form there may be fewer."""

GUARDED = 60
"""Questions of the orchard whose plans are to stay valid, for a Conductor that knows its workers."""


def learn_corrections(
    folder: Path,
    lessons: Sequence[Lesson],
    *,
    out: Path,
    settings: CorrectionSettings,
    listen: Callable[[str], None],
) -> Learnt:
    """Train the Conductor in `folder` on `lessons` and write it to `out`. `listen` gets a line an epoch.

    Raises `PoolError` or `FormatError` where the folder holds none, `ValueError` without a lesson.
    """
    if not lessons:
        raise ValueError("there is no lesson")
    start = time.monotonic()
    card = read_card(folder)
    read_llama(folder)
    model = LlamaForCausalLM.from_pretrained(folder)
    vocabulary = Vocabulary.of(Tokenizer.from_file(str(folder / TOKENIZER)), card.workers)
    training = _Training(model, vocabulary, card=card, lessons=lessons, settings=settings, listen=listen)
    before = training.measured()
    epochs, stopped = training.by_likelihood()
    preferred = 0
    if settings.dpo_epochs and not stopped and any(lesson.rejected for lesson in lessons):
        preferred, stopped = training.by_preference()
    after = training.measured()
    learnt = Learnt(
        lessons=len(lessons),
        epochs=epochs,
        dpo_epochs=preferred,
        stopped=stopped,
        valid=(before[0], after[0]),
        same=(before[1], after[1]),
        seconds=round(time.monotonic() - start, 1),
    )
    results = card.results | {"corrections": learnt.model_dump(mode="json")}
    taught = card.model_copy(
        update={
            "results": results,
            "settings": card.settings | {"corrections": settings.model_dump(mode="json")},
        }
    )
    config = model.config.to_dict() | {"model_type": "llama"}
    written = {"config": config, "tokenizer": vocabulary.tokenizer, "weights": weights_of(model)}
    write_folder(out, card=taught, **written)
    if card.least is not None:
        write_folder(
            out, card=taught.model_copy(update={"least": confidence_in(out, training.guarded)}), **written
        )
    return learnt


class _Training:
    """The model while it learns; what was the best state by the share of valid plans is kept."""

    def __init__(
        self,
        model: Any,
        vocabulary: Vocabulary,
        *,
        card: ConductorCard,
        lessons: Sequence[Lesson],
        settings: CorrectionSettings,
        listen: Callable[[str], None],
    ) -> None:
        self._model, self._vocabulary, self._card = model, vocabulary, card
        self._lessons, self._settings, self._listen = [*lessons], settings, listen
        self.guarded = [(lesson.query, lesson.workers) for lesson in lessons]
        if {*card.workers} == {*orchard_pool().names}:
            questions = draw(GUARDED, seed=settings.seed)
            self.guarded += [(question.text, card.workers) for question in questions]

    def measured(self) -> tuple[float, float]:
        """The shares of valid plans, and of lessons that are planned as corrected."""
        plans = self._plans()
        same = sum(plan == lesson.chosen for plan, lesson in zip(plans, self._lessons, strict=False))
        return sum(plan is not None for plan in plans) / len(plans), same / len(self._lessons)

    def _plans(self) -> list[Workflow | None]:
        prompts = [prompt_text(query, workers) for query, workers in self.guarded]
        pools = [workers for _, workers in self.guarded]
        texts = sample(
            self._model, self._vocabulary, prompts, pools, generator=None, most=self._card.max_tokens
        ).texts
        most = self._card.max_steps
        return [
            parse(text, workers=names, max_steps=most, form="names").workflow
            for text, names in zip(texts, pools, strict=True)
        ]

    def by_likelihood(self) -> tuple[int, bool]:
        """Learn the better plans. Returns the epochs that count, and whether it ended early."""

        def loss(lessons: Sequence[Lesson]) -> Any:
            return self._likelihood(lessons)[0]

        return self._epochs(self._lessons, loss, count=self._settings.epochs, lr=self._settings.lr)

    def by_preference(self) -> tuple[int, bool]:
        """Learn to prefer the better plans to those that they replace, with a term of likelihood."""
        before = copy.deepcopy(self._model).eval()
        pairs = [lesson for lesson in self._lessons if lesson.rejected is not None]

        def loss(lessons: Sequence[Lesson]) -> Any:
            likelihood, chosen = self._likelihood(lessons)
            rejected = self._rejected(self._model, lessons)
            with torch.no_grad():
                margin = self._likelihood(lessons, before)[1] - self._rejected(before, lessons)
            return likelihood - logsigmoid(self._settings.beta * (chosen - rejected - margin)).mean()

        return self._epochs(pairs, loss, count=self._settings.dpo_epochs, lr=self._settings.dpo_lr)

    def _likelihood(self, lessons: Sequence[Lesson], model: Any = None) -> tuple[Any, Any]:
        """The loss a token, and the logarithm of each better plan's probability."""
        texts = Texts.of(self._vocabulary, [(lesson.prompt, plan_text(lesson.chosen)) for lesson in lessons])
        likelihoods = log_probabilities(model or self._model, self._vocabulary, texts)
        weight = texts.completion + self._settings.prompt_weight * texts.prompt
        return -(likelihoods * weight).sum() / weight.sum(), (likelihoods * texts.completion).sum(-1)

    def _rejected(self, model: Any, lessons: Sequence[Lesson]) -> Any:
        rows = [(lesson.prompt, plan_text(lesson.rejected)) for lesson in lessons if lesson.rejected]
        texts = Texts.of(self._vocabulary, rows)
        return (log_probabilities(model, self._vocabulary, texts) * texts.completion).sum(-1)

    def _epochs(
        self, lessons: Sequence[Lesson], loss: Callable[[Sequence[Lesson]], Any], *, count: int, lr: float
    ) -> tuple[int, bool]:
        optimiser = torch.optim.AdamW(self._model.parameters(), lr=lr)
        rng = random.Random(self._settings.seed)  # noqa: S311 - a seed that can be repeated
        least = self.measured()[0] - self._settings.drop
        order = [*lessons]
        good, state = 0, copy.deepcopy(self._model.state_dict())
        for epoch in range(1, count + 1):
            rng.shuffle(order)
            self._model.train()
            for at in range(0, len(order), self._settings.batch):
                value = loss(order[at : at + self._settings.batch])
                optimiser.zero_grad()
                value.backward()
                torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
                optimiser.step()
            valid, same = self.measured()
            self._listen(f"epoch {epoch}: {valid:.0%} of plans valid, {same:.0%} planned as corrected")
            if valid >= least:
                good, state = epoch, copy.deepcopy(self._model.state_dict())
            elif epoch - good >= PATIENCE:
                break
        self._model.load_state_dict(state)
        return good, good < count
