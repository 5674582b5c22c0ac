"""What was done to a store and what came of it, counted over many kills."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Ledger:
    """One kind of work. `checked` counts acknowledged things that were looked for after a restart, `resumed`
    steps whose worker was not called again, `losses` names what was missing or wrong, a sentence each.
    """

    work: str
    kills: int = 0
    restarts: int = 0
    checked: int = 0
    resumed: int = 0
    unfinished: int = 0
    losses: list[str] = field(default_factory=list)
    _seen: int = 0
    _idle: int = -1
    _patience: float = 1.0

    def slack(self) -> float:
        """How many times longer the next process is given, as the last ones were killed too early to do much.

        So a busy machine gets through with as many kills as another.
        """
        self._idle = 0 if self.checked > self._seen else self._idle + 1
        self._seen = self.checked
        return self._patience * (1 + self._idle / 4)

    def wait_longer(self) -> None:
        """Give every further process a tenth more time."""
        self._patience *= 1.1

    def check(self, holds: bool, otherwise: str) -> None:
        """Count one acknowledged thing, and note where it does not hold."""
        self.checked += 1
        self.require(holds, otherwise)

    def require(self, holds: bool, otherwise: str) -> None:
        """Note what must hold though it was not acknowledged."""
        if not holds:
            self.losses.append(otherwise)

    @property
    def shape(self) -> dict[str, Any]:
        """For programs."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("_")}
