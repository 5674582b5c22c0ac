"""`evaluate fit`: a baseline learns from what an evaluation's workers answered alone.

Knows how that is asked for and printed; `studio.evaluation.fitting` does it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from conductor.baselines.fitted import write_fitted
from conductor.baselines.named import PREFIX, Baseline, planner_named
from conductor.baselines.options import FILE
from conductor.errors import DataError
from conductor.text.formatting import quantity
from storage.records import EvaluationRecord
from studio.cli.opening import confirm_keys, opened
from studio.cli.options import Configured, DryRun, EvaluationId, Shared, count, option
from studio.cli.output.terminal import one_line
from studio.evaluation.fitting import fit_on, rows_of
from studio.evaluation.results import find_evaluation
from studio.workbench import Workbench


def fit(
    evaluation: EvaluationId,
    baseline: Annotated[str, Argument(metavar="BASELINE", help="baseline:routerdc and others that learn.")],
    out: Annotated[Path | None, option("Write here.", "FILE", Path, names=("--out", "-o"))] = None,
    limit: Annotated[int | None, count("Fit on the first N questions.", names=("--limit", "-n"))] = None,
    *,
    dry_run: DryRun = False,
    options: Configured,
) -> int:
    """Fit a baseline on what each worker answered alone, and write what it learnt into a file."""
    if dry_run:
        with opened(options) as bench:
            record = find_evaluation(bench.store, evaluation)
            return _show_requests(bench, record, baseline, options, limit=limit)
    confirm_keys(options.pool, ask=True)
    with opened(options) as bench:
        record = find_evaluation(bench.store, evaluation)
        fitted = fit_on(bench, record, baseline, limit=limit)
    path = out or Path(f"{fitted.baseline}-{record.id[:8]}{FILE}")
    if path.suffix != FILE:
        raise DataError(f"{path} must end in {FILE}, so that it can be named behind a planner.")
    write_fitted(fitted, path)
    planner = f"{PREFIX}{fitted.baseline}:fitted={path}"
    shape = {
        "file": str(path),
        "planner": planner,
        "questions": len(fitted.questions),
        "workers": [name for name, _ in fitted.workers],
        "encoder": fitted.encoder.title,
    }
    about = f"fitted on {quantity(len(fitted.questions), 'question')}, compared by {fitted.encoder.title}"
    return options.show(shape, f"{path}: {about}.", f"Use it as: --planner {planner}")


def _show_requests(
    bench: Workbench, record: EvaluationRecord, name: str, options: Shared, *, limit: int | None
) -> int:
    """Print what is embedded to fit the baseline, by which endpoint; returns the exit code."""
    planner = planner_named(name, bench.pool)
    by_endpoint = isinstance(planner, Baseline) and planner.options.embeddings
    client = bench.pool.embedding_client if by_endpoint else None
    questions = len({row.question for row in rows_of(bench.store, record, limit=limit)})
    shape = {"questions": questions, "embeddings": None if client is None else client.endpoint.model}
    how = "no model is called" if client is None else f"{one_line(client.endpoint.model)} embeds them"
    return options.show(shape, f"{quantity(questions, 'question')}: {how}.")
