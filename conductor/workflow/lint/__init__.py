"""Finds faults of a workflow without running it. Pure; knows workflows and outputs, no pool."""

from conductor.workflow.lint.finding import Finding, Fix, Severity
from conductor.workflow.lint.linter import RULES, check

__all__ = ["RULES", "Finding", "Fix", "Severity", "check"]
