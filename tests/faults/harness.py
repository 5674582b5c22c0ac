"""So many kills, shared out among the kinds of work; every kind has a folder and a store of its own.

Knows the kinds of work, not what they do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Protocol

from tests.faults.edits import Edits
from tests.faults.evaluations import KilledEvaluations
from tests.faults.imports import Imports
from tests.faults.ledger import Ledger
from tests.faults.migrations import Migrations
from tests.faults.runs import Runs


class Kind(Protocol):
    """A kind of work: each `kill` is a process killed at a random moment, and all that is looked at then."""

    ledger: Ledger

    def kill(self, rng: Random) -> None:
        """Kill, restart, compare."""
        ...

    def finish(self) -> None:
        """Compare what is left to compare, and end what serves the work. Called once, also after an error."""
        ...


Kinds = Mapping[Callable[[Path], Kind], int]
"""Kinds of work with how often each is killed."""

_SHARES: tuple[tuple[Callable[[Path], Kind], float], ...] = (
    (Runs, 0.3),
    (KilledEvaluations, 0.1),
    (Edits, 0.2),
    (Imports, 0.2),
    (Migrations, 0.2),
)


def shared_out(kills: int) -> Kinds:
    """So many kills of processes that do what the app does, without its pages."""
    shares = {kind: int(kills * share) for kind, share in _SHARES}
    first = next(iter(shares))
    return {**shares, first: shares[first] + kills - sum(shares.values())}


def done(kinds: Kinds, *, seed: int, show: Callable[[Ledger], None] = lambda _: None) -> list[Ledger]:
    """Do all; `show` is called after every kill. Equal seeds do equal work, but die at other moments."""
    return [_killed(make, kills, Random(f"{seed} {make}"), show) for make, kills in kinds.items()]


def _killed(make: Callable[[Path], Kind], kills: int, rng: Random, show: Callable[[Ledger], None]) -> Ledger:
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        kind = make(Path(folder))
        try:
            for _ in range(kills):
                kind.kill(rng)
                show(kind.ledger)
        finally:
            kind.finish()
    return kind.ledger
