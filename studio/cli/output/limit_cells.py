"""The usage of tokens and people, and their limits, as cells of a table."""

from __future__ import annotations

from storage.limits import Limits, Spent
from studio.cli.output.terminal import UNKNOWN, one_line


def spent_cells(spent: Spent) -> tuple[str, str]:
    """Tokens and dollars; "~" marks a sum with estimates."""
    tokens = f"{'~' * bool(spent.unknown_tokens)}{spent.tokens:,}"
    return tokens, f"{'~' * bool(spent.unknown_costs)}${spent.cost:,.4f}"


def limits_cell(limits: Limits | None) -> str:
    """All limits in a line."""
    return one_line(", ".join(() if limits is None else limits.texts), 100) or UNKNOWN
