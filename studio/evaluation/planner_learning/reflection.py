"""`--method reflect`: a model rewrites the texts of the Conductor's prompt from what its plans came to.

One half of the fit part it is shown, a few questions at a time; on the other half, which it never sees, texts
are accepted. Each candidate is a planner's file in the learning's folder, and answers as any planner does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from conductor.baselines.named import WORKER
from conductor.baselines.planner_file.file_planner import PREFIX
from conductor.baselines.planner_file.planner_file import PlannerFile, read_planner, write_planner
from conductor.baselines.planner_file.planner_texts import PlannerTexts
from conductor.baselines.planner_file.reflection import parent_of, read_reflection, reflection_request
from conductor.engine.charged_answer import charged_answer
from conductor.errors import DataError, FormatError, PlanError
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.scorers.judge import can_judge
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.evaluation.statistics import paired_difference
from conductor.planner.model_planner import ModelConductor
from conductor.text.formatting import quantity
from conductor.workers.protocol import Worker
from studio.evaluation.planner_learning.evidence import blame_of, evidence
from studio.evaluation.planner_learning.fit_part import FitPart
from studio.evaluation.planner_learning.learning_folder import Candidate, LearningSettings
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench

BATCH = 4
"""Questions of a reflection."""

BLAMED = 2
"""Wrong answers of a reflection whose spoiled step is looked for."""

TRIES = 2
"""How often a reflector is called for an answer that can be read."""

_SOLVED = 12
"""Solved questions that a reflector may choose examples from."""


def reflector_of(bench: Workbench, settings: LearningSettings) -> Worker:
    """The worker that reflects. Raises `PlanError` if the Conductor is no language model, `DataError` if no
    prompt is used, `PoolError` for a worker that the pool does not have.
    """
    conductor = bench.conductor
    if not isinstance(conductor, ModelConductor):
        raise PlanError(
            f"Reflection writes texts for the prompt of a language model, and {conductor.card.name} reads no "
            "prompt: name a model under [conductor] in the pool file, or learn with --method examples."
        )
    if settings.use != "prompt":
        raise DataError("Texts of a prompt need --use prompt; leave --use nearest out.")
    reflector = conductor.answering if settings.reflector is None else bench.pool[settings.reflector]
    if not can_judge(reflector.card):
        raise DataError(
            f"{settings.reflector!r} calls no model and reflects on nothing; name another worker."
        )
    return reflector


def most_calls(questions: int, rounds: int, spec: EvaluationSpec) -> int:
    """How many calls so many rounds take at most on a fit part of so many questions."""
    steps, unseen = spec.settings.max_steps, questions - questions // 2
    answers = ((rounds + 1) * unseen + rounds * 2 * BATCH) * spec.repeats
    calls = spec.settings.attempts + steps + (spec.judge is not None)
    return answers * calls + rounds * (BLAMED * steps * steps + TRIES)


def reflect(fit: FitPart) -> str | None:
    """Have candidates written and tried; why that ended early, if it did."""
    return Reflection(fit).carry_out()


def with_best_texts(fit: FitPart, planner: PlannerFile) -> PlannerFile:
    """The planner with the texts that did best on what the reflector did not see, if any beat none."""
    texts, words = Reflection(fit).best()
    card = planner.card.model_copy(update={"reflection": words})
    return planner.model_copy(update={"texts": texts, "card": card})


class Reflection:
    """The rounds of a learning, as far as its folder has them."""

    def __init__(self, fit: FitPart) -> None:
        self._fit, self._bench, self._settings = fit, fit.bench, fit.settings
        self._record = fit.record
        self._items = fit.bench.store.evaluations.items(self._record.id)
        order = self._random("halves").sample(range(len(self._items)), len(self._items))
        self._seen, self._unseen = order[: len(order) // 2], order[len(order) // 2 :]

    def carry_out(self) -> str | None:
        """Reflect, or go on; why that ended early, if it did."""
        rounds = range(1, self._settings.reflections + 1)
        if self._fit.folder.state.origins is None:
            origins = ((self._name(number), f"reflection {number}") for number in rounds)
            self._fit.folder.note(origins=((self._name(0), CONDUCTOR), *origins))
        failure = self._answer(0, self._unseen)
        for number in rounds:
            if failure is None:
                failure = self._round(number)
        return failure

    def best(self) -> tuple[PlannerTexts | None, str]:
        """The texts that did best on the unseen questions, None: the Conductor's own; with the reason."""
        front, candidates = self._front(), self._fit.folder.state.candidates
        counts = f"{quantity(len(candidates), 'reflection')}, {len(front) - 1:,} of them accepted"
        ahead = {number: paired_difference(front[number], front[0]) for number in front if number}
        differences = {number: each for number, each in ahead.items() if each is not None}
        if not differences:
            return None, f"{counts}: the Conductor's own texts stay."
        number = max(differences, key=lambda each: differences[each].difference)
        best = differences[number]
        words = (
            f"{counts}. On {quantity(best.questions, 'question')} that no reflection saw, the texts of "
            f"number {number} are ahead of the Conductor's own by {best.difference:+.3f} "
            f"({best.interval.low:+.3f} to {best.interval.high:+.3f}): "
        )
        if best.difference <= 0:
            return None, f"{words}the Conductor's own stay."
        return candidates[number - 1].texts, f"{words}they stand in its prompt."

    # -- a round ---------------------------------------------------------------------------------

    def _round(self, number: int) -> str | None:
        """Have one candidate written and tried; why that ended early, if it did."""
        candidates = self._fit.folder.state.candidates
        if len(candidates) < number:
            draw = self._random(str(number))
            parent = parent_of(self._front(), draw)
            batch = tuple(self._batch(parent, draw))
            failure = self._answer(parent, batch)
            candidate = failure or self._written(parent, batch)
            if isinstance(candidate, str):
                return candidate
            self._keep(number, candidate)
        candidate = self._fit.folder.state.candidates[number - 1]
        if candidate.texts is None or candidate.accepted is not None:
            return None
        failure = self._answer(number, candidate.batch)
        if failure is not None:
            return failure
        own, before = (self._right(each, candidate.batch) for each in (number, candidate.parent))
        words = f"right on {own:g} of its {len(candidate.batch)} questions, {before:g} before"
        if own >= before and (failure := self._answer(number, self._unseen)) is not None:
            return failure
        self._keep(number, candidate.model_copy(update={"accepted": own >= before, "outcome": words}))
        return None

    def _keep(self, number: int, candidate: Candidate) -> None:
        candidates = (*self._fit.folder.state.candidates[: number - 1], candidate)
        self._fit.folder.note(candidates=candidates)
        if candidate.accepted is not None:
            verdict = "accepted" if candidate.accepted else "refused"
            self._fit.note(
                f"reflection {number} of {self._settings.reflections} is {verdict}: {candidate.outcome}"
            )

    def _batch(self, parent: int, draw: random.Random) -> Sequence[int]:
        """Some of the questions that are shown, half of them such that are not known to come out right."""
        shares = self._fit.shares(CONDUCTOR) | self._fit.shares(self._name(parent))
        order = draw.sample(self._seen, len(self._seen))
        wrong = [at for at in order if shares.get(at, 0.0) < 1][: BATCH // 2]
        return [*wrong, *(at for at in order if at not in wrong)][:BATCH]

    def _written(self, parent: int, batch: Sequence[int]) -> Candidate | str:
        """What a reflection on these answers wrote; a text: why learning ends here."""
        cells = self._cells(parent, batch)
        candidate = Candidate(parent=parent, batch=tuple(batch), texts=None, accepted=False)
        if all(cell.result.score.right for cell in cells):
            return candidate.model_copy(update={"outcome": "its parent was right on all of its questions"})
        meter, texts, fault = self._fit.meter(), self._texts(parent), ""
        strengths = {name: self._bench.pool.cards[name].strengths for name in self._bench.pool.names}
        wrong = [cell.session for cell in cells if not cell.result.score.right][:BLAMED]
        tried = []
        for cell in cells:
            item, blame = self._items[cell.item], ""
            if cell.session in wrong:
                blame = blame_of(self._bench, item, cell.session, self._best_workers, meter)
            tried.append(evidence(self._bench, item, cell, blame))
        reflector = reflector_of(self._bench, self._settings)
        for _ in range(TRIES):
            request = reflection_request(texts, strengths, tried, self._solved, fault=fault)
            answer = self._bench.background.wait(charged_answer(reflector, request, meter, purpose="reflect"))
            self._bench.store.ledger.add(answer.charges, session=cells[0].session, by=self._bench.asker)
            if answer.text is None:
                why = answer.failure if meter.crossing is None else meter.crossing.words
                return f"The reflector {reflector.card.name} gave no answer: {why}"
            try:
                new = read_reflection(answer.text, texts, tuple(strengths), self._solved)
            except FormatError as error:
                fault = str(error)
                continue
            return candidate.model_copy(update={"texts": new, "accepted": None})
        return candidate.model_copy(update={"outcome": f"its answer cannot be used: {fault}"})

    # -- candidates ------------------------------------------------------------------------------

    def _random(self, what: str) -> random.Random:
        return random.Random(f"{self._settings.seed}/reflect/{what}")  # noqa: S311 - a draw, not a secret

    def _path(self, number: int) -> Path:
        return self._fit.folder.path / "candidates" / f"{number}.json"

    def _name(self, number: int) -> str:
        return f"{PREFIX}{self._path(number)}"

    def _texts(self, number: int) -> PlannerTexts:
        texts = self._fit.folder.state.candidates[number - 1].texts if number else None
        return texts or PlannerTexts()

    @cached_property
    def _start(self) -> PlannerFile:
        """The Conductor with its own texts; examples are of the questions that are shown."""
        if not self._path(0).exists():
            tried = self._fit.tried()
            seen = tuple(tried.questions[at] for at in sorted(self._seen))
            start = self._fit.taught(replace(tried, questions=seen))
            self._path(0).parent.mkdir(exist_ok=True)
            write_planner(
                start.model_copy(update={"texts": PlannerTexts(), "is_candidate": True}), self._path(0)
            )
        return read_planner(self._path(0))

    @cached_property
    def _solved(self) -> Sequence[str]:
        plans = self._start.plans
        solved = (each for each in self._start.questions if any(plans[at].workflow for at in each.right))
        return [each.question for each in solved][:_SOLVED]

    @cached_property
    def _best_workers(self) -> Sequence[str]:
        """The pool's workers, first those that were right most often by themselves."""
        shares = {name: self._fit.shares(f"{WORKER}{name}") for name in self._bench.pool.names}
        return sorted(shares, key=lambda name: -sum(shares[name].values()))

    def _answer(self, number: int, questions: Sequence[int]) -> str | None:
        if not self._path(number).exists():
            texts = self._texts(number)
            write_planner(self._start.model_copy(update={"texts": texts}), self._path(number))
        return self._fit.answer(self._name(number), questions)

    def _cells(self, number: int, batch: Sequence[int]) -> list[Cell]:
        cells = {
            cell.item: cell
            for cell in scored_cells(self._bench.store, self._record.id)
            if cell.planner == self._name(number) and cell.repeat == 0
        }
        return [cells[at] for at in batch if at in cells]

    def _right(self, number: int, questions: Sequence[int]) -> float:
        shares = self._fit.shares(self._name(number))
        return sum(shares.get(at, 0.0) for at in questions)

    def _front(self) -> Mapping[int, Mapping[int, float]]:
        """The start and the accepted candidates, with their shares of right answers to unseen questions."""
        accepted = (at for at, each in enumerate(self._fit.folder.state.candidates, start=1) if each.accepted)
        shares = {number: self._fit.shares(self._name(number)) for number in (0, *accepted)}
        return {number: {at: own[at] for at in self._unseen if at in own} for number, own in shares.items()}
