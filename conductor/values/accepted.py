"""An answer that counts as right, as a person enters it, and how others are compared with it. Values only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from conductor.values.messages import Value

Check = Literal["contains", "exact", "number", "flexible", "choice", "mathematics"]
"""The scorers of evaluations that compare without a call of a model and without running a program."""


class Accepted(Value):
    """What counts as right: any text of `target`, compared by `check`.

    `choices` are the texts behind the letters where the question offered some.
    """

    target: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...] = Field(
        min_length=1
    )
    check: Check = "contains"
    choices: tuple[str, ...] | None = Field(default=None, min_length=2)
