"""Writes an evaluation for a CI service: JUnit XML, and GitHub's summary and annotations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from conductor.errors import FormatError
from conductor.evaluation.evaluation_table import Cell, EvaluationTable
from conductor.evaluation.items import Item
from conductor.evaluation.report.exports import as_junit
from conductor.own_settings import setting
from storage.records import EvaluationRecord
from studio.cli.evaluation.gate import Finding
from studio.cli.options import flag, option
from studio.cli.output.evaluation_table import markdown_of
from studio.cli.output.terminal import one_line, print_lines, written_to

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
