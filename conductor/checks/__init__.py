"""What may be amiss in a workflow, found without running it. Pure; knows workflows and outputs, no pool."""

from conductor.checks.check import check
from conductor.checks.finding import RULES, Finding, Fix, Rule, Severity

__all__ = ["RULES", "Finding", "Fix", "Rule", "Severity", "check"]
