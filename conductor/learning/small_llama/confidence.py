"""Measures how sure a small Conductor is on its own kind of questions: the limits of its card.

Knows the runtime; imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from conductor.planner.local.card import Confidence
from conductor.planner.local.local_conductor import LocalConductor
from conductor.workers.pool.schema import LocalConductorTable

UNSURE = 0.05
"""The share of its own questions below each limit, which a Conductor leaves to the rules; with it the shipped
one hands over nearly all questions of other worlds.
"""


def confidence_in(folder: Path, samples: Iterable[tuple[str, Sequence[str]]]) -> Confidence:
    """The limits for the Conductor in `folder`, from questions of its world with the names of their pools."""
    conductor = LocalConductor(LocalConductorTable(kind="local", model=str(folder)))
    written = [conductor.write(query, workers)[1] for query, workers in samples]
    at = int(UNSURE * len(written))
    questions = sorted(each.read_mean or 0.0 for each in written)
    plans = sorted(each.mean for each in written)
    return Confidence(question=round(questions[at], 4), plan=round(plans[at], 4))
