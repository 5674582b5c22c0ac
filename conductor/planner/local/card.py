"""The card of a small Conductor: what it was trained on, with what result, and what it is no good for.

A value and its file. Knows no model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from conductor.errors import FormatError
from conductor.values.messages import Value

CARD = "conductor-card.json"
"""The card's file in a Conductor's folder."""


class Confidence(Value):
    """How sure a small Conductor is where it is at home; below either number its plan is not taken.

    Both are means of natural logarithms of probabilities: `question` over the tokens of the prompt's first
    line from the second on, each given those before it; `plan` over the tokens of the greedy plan with its
    end, names that are not in the pool masked.
    """

    question: float
    plan: float


class ConductorCard(Value):
    """What is known of a small Conductor.

    `data` describes in words what it was trained on, `workers` are the names that it knows, `least` is None
    if nothing was measured. `settings` and `results` are what its training was set to and measured.
    """

    format: Literal["conductor-card-1"] = "conductor-card-1"
    name: str
    data: str
    workers: tuple[str, ...]
    max_steps: int = 5
    max_tokens: int = 160
    least: Confidence | None = None
    seed: int
    settings: dict[str, Any] = Field(default_factory=dict)
    results: dict[str, Any] = Field(default_factory=dict)
    licence: str


def read_card(folder: Path) -> ConductorCard:
    """The card in a folder. Raises `FormatError` if it cannot be read."""
    file = folder / CARD
    try:
        return ConductorCard.model_validate_json(file.read_bytes())
    except OSError as error:
        raise FormatError(
            f"{folder} has no readable {CARD} ({error.strerror}); name a folder that `conductor learn` wrote."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise FormatError(
            f"{file}: {place}: {first['msg']}; write the folder again with `conductor learn`."
        ) from error
