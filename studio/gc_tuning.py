"""Python's cycle collector, set for a process that runs workflows. Knows nothing else.

Events, requests and outputs are frozen values without cycles, so the collector finds nothing among
them and only costs time: a third of a busy run's, measured with 500 runs at once.
"""

import gc

THRESHOLDS = (20_000, 20, 50)
"""Objects before a collection of the youngest generation, and so on; Python's own are (700, 10, 10)."""


def settle() -> None:
    """Call once, after the imports: what was imported is never looked at again, the rest seldom."""
    gc.collect()
    _go_on()


def resume() -> None:
    """Call after imports with the collector off: does what `settle` does, and collects nothing."""
    if not gc.isenabled():
        _go_on()


def _go_on() -> None:
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
