"""An evaluation as logs of Inspect AI, one for each planner, which its viewer and its readers open.

The library writes them: nothing here knows their format. Knows the store's records; prints nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conductor.baselines.named import label_of
from conductor.errors import DataError, UnknownId
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score, outage_words
from conductor.extras import install_command
from conductor.text.calendar_time import utc_time
from conductor.values.messages import Usage
from conductor.values.total import Total
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.execution.evaluation_run import NOT_ALL
from studio.evaluation.results import scored_cells

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ModelUsage

SCORER = "conductor"

_REASONS = {"no answer": "invalid_response_format", "refused": "refusal", "unjudged": "grader_failed"}
"""Inspect's words for answers that were compared with nothing."""

_BROKEN = ("no plan", "failed", "unanswered")


def write_inspect_logs(store: SessionStore, record: EvaluationRecord, folder: Path) -> Sequence[Path]:
    """Write a log for each planner into the folder; their paths. Samples are the questions, epochs the
    repeats; the accuracy is the table's, its error Inspect's own, by question.

    Raises `DataError` where the library is not installed, nothing was scored, or a file cannot be written.
    """
    try:
        from inspect_ai.log import write_eval_log  # noqa: PLC0415 - an extra, of 350 MB
    except ImportError as error:
        raise DataError(
            "A log of Inspect is written by its own library, which is not installed here: install the extra "
            f"`inspect` (`{install_command('inspect')}`), best in an environment of its own."
        ) from error
    items = store.evaluations.items(record.id, damaged=True)
    cells = scored_cells(store, record.id)
    if not cells:
        raise DataError(
            f"Nothing of the evaluation {record.id} was scored yet; continue with `evaluate resume`."
        )
    paths = []
    for planner in record.spec.whole:
        own = [cell for cell in cells if cell.planner == planner]
        path = folder / f"{_name(record, planner)}.eval"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_eval_log(_log(store, record, items, planner, own), str(path), format="eval")
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error
        paths.append(path)
    return paths


def _name(record: EvaluationRecord, planner: str) -> str:
    words = [
        f"{utc_time(record.created_at):%Y-%m-%dT%H-%M-%S}+00-00",
        record.spec.data,
        planner,
        record.id[:8],
    ]
    return "_".join(re.sub(r"[^\w+-]+", "-", word, flags=re.ASCII).strip("-")[:60] for word in words)


def _log(
    store: SessionStore, record: EvaluationRecord, items: Sequence[Item], planner: str, cells: Sequence[Cell]
) -> EvalLog:
    from inspect_ai import log  # noqa: PLC0415

    spec, model = record.spec, f"conductor/{label_of(planner)}"
    metrics = [{"name": f"inspect_ai/{name}"} for name in ("accuracy", "stderr")]
    samples = [_sample(store, model, items[cell.item], cell) for cell in cells]
    end = "" if record.ended_at is None else _moment(record.ended_at)
    outages = Counter(cell.result.score.outage for cell in cells if cell.result.score.unanswered)
    lost = f"{outages.total():,} of {len(cells):,} not answered: {outage_words(outages)}" if outages else ""
    stopped = record.reason is not None and not record.reason.startswith(NOT_ALL)
    entry = log.EvalLog(
        status="started" if not end else "cancelled" if stopped else "error" if lost else "success",
        error=log.EvalError(message=lost, traceback="", traceback_ansi="") if lost else None,
        eval=log.EvalSpec(
            eval_id=f"{record.id}-{spec.planners.index(planner)}",
            run_id=record.id,
            created=_moment(record.created_at),
            task=spec.data,
            task_id=f"{spec.data}@{spec.digest}",
            task_args={"seed": spec.seed, "settings": spec.settings.model_dump(mode="json")},
            tags=list(spec.tags),
            dataset=log.EvalDataset(
                name=spec.data, samples=len(items), sample_ids=[item.id for item in items], shuffled=False
            ),
            model=model,
            config=log.EvalConfig(epochs=spec.repeats, epochs_reducer=["mean"], score_on_error=True),
            packages={"conductor-studio": spec.version},
            metadata={
                "evaluation": record.id,
                "planner": planner,
                "workers": [name for name, _ in spec.pool],
                "outages": dict(outages),
                # The sums of tokens lack what these took.
                "samples_without_usage": sum(not sample.model_usage for sample in samples),
            },
            scorers=[{"name": SCORER, "metrics": metrics}],
        ),
        stats=log.EvalStats(
            started_at=_moment(record.created_at), completed_at=end, model_usage=_summed(samples)
        ),
        samples=samples,
    )
    log.recompute_metrics(entry)
    return entry


def _sample(store: SessionStore, model: str, item: Item, cell: Cell) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample  # noqa: PLC0415
    from inspect_ai.model import ChatMessageUser, ModelOutput  # noqa: PLC0415

    result, score = cell.result, cell.result.score
    output = ModelOutput.from_content(model, _answer(store, cell) or score.answer)
    output.usage = usage = _usage(result.planning + result.work)
    output.time = result.seconds
    failure = EvalError(message=score.reason or score.verdict, traceback="", traceback_ansi="")
    facts = result.model_dump(mode="json", include={"calls", "steps", "workers", "topology"})
    return EvalSample(
        id=item.id,
        epoch=cell.repeat + 1,
        input=item.question,
        choices=None if item.choices is None else list(item.choices),
        target=item.target[0] if len(item.target) == 1 else list(item.target),
        messages=[ChatMessageUser(content=item.question), output.choices[0].message],
        output=output,
        scores={SCORER: _score(score, item)},
        metadata={**item.metadata, "conductor": {"session": cell.session, **facts}},
        model_usage={} if usage is None else {model: usage},
        total_time=result.seconds,
        error=failure if score.verdict in _BROKEN else None,
    )


def _score(score: Score, item: Item) -> Any:
    from inspect_ai.scorer import CORRECT, INCORRECT  # noqa: PLC0415
    from inspect_ai.scorer import Score as InspectScore  # noqa: PLC0415

    about: dict[str, Any] = {
        "answer": score.answer,
        "explanation": score.reason or None,
        "reason": _REASONS.get(score.verdict),
        "metadata": {
            "verdict": score.verdict,
            "scored_by": item.scored_by,
            **({"outage": score.outage} if score.outage else {}),
        },
    }
    if not score.is_known:
        return InspectScore.unscored(**about)
    return InspectScore(value=CORRECT if score.right else INCORRECT, **about)


def _usage(used: Usage) -> ModelUsage | None:
    """Inspect counts tokens from a cache apart from the others of a prompt. None if they are unknown; dollars
    that are an upper bound are left out.
    """
    from inspect_ai.model import ModelUsage  # noqa: PLC0415

    if used.prompt_tokens is None or used.completion_tokens is None or used.total is None:
        return None
    return ModelUsage(
        input_tokens=used.prompt_tokens - (used.cached_tokens or 0),
        output_tokens=used.completion_tokens,
        total_tokens=used.total,
        input_tokens_cache_read=used.cached_tokens,
        total_cost=Total.of([used]).dollars.exact,
    )


def _summed(samples: Iterable[EvalSample]) -> dict[str, ModelUsage]:
    totals: dict[str, ModelUsage] = {}
    for sample in samples:
        for model, usage in sample.model_usage.items():
            totals[model] = totals[model] + usage if model in totals else usage
    return totals


def _answer(store: SessionStore, cell: Cell) -> str | None:
    """The whole answer of a cell's session; None if it has none, or the session was removed."""
    try:
        runs = store.runs.of_session(cell.session)
    except UnknownId:
        return None
    return next((run.answer for run in runs if run.answer is not None), None)


def _moment(seconds: float) -> str:
    """Unix seconds as Inspect writes moments."""
    return utc_time(seconds).isoformat(timespec="seconds")
