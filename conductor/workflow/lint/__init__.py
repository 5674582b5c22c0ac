"""What may be wrong in a workflow, found without running it. Pure; knows workflows and outputs, no pool."""

from conductor.workflow.lint.finding import RULES, Finding, Fix, Rule, Severity
from conductor.workflow.lint.linter import check

__all__ = ["RULES", "Finding", "Fix", "Rule", "Severity", "check"]
