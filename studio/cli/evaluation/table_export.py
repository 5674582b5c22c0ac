"""`evaluate export`: what an evaluation came to, for other programs.

Knows how it is asked for; `studio.evaluation` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from storage import SessionStore
from storage.records import EvaluationRecord
from studio.cli.opening import opened
from studio.cli.options import Configured, EvaluationId, option
from studio.evaluation.inspect_log import write_inspect_logs
from studio.evaluation.results import find_evaluation
from studio.evaluation.trackers import to_mlflow, to_otel, to_wandb

Target = Literal["inspect", "mlflow", "wandb", "otel"]

_TRACKERS: Mapping[str, Callable[[SessionStore, EvaluationRecord], Sequence[str]]] = {
    "mlflow": to_mlflow,
    "wandb": to_wandb,
    "otel": to_otel,
}


def export(
    evaluation: EvaluationId,
    to: Annotated[
        Target,
        option("Logs of Inspect AI, runs of MLflow or W&B, or spans of OpenTelemetry, one for each planner."),
    ] = "inspect",
    out: Annotated[
        Path, option("The folder for logs of Inspect AI.", "FOLDER", Path, names=("--out", "-o"))
    ] = Path("logs"),
    *,
    options: Configured,
) -> int:
    """Write what an evaluation came to for another program, whose library is an extra of this one."""
    with opened(options) as bench:
        record = find_evaluation(bench.store, evaluation)
        if to == "inspect":
            paths = [str(path) for path in write_inspect_logs(bench.store, record, out)]
        else:
            paths = list(_TRACKERS[to](bench.store, record))
        return options.show({"evaluation": record.id, "to": to, "written": paths}, *paths)
