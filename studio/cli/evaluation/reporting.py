"""Writes an evaluation for others: JUnit XML, GitHub's summary and annotations, logs and scores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from conductor.errors import FormatError
from conductor.evaluation.evaluation_table import Cell, EvaluationTable
from conductor.evaluation.items import Item
from conductor.evaluation.report.exports import as_junit
from conductor.own_settings import setting
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.cli.evaluation.gate import Finding
from studio.cli.opening import opened
from studio.cli.options import Configured, EvaluationId, flag, option
from studio.cli.output.evaluation_table import markdown_of
from studio.cli.output.terminal import one_line, print_lines, written_to
from studio.evaluation.inspect_log import write_inspect_logs
from studio.evaluation.results import find_evaluation
from studio.evaluation.trackers import to_mlflow, to_otel, to_wandb

_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the file whose Markdown GitHub shows on a job's page."""

_PANEL = "What it leaves for a CI service"


@dataclass(frozen=True)
class Reporting:
    """Which of them are written."""

    junit: Annotated[
        Path | None, option("Write each answer as a test case, JUnit XML.", "FILE", Path, panel=_PANEL)
    ] = None
    github: Annotated[
        bool,
        flag(
            "--github",
            f"Add the table to ${_SUMMARY}, and print what the gate finds as annotations.",
            panel=_PANEL,
        ),
    ] = False

    def write(
        self,
        record: EvaluationRecord,
        table: EvaluationTable,
        findings: Sequence[Finding],
        items: Sequence[Item],
        cells: Sequence[Cell],
    ) -> None:
        """Raises `FormatError` for a file that cannot be written."""
        if self.junit is not None:
            with written_to(self.junit) as out:
                out.write(as_junit(f"evaluation {record.id}", items, record.spec.planners, cells))
        if not self.github:
            return
        for code, sentence in findings:
            # GitHub reads annotations on both streams; stdout has the table.
            kind = "error" if code == 1 else "warning"
            print_lines(f"::{kind} title=Evaluation {record.id}::{_escaped(sentence)}", stream=sys.stderr)
        if (path := setting(_SUMMARY)) is None:
            return
        try:
            with Path(path).open("a", encoding="utf-8") as summary:
                summary.write(markdown_of(table, title=f"Evaluation {record.id} of {record.spec.data}"))
                summary.writelines(f"\n- {one_line(sentence)}" for _, sentence in findings)
                summary.write("\n")
        except OSError as error:
            raise FormatError(f"{path}, of {_SUMMARY}, cannot be written: {error.strerror}.") from error


def _escaped(text: str) -> str:
    """As GitHub's workflow commands need it."""
    return one_line(text).replace("%", "%25")


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
