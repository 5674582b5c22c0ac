"""Fits baselines on the results of an evaluation: what each worker answered alone.

Knows the store's cells and the baselines that learn; what they learn is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from conductor.baselines.collaboration import mode_of
from conductor.baselines.fitted import Fitted, GroupResult, WorkerResult
from conductor.baselines.learnt_file import question_hash
from conductor.baselines.named import PREFIX, WORKER, Baseline, planner_named
from conductor.baselines.options import digest_of
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.errors import DataError, PlanError
from conductor.evaluation.items import Item
from conductor.evaluation.spec import CONDUCTOR, FittedOn
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import scored_cells
from studio.sessions.person_limits import admitted
from studio.workbench import Workbench

GROUPS = f"{PREFIX}masrouter"


def rows_of(
    store: SessionStore, record: EvaluationRecord, *, limit: int | None = None
) -> tuple[WorkerResult, ...]:
    """What each worker answered alone, where it was scored; `limit` takes the first items."""
    items = store.evaluations.items(record.id)[:limit]
    rows = []
    for cell in scored_cells(store, record.id):
        # A worker with options of its own is another one.
        if (
            cell.planner.startswith(WORKER)
            and "," not in cell.planner
            and cell.item < len(items)
            and cell.result.score.is_known
        ):
            outputs = store.runs.outputs(cell.session)
            # A fallback's answer shows nothing of the worker that failed.
            if any(output.instead_of for output in outputs):
                continue
            rows.append(
                WorkerResult(
                    question=items[cell.item].question,
                    worker=cell.planner.removeprefix(WORKER),
                    right=cell.result.score.right,
                    response=outputs[-1].text if outputs else "",
                    tokens=cell.result.work.total,
                    cost=cell.result.work.cost,
                )
            )
    return tuple(rows)


def trials_of(
    store: SessionStore, record: EvaluationRecord, *, limit: int | None = None
) -> tuple[GroupResult, ...]:
    """What groups of MasRouter's came to whose mode was drawn; `limit` takes the first items."""
    items = store.evaluations.items(record.id)[:limit]
    trials = []
    for cell in scored_cells(store, record.id):
        held = "mode=" in cell.planner or "fitted=" in cell.planner
        scored = cell.item < len(items) and cell.result.score.is_known
        if not cell.planner.startswith(GROUPS) or held or not scored:
            continue
        plan = store.plans.latest(cell.session)
        workflow = None if plan is None or plan.report is None else plan.report.workflow
        mode = None if workflow is None else mode_of(workflow)
        if mode is not None:
            work = cell.result.work
            question, right = items[cell.item].question, cell.result.score.right
            trials.append(
                GroupResult(question=question, mode=mode, right=right, tokens=work.total, cost=work.cost)
            )
    return tuple(trials)


def fit_on(bench: Workbench, record: EvaluationRecord, planner: str, *, limit: int | None = None) -> Fitted:
    """The planner fitted on the evaluation's results, by the workers as the pool has them now.

    Raises `PlanError` for a planner that learns nothing, `DataError` where there is nothing to learn from or
    a worker is not as it was, `LimitReached` where the budget of who asks is used up.
    """
    _ = admitted(bench.store, bench.asker, paced=False)
    baseline = planner_named(planner, bench.pool)
    if not isinstance(baseline, Baseline):
        raise PlanError(f"The planner {planner[:200]!r} learns nothing.")
    rows = rows_of(bench.store, record, limit=limit)
    workers, cards = {row.worker for row in rows}, bench.pool.cards
    for name, identity in record.spec.pool:
        now = sha256(cards[name].identity.encode()).hexdigest() if name in cards else ""
        if name in workers and not now.startswith(identity):
            raise DataError(
                f"The worker {name!r} has changed since this evaluation. Fit with the earlier pool, or "
                "ask the workers again."
            )
    trials = trials_of(bench.store, record, limit=limit)
    embedding: list[Usage] = []
    try:
        fitted = bench.background.wait(baseline.fit(rows, cards=cards, trials=trials, note=embedding.append))
    finally:
        bench.store.ledger.add(
            tuple(
                Charge(worker=baseline.name, kind="model", purpose="embedding", usage=used, wrote=False)
                for used in embedding
            ),
            by=bench.asker,
        )
    # By their inputs they are the same questions in whatever order their choices stand.
    inputs = {
        question_hash(item.question): question_hash(item.input)
        for item in bench.store.evaluations.items(record.id)
    }
    return fitted.model_copy(update={"questions": tuple(inputs[each] for each in fitted.questions)})


def fitted_planners(planners: Sequence[str], items: Sequence[Item], bench: Workbench) -> tuple[FittedOn, ...]:
    """Those of the planners that were fitted, and on which of these items. Raises `PlanError` and
    `FormatError` where one lacks what it has to learn, or cannot use it here.
    """
    fits, pool = [], bench.pool
    for name in planners:
        planner = None if name == CONDUCTOR else planner_named(name, pool, base=bench.conductor)
        if isinstance(planner, FilePlanner):
            planner.check()
            seen = tuple(at for at, item in enumerate(items) if planner.file.saw(item.question))
            count = len(planner.file.questions)
            fits.append(FittedOn(planner=name, digest=planner.file.digest, questions=count, seen=seen))
        if not isinstance(planner, Baseline):
            continue
        planner.check()
        if planner.options.prompt is not None:
            fits.append(FittedOn(planner=name, digest=digest_of(planner.options.prompt), questions=0))
        if planner.options.fitted is not None:
            fitted = planner.fitted
            fitted.offered([pool.cards[each] for each in pool.names])
            labels = fitted.labels
            seen = tuple(at for at, item in enumerate(items) if labels and fitted.saw(item.input))
            fits.append(
                FittedOn(planner=name, digest=fitted.digest, questions=len(fitted.questions), seen=seen)
            )
    return tuple(fits)
