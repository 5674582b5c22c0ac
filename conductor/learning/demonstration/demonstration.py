"""The demonstration: a Conductor trained from nothing on the orchard, and held against what it has to beat.

Warm start, GRPO and table, in a folder from which a killed run goes on where it was. Imports torch;
`conductor learn` names what is missing where that cannot be imported.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer

from conductor.learning.demonstration.contenders import Results, contender_rows, contenders, reachable
from conductor.learning.demonstration.exam import (
    PLANS,
    Exam,
    ExamPlan,
    Result,
    pairs_before,
    pairs_exam,
    planned_of,
    read_pairs,
)
from conductor.learning.demonstration.grpo import Grpo
from conductor.learning.demonstration.run_folder import Metrics, RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.demonstration.warm_start import WarmStart
from conductor.learning.gauges import CollapseWatch, Gauges, Stopped
from conductor.learning.reward import Judge
from conductor.learning.small_llama.folder import confidence_in, llama_config, make_tokenizer, write_folder
from conductor.learning.small_llama.torch_llama import (
    Vocabulary,
    new_model,
    sample,
    weights_of,
)
from conductor.orchard import INSTRUCTIONS, draw, orchard_pool
from conductor.planner.local.card import ConductorCard, Confidence
from conductor.planner.local.local_prompt import plan_text, prompt_text

WARM, TRAINED = "warm-start", "conductor"
"""The folders of the Conductor after its warm start, and of the trained one."""

TEXTS = 4_000
"""Questions with their plans from which the tokenizer is made."""

BATCH = 150
"""Prompts that are planned at a time: a bound on memory."""

TEMPERATURES = (0.7, 0.5, 0.35, 0.25)
"""At which the start is sampled as a control: what a lower temperature alone would have won."""

REPORTED = 10
"""Steps of the warm start between two lines of metrics."""

# Seeds of draws that no training has; questions of the splits differ in any case. What is looked at while a
# run goes on, and chosen by, is of the validation split; the exam is of the test split.
_TOKENIZER_SEED, _FIXED_SEED, _EXAM_SEED, _SAMPLING_SEED = 1, 2, 7, 4


class Demonstration:
    """A run in its folder, on so many `threads`. `listen` is called with each line of metrics."""

    def __init__(
        self,
        folder: RunFolder,
        settings: DemoSettings,
        *,
        listen: Callable[[Metrics], None],
        threads: int = 1,
    ) -> None:
        torch.set_num_threads(threads)
        self._folder, self._settings, self._listen = folder, settings, listen
        self._pool = orchard_pool()
        self._names = self._pool.names
        self._judge = Judge(self._pool, fresh=settings.fresh)
        self._before: dict[str, Any] = {}
        self._seconds = 0.0
        self._since = time.monotonic()
        saved = folder.load()
        state = None if saved is None else torch.load(io.BytesIO(saved), weights_only=True)
        tokenizer = self._tokenizer() if state is None else Tokenizer.from_str(state["tokenizer"])
        self._vocabulary = Vocabulary.of(tokenizer, self._names)
        self._config = llama_config(tokenizer, hidden=settings.hidden, layers=settings.layers)
        self._model = new_model(self._config, seed=settings.seed)
        self._warm = WarmStart(self._model, self._vocabulary, settings, self._names)
        self._grpo = Grpo(self._model, self._vocabulary, settings, self._names, self._judge)
        self._fixed = Exam.of(settings.evaluation, self._names, seed=_FIXED_SEED, split="validation")
        if state is not None:
            self._restore(state)

    def _tokenizer(self) -> Tokenizer:
        texts = [
            prompt_text(question.text, self._names) + plan_text(question.oracle)
            for question in draw(TEXTS, seed=_TOKENIZER_SEED)
        ]
        return make_tokenizer([*texts, *INSTRUCTIONS * 20], self._names, size=self._settings.vocabulary)

    # -- what a killed run goes on from ------------------------------------------------------------

    def _save(self) -> None:
        now = time.monotonic()
        self._seconds += now - self._since
        self._since = now
        file = io.BytesIO()
        torch.save(
            {
                "tokenizer": self._vocabulary.tokenizer.to_str(),
                "model": self._model.state_dict(),
                "warm": self._warm.state(),
                "grpo": self._grpo.state(),
                "before": self._before,
                "seconds": self._seconds,
                "calls": (self._judge.calls, self._judge.steps),
            },
            file,
        )
        self._folder.save(file.getvalue())

    def _restore(self, state: dict[str, Any]) -> None:
        self._model.load_state_dict(state["model"])
        self._warm.restore(state["warm"])
        self._grpo.restore(state["grpo"])
        self._before = state["before"]
        self._seconds = state["seconds"]
        self._judge.calls, self._judge.steps = state["calls"]

    @property
    def steps(self) -> tuple[int, int]:
        """Steps of the warm start and of GRPO that are done."""
        return self._warm.step, self._grpo.step

    def _add(self, kind: str, **metrics: object) -> None:
        line = {"kind": kind, **metrics}
        self._folder.add(line)
        self._listen(line)

    # -- training ----------------------------------------------------------------------------------

    async def run(self) -> Results | Stopped:
        """Train to the end and measure, or go on where a killed run was; writes the folder's files."""
        await self._take_warm_steps()
        if not self._before:
            await self._measure_before()
        stopped = await self._take_grpo_steps()
        if stopped is not None:
            return stopped
        return await self._measure()

    async def _take_warm_steps(self) -> None:
        settings = self._settings
        while self._warm.step < settings.warm_steps:
            loss = self._warm.take_step()
            step = self._warm.step
            is_last = step == settings.warm_steps
            if step % REPORTED == 0 or is_last:
                self._add("warm start", step=step, loss=round(loss, 4))
            if step % settings.evaluate_every == 0 or is_last:
                self._save()
            try:
                # Where an interrupt is heeded; a step itself waits for nothing.
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self._save()
                raise

    async def _measure_before(self) -> None:
        exam = Exam.of(self._settings.acceptance, self._names, seed=_EXAM_SEED)
        plans, planning = self._written(exam)
        greedy = await Result.of(plans, planning, exam, self._judge)
        sampled = await self._result(exam, temperature=1.0)
        cooled = [(each, (await self._result(exam, temperature=each)).accuracy) for each in TEMPERATURES]
        self._before = {
            "plans": plans,
            "planning": planning,
            "cooled": cooled,
            "right": {"sampled": sampled.accuracy, **await self._by_split()},
        }
        await self._evaluate(0)
        pairs = pairs_exam(self._names)
        self._folder.write(PLANS, pairs_before(pairs, await self._planned(pairs)))
        self._write(WARM, results={"accuracy": greedy.accuracy, "sampled": sampled.accuracy}, least=None)
        self._save()

    async def _take_grpo_steps(self) -> Stopped | None:
        settings, watch = self._settings, CollapseWatch()
        for line in self._folder.metrics:
            if line["kind"] == "grpo":
                watch.read(Gauges.of_row(line))
            elif line["kind"] == "evaluation":
                watch.read_probe(Gauges.of_row(line))
        while self._grpo.step < settings.grpo_steps:
            result = await self._grpo.take_step()
            step = self._grpo.step
            self._add("grpo", step=step, **result.row)
            alarms = [watch.read(result.gauges)]
            if step % settings.evaluate_every == 0:
                alarms.append(watch.read_probe(await self._evaluate(step)))
            for alarm in filter(None, alarms):
                self._add("alarm", step=step, what=alarm.what, cure=alarm.cure)
                if settings.stop_on_collapse:
                    return Stopped(step, alarm)
            # Each of them: saving takes some hundredths of a second, a step a hundred times as long.
            self._save()
        return None

    # -- measuring ---------------------------------------------------------------------------------

    async def _evaluate(self, step: int) -> Gauges:
        """A point of the curve: the likeliest plan for each question of one fixed set."""
        result = await self._result(self._fixed)
        self._add("evaluation", step=step, questions=len(self._fixed.questions), **result.gauges.row)
        return result.gauges

    async def _result(self, exam: Exam, *, temperature: float | None = None) -> Result:
        """Of the likeliest plans, or of plans drawn at a temperature."""
        return await Result.of(*self._written(exam, temperature), exam, self._judge)

    def _written(self, exam: Exam, temperature: float | None = None) -> tuple[list[str], list[int]]:
        """A plan for each question, and its tokens with those of its prompt."""
        generator = None if temperature is None else torch.Generator().manual_seed(_SAMPLING_SEED)
        plans: list[str] = []
        planning: list[int] = []
        for at in range(0, len(exam.questions), BATCH):
            prompts, pools = exam.prompts[at : at + BATCH], exam.pools[at : at + BATCH]
            samples = sample(
                self._model,
                self._vocabulary,
                prompts,
                pools,
                generator=generator,
                temperature=temperature or 1.0,
            )
            plans += samples.texts
            planning += (samples.ids != self._vocabulary.pad).sum(1).tolist()
        return plans, planning

    async def _by_split(self) -> dict[str, float]:
        """The accuracy of likeliest plans where the pool or the questions are others than in training."""
        count, names, seed = self._settings.acceptance, self._names, _EXAM_SEED
        exams = {
            "subsets": Exam.of(count, names, seed=seed, order="subsets"),
            "shuffled": Exam.of(count, names, seed=seed, order="shuffled"),
            "wordings": Exam.of(count, names, seed=seed, split="wordings"),
            "combinations": Exam.of(count, names, seed=seed, split="combinations"),
        }
        return {name: (await self._result(exam)).accuracy for name, exam in exams.items()}

    async def _planned(self, exam: Exam) -> list[ExamPlan]:
        """The likeliest plan for each question, with what it comes to."""
        samples = sample(self._model, self._vocabulary, exam.prompts, exam.pools, generator=None)
        outcomes = await Judge(self._pool).judge(samples.texts, exam.items, exam.pools)
        return planned_of(samples.texts, outcomes, exam)

    async def _measure(self) -> Results:
        count, names = self._settings.acceptance, self._names
        exam = Exam.of(count, names, seed=_EXAM_SEED)
        calls, saved = self._judge.calls, self._judge.saved
        greedy = await self._result(exam)
        others = await contenders(exam, Judge(self._pool), names)
        subsets = Exam.of(count, names, seed=_EXAM_SEED, order="subsets")
        wordings = Exam.of(count, names, seed=_EXAM_SEED, split="wordings")
        start = await Result.of(self._before["plans"], self._before["planning"], exam, self._judge)
        results = Results(
            rows=tuple(contender_rows(exam, greedy, start, others)),
            sampled_before=self._before["right"]["sampled"],
            sampled=(await self._result(exam, temperature=1.0)).accuracy,
            greedy_before=start.accuracy,
            before=self._before["right"],
            cooled=tuple(self._before["cooled"]),
            one_step=greedy.gauges.one_step,
            reachable=reachable(subsets, others),
            calls=calls,
            saved=saved,
            seconds=round(self._seconds + time.monotonic() - self._since, 1),
            **await self._by_split(),
        )
        shape = results.model_dump(mode="json")
        self._write(TRAINED, results=shape, least=None)
        orchard_pairs = [
            pair for each in (exam, wordings) for pair in zip(each.questions, each.pools, strict=True)
        ]
        least = confidence_in(
            self._folder.path / TRAINED, [(question.text, pool) for question, pool in orchard_pairs]
        )
        self._write(TRAINED, results=shape, least=least)
        pairs = read_pairs(self._folder.path)
        # A run that began before there were pairs has none.
        if pairs is not None:
            self._folder.write(PLANS, pairs.after(await self._planned(pairs_exam(names))))
        self._folder.write_results(shape)
        return results

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, name: str, *, results: dict[str, Any], least: Confidence | None) -> None:
        card = ConductorCard(
            name="orchard" if name == TRAINED else "orchard, warm start only",
            data=(
                "Questions of the orchard, a simulated world of nine families of questions and six workers, "
                "which are made up or computed when they are asked; no text of other people."
            ),
            workers=self._names,
            least=least,
            seed=self._settings.seed,
            settings=self._settings.model_dump(mode="json"),
            results=results,
            licence="Apache-2.0",
        )
        write_folder(
            self._folder.path / name,
            config=self._config,
            tokenizer=self._vocabulary.tokenizer,
            weights=weights_of(self._model),
            card=card,
        )
