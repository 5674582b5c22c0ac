"""An evaluation's scores for trackers of experiments: a run of MLflow or W&B, or a span of OpenTelemetry, for
each planner, with what was asked as its parameters and the table's figures as its metrics.

The libraries are extras, and send where their own variables point. Knows the table; prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from conductor.baselines.named import label_of
from conductor.errors import DataError
from conductor.evaluation.report.exports import row_values
from conductor.extras import install_command
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import table_of_evaluation

RESULT = "gen_ai.evaluation.result"
"""The event that OpenTelemetry's conventions for generative AI name so, and its attributes below."""


@dataclass(frozen=True)
class PlannerScores:
    """A planner's run: its `id` is the same each time that the evaluation is sent."""

    id: str
    planner: str
    parameters: Mapping[str, str | int]
    metrics: Mapping[str, float]


def planner_scores(store: SessionStore, record: EvaluationRecord) -> Sequence[PlannerScores]:
    """The scores of every planner; an unknown figure is no metric. Raises `DataError` where nothing was
    scored.
    """
    spec, table = record.spec, table_of_evaluation(store, record)
    parameters: dict[str, str | int] = {
        "data": spec.data,
        "digest": spec.digest,
        "questions": store.evaluations.sizes()[record.id].questions,
        "repeats": spec.repeats,
        "seed": spec.seed,
        "workers": ", ".join(name for name, _ in spec.pool),
        "version": spec.version,
        "evaluation": record.id,
    }
    rows = []
    for number, row in enumerate(table.rows):
        rates = {name: by[row.planner] for name, by in table.categories.items() if row.planner in by}
        metrics = {
            **{name: value for name, value in row_values(row).items() if isinstance(value, int | float)},
            **{f"pass_at_{k}": share for k, share in row.pass_at.items()},
            **{f"outages/{outage}": count for outage, count in row.outages.items()},
            **{f"share/{worker}": share for worker, share in (row.shares or {}).items()},
            **{f"accuracy/{category}": rate.mean for category, rate in rates.items()},
        }
        if metrics.get("answers"):
            scores = {re.sub(r"[^\w ./-]", "_", name)[:200]: float(value) for name, value in metrics.items()}
            id, planner = f"{record.id}-{number}", label_of(row.planner)
            rows.append(PlannerScores(id, planner, {**parameters, "planner": planner}, scores))
    if not rows:
        raise DataError(
            f"Nothing of the evaluation {record.id} was scored yet; continue with `evaluate resume`."
        )
    return rows


def to_mlflow(store: SessionStore, record: EvaluationRecord) -> Sequence[str]:
    """A run for each planner, in the experiment of the data set's name; a run that is there is updated.

    Returns the runs' ids. Raises `DataError` where MLflow is not installed, or refuses.
    """
    with _library("mlflow"):
        from mlflow import MlflowClient  # noqa: PLC0415 - an extra
        from mlflow.exceptions import MlflowException  # noqa: PLC0415
    runs, scores = [], planner_scores(store, record)
    try:
        client = MlflowClient()
        present = client.get_experiment_by_name(record.spec.data)
        experiment = client.create_experiment(record.spec.data) if present is None else present.experiment_id
        for each in scores:
            before = client.search_runs([experiment], f"tags.conductor_run = '{each.id}'")
            run = (
                before[0]
                if before
                else client.create_run(
                    experiment,
                    start_time=round(1000 * record.created_at),
                    run_name=each.planner,
                    tags={"conductor_run": each.id, **{f"tag.{tag}": "" for tag in record.spec.tags}},
                )
            )
            if not before:
                for name, parameter in each.parameters.items():
                    client.log_param(run.info.run_id, name, parameter)
            for name, value in each.metrics.items():
                client.log_metric(run.info.run_id, name, value)
            client.set_terminated(run.info.run_id)
            runs.append(run.info.run_id)
    except MlflowException as error:
        raise DataError(f"MLflow did not take the scores: {str(error)[:300]}") from error
    return runs


def to_wandb(store: SessionStore, record: EvaluationRecord) -> Sequence[str]:
    """A run for each planner, in the project `conductor` unless WANDB_PROJECT names another; a run that is
    there is updated.

    Returns where each is. Raises `DataError` where W&B is not installed, or refuses.
    """
    with _library("wandb"):
        import wandb  # noqa: PLC0415 - an extra
    places = []
    try:
        for each in planner_scores(store, record):
            run = wandb.init(
                project=wandb.Settings().project or "conductor",
                id=each.id,
                name=each.planner,
                group=record.id,
                job_type="evaluation",
                tags=list(record.spec.tags),
                config=dict(each.parameters),
                resume="allow",
                reinit="finish_previous",
                settings=wandb.Settings(silent=True),
            )
            run.summary.update(dict(each.metrics))
            run.finish()
            places.append(run.url or run.dir)
    except wandb.Error as error:
        raise DataError(f"W&B did not take the scores: {str(error)[:300]}") from error
    return places


def to_otel(store: SessionStore, record: EvaluationRecord) -> Sequence[str]:
    """A span for each planner, with an event for each metric. Returns the names of the spans.

    Raises `DataError` where OpenTelemetry is not installed.
    """
    with _library("otel"):
        from studio.telemetry.traces import tracer_provider  # noqa: PLC0415 - an extra
    scores = planner_scores(store, record)
    provider = tracer_provider()
    tracer = provider.get_tracer("conductor")
    start = round(1e9 * record.created_at)
    finish = start if record.ended_at is None else round(1e9 * record.ended_at)
    for each in scores:
        about = {f"conductor.evaluation.{name}": value for name, value in each.parameters.items()}
        span = tracer.start_span(f"evaluate {each.planner}", start_time=start, attributes=about)
        for name, value in each.metrics.items():
            result: dict[str, str | float] = {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": value,
            }
            span.add_event(RESULT, result, timestamp=finish)
        span.end(finish)
    provider.shutdown()
    return [f"evaluate {each.planner}" for each in scores]


@contextmanager
def _library(extra: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise DataError(
            f"The library is not installed here: install the extra `{extra}` (`{install_command(extra)}`)."
        ) from error
