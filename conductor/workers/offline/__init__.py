"""Built-in experts that work without a network: mathematics, facts, text, and a checker of all three.

They really compute, look up and extract, and never pretend to be language models. SymPy lives in a
child process, so importing this package is cheap.
"""

from conductor.workers.offline.experts import (
    EXPERTS,
    ExpertName,
    OfflineExpert,
    offline_expert,
    offline_workers,
)
from conductor.workers.offline.process import close, warm_up

__all__ = ["EXPERTS", "ExpertName", "OfflineExpert", "close", "offline_expert", "offline_workers", "warm_up"]
