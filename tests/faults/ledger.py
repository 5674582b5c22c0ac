"""What was done to a store and what came of it, counted over many kills."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Ledger:
    """One kind of work. `checked` counts acknowledged things that were looked for after a restart, `resumed`
    steps whose worker was not called again, `losses` says what was missing or wrong, a sentence each.
    """

    work: str
    kills: int = 0
    restarts: int = 0
    checked: int = 0
    resumed: int = 0
    unfinished: int = 0
    losses: list[str] = field(default_factory=list)

    def check(self, holds: bool, otherwise: str) -> None:
        """Count one acknowledged thing, and note where it does not hold."""
        self.checked += 1
        self.require(holds, otherwise)

    def require(self, holds: bool, otherwise: str) -> None:
        """Note what must hold though nobody acknowledged it."""
        if not holds:
            self.losses.append(otherwise)

    @property
    def shape(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)
