"""Figures that the authors of methods have published: to be read beside a table and never in it, as questions
and workers were others.
"""

from __future__ import annotations

from conductor.values.messages import Value

PAPER = "arXiv 2512.04388"


class Published(Value):
    """A method's published figures: its accuracy in percent, averaged over the tasks of the source, and the
    tokens of a question; None if it has none. `setting` is how its workers answered.
    """

    method: str
    setting: str
    accuracy: float | None = None
    tokens: int | None = None
    source: str = PAPER


_LONG = "64,000 tokens per answer, thinking"
_SHORT = "4,096 tokens per answer"

PUBLISHED = (
    Published(method="Conductor", setting=_LONG, accuracy=77.27, tokens=1_820),
    Published(method="Mixture-of-Agents", setting=_LONG, tokens=11_203),
    Published(method="Conductor", setting=_SHORT, accuracy=72.35),
    Published(method="Self-reflection, 5 turns", setting=_SHORT, accuracy=64.5),
    Published(method="Mixture-of-Agents", setting=_SHORT, accuracy=62.1),
    Published(method="MasRouter", setting=_SHORT, accuracy=56.9),
    Published(method="RouterDC", setting=_SHORT, accuracy=52.4),
)
"""Of the Conductor's paper, on its pool of seven workers and its seven tasks."""
